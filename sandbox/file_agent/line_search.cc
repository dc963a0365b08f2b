#include "sandbox/file_agent/line_search.h"

#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "policy/text/utf8.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

// A longer line comes in pieces, each of which repeats so much of the one
// before.
constexpr size_t kPieceBytes = 4 * 1024 * 1024;
constexpr size_t kSharedBytes = 256 * 1024;
constexpr size_t kMaxExpressionBytes = 64 * 1024;
// Letters of the same name, in either case, differ in length by less than this.
static_assert(kSharedBytes >= 4 * kMaxExpressionBytes);
constexpr int64_t kRegexMemory = 16 * 1024 * 1024;

}  // namespace

LinePattern::LinePattern() = default;
LinePattern::~LinePattern() = default;

FileResult LinePattern::Parse(const std::string& pattern, bool regex,
                              bool ignore_case) {
  constexpr FileResult kInvalidPattern = {FileCode::kInvalidPattern, 0};
  // A line has no line end, so that could only be a mistake.
  if (pattern.empty() || pattern.size() > kMaxExpressionBytes ||
      (!regex && pattern.find('\n') != std::string::npos)) {
    return kInvalidPattern;
  }
  is_text_ = !regex;
  if (!regex && !ignore_case) {
    literal_ = pattern;
    return {};
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_literal(!regex);
  options.set_case_sensitive(!ignore_case);
  options.set_max_mem(kRegexMemory);
  regex_ = std::make_unique<RE2>(pattern, options);
  return regex_->ok() ? FileResult{} : kInvalidPattern;
}

bool LinePattern::Find(const LinePiece& piece, size_t& begin,
                       size_t& length) const {
  const absl::string_view line = piece.text;
  if (regex_ == nullptr) {
    const void* found =
        ::memmem(line.data(), line.size(), literal_.data(), literal_.size());
    if (found == nullptr) return false;
    begin = static_cast<size_t>(static_cast<const char*>(found) - line.data());
    length = literal_.size();
    return true;
  }
  re2::StringPiece match;
  const re2::StringPiece text(line.data(), line.size());
  // Where the line goes on, one byte stays outside of the search, so that its
  // ends aren't taken for those of the line.
  const size_t from = piece.offset > 0 ? 1 : 0;
  const size_t to = piece.last ? text.size() : text.size() - 1;
  if (!regex_->Match(text, from, to, RE2::UNANCHORED, &match, 1)) {
    return false;
  }
  begin = static_cast<size_t>(match.data() - line.data());
  length = match.size();
  return true;
}

bool LineReader::Fill() {
  if (ended_) return false;
  buffer_.erase(0, start_);
  start_ = 0;
  const size_t done = buffer_.size();
  buffer_.resize(done + os::kFileChunkBytes);
  ssize_t got;
  do {
    got = ::read(file_.get(), buffer_.data() + done, os::kFileChunkBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(done + static_cast<size_t>(got < 0 ? 0 : got));
  ended_ = got <= 0;
  return !ended_;
}

bool LineReader::IsBinary() {
  constexpr size_t kLookedAt = 8 * 1024;
  Fill();
  const size_t size = std::min(buffer_.size(), kLookedAt);
  return std::memchr(buffer_.data(), 0, size) != nullptr;
}

bool LineReader::Next(LinePiece& piece) {
  // What is left of a line whose beginning sufficed.
  while (offset_ > 0) {
    const size_t end = buffer_.find('\n', start_);
    if (end != std::string::npos) {
      start_ = end + 1;
      offset_ = 0;
      break;
    }
    start_ = buffer_.size();
    if (!Fill()) return false;
  }
  return ReadPiece(piece, 0);
}

void LineReader::Continue(LinePiece& piece) {
  (void)ReadPiece(piece, kSharedBytes);
}

// The first `looked` bytes are known to have no line end.
bool LineReader::ReadPiece(LinePiece& piece, size_t looked) {
  while (true) {
    const absl::string_view rest(buffer_.data() + start_,
                                 buffer_.size() - start_);
    const size_t end = std::min(rest.find('\n', looked), rest.size());
    const bool last = end < rest.size() || ended_;
    if (last && rest.empty()) return false;
    if (last || rest.size() >= kPieceBytes) {
      piece = {.text = rest.substr(0, end), .offset = offset_, .last = last};
      const size_t taken =
          last ? std::min(end + 1, rest.size()) : end - kSharedBytes;
      start_ += taken;
      offset_ = last ? 0 : offset_ + taken;
      return true;
    }
    looked = rest.size();
    Fill();
  }
}

absl::string_view CutLine(absl::string_view line, size_t begin, size_t length,
                          size_t max) {
  if (line.size() <= max) return line;
  // A quarter of the rest goes before the match, if there is enough text after
  // it.
  const size_t spare = max > length ? max - length : 0;
  size_t start = begin > spare / 4 ? begin - spare / 4 : 0;
  start = std::min(start, line.size() - max);
  size_t end = start + max;
  while (start < end && policy::IsUtf8Continuation(line[start])) ++start;
  while (end > start && end < line.size() &&
         policy::IsUtf8Continuation(line[end])) {
    --end;
  }
  return line.substr(start, end - start);
}

}  // namespace sandglass::sandbox
