// Toolbox::ReadFile: returns text by lines, images as images, and the kind of
// anything else.

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/line_window.h"
#include "client/toolbox/run_words.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {
namespace {

// Reserved for the line about the rest.
constexpr size_t kFooterBytes = 400;
// How far lines after the shown ones are counted.
constexpr uint64_t kMaxCountedBytes = uint64_t{64} << 20;
// A binary file usually has a NUL within this many bytes.
constexpr size_t kLookedAtBytes = 8 << 10;

struct Kind {
  absl::string_view magic;
  absl::string_view name;
};

// The kind of a binary file; empty for text.
std::string BinaryKindOf(absl::string_view bytes) {
  static constexpr std::array<Kind, 11> kKinds = {
      {{"%PDF-", "PDF document"},
       {"PK\x03\x04", "zip archive, or a document in one"},
       {"\x1f\x8b", "gzip data"},
       {"BZh", "bzip2 data"},
       {"\xfd"
        "7zXZ",
        "xz data"},
       {"\x28\xb5\x2f\xfd", "zstd data"},
       {"\x7f"
        "ELF",
        "ELF program or library"},
       {"SQLite format 3", "SQLite database"},
       {"PAR1", "Parquet data"},
       {"\x93NUMPY", "NumPy array"},
       {"RIFF", "RIFF data (WebP, WAV or AVI)"}}};
  const absl::string_view looked_at = bytes.substr(0, kLookedAtBytes);
  // Some of these signatures could also be the beginning of a text.
  const bool has_nul = looked_at.find('\0') != absl::string_view::npos;
  const bool odd = FindInvalidUtf8(looked_at) < looked_at.size() / 2;
  for (const Kind& kind : kKinds) {
    if ((has_nul || odd) && absl::StartsWith(bytes, kind.magic)) {
      return std::string(kind.name);
    }
  }
  return has_nul ? "binary data" : "";
}

// Finds out while reading what kind of file it is.
class Reader {
 public:
  Reader(const ToolBounds& bounds, uint64_t first, uint64_t lines)
      : bounds_(bounds),
        window_(first, lines,
                bounds.text_bytes - std::min(bounds.text_bytes, kFooterBytes)) {
  }

  void Size(uint64_t size) { size_ = size; }
  // Returns false when no more is needed.
  bool Append(absl::string_view bytes) {
    if (read_ == 0) {
      image_ = ImageTypeOf(bytes);
      if (image_.empty()) binary_ = BinaryKindOf(bytes);
    }
    read_ += bytes.size();
    if (!binary_.empty()) return false;
    if (!image_.empty()) {
      if (size_ > bounds_.image_bytes) return false;
      image_bytes_.append(bytes.data(), bytes.size());
      return true;
    }
    window_.Feed(bytes);
    stopped_ = window_.full() && read_ >= kMaxCountedBytes;
    return !stopped_;
  }

  ToolAnswer Answer(const std::string& path) {
    ToolAnswer answer;
    if (!binary_.empty()) {
      answer.text = absl::StrCat(
          VisibleText(path), ": ", binary_, ", ", FormatByteSize(size_),
          "; not shown as text. Read it with a program in the sandbox.");
    } else if (!image_.empty()) {
      answer.text = absl::StrCat(VisibleText(path), ": ", image_, ", ",
                                 FormatByteSize(size_));
      if (size_ > bounds_.image_bytes) {
        answer.text += ", too large to be shown: make a smaller one";
      } else {
        answer.images.push_back({image_, std::move(image_bytes_)});
      }
    } else {
      TextAnswer(path, answer);
    }
    return answer;
  }

 private:
  void TextAnswer(const std::string& path, ToolAnswer& answer) {
    if (!stopped_) window_.Finish();
    const uint64_t total = window_.total();
    if (total == 0) {
      answer.text = absl::StrCat("(", VisibleText(path), " is empty)");
      return;
    }
    if (window_.end() == window_.begin()) {
      answer.is_error = true;
      answer.text = absl::StrCat(VisibleText(path), " has ", total, " line",
                                 total == 1 ? "" : "s");
      return;
    }
    answer.text = window_.text();
    const uint64_t last = window_.end() - 1;
    const bool more = last < total || stopped_;
    if (!more && window_.begin() == 1 && window_.cut_bytes() == 0) return;
    if (!absl::EndsWith(answer.text, "\n")) answer.text += '\n';
    if (window_.cut_bytes() > 0) {
      absl::StrAppend(&answer.text, "[… ", window_.cut_bytes(),
                      " more bytes of line ", last, " are cut …]\n");
    }
    absl::StrAppend(&answer.text, "[lines ", window_.begin(), "-", last, " of ",
                    stopped_ ? "more than " : "", total);
    if (more) {
      absl::StrAppend(&answer.text, "; go on with first_line=", last + 1);
    }
    answer.text += "]";
  }

  const ToolBounds& bounds_;
  LineWindow window_;
  uint64_t size_ = 0;
  uint64_t read_ = 0;
  bool stopped_ = false;
  std::string binary_;
  std::string image_;
  std::string image_bytes_;
};

}  // namespace

ToolAnswer Toolbox::ReadFile(const std::string& sandbox_id,
                             const std::string& path, uint64_t first_line,
                             uint64_t lines, CallCancel& cancel) const {
  absl::Status valid = CheckUtf8("the sandbox's id", sandbox_id);
  valid.Update(CheckUtf8("the path", path));
  if (!valid.ok()) return BadArgument(valid);
  v1::ReadFileRequest request;
  request.set_session_id(sandbox_id);
  request.set_path(path);
  grpc::ClientContext context;
  SetDeadline(context, kToolPatience);
  const CallCancel::Scope scope(cancel, context);
  const auto stream = daemon_.files->ReadFile(&context, request);
  Reader reader(bounds_, first_line, lines);
  v1::ReadFileResponse response;
  bool wanted = true;
  while (stream->Read(&response)) {
    if (response.has_info()) reader.Size(response.info().size());
    // The rest is read and dropped, because Finish needs the stream's end.
    if (!wanted || response.data().empty()) continue;
    wanted = reader.Append(response.data());
    if (!wanted) context.TryCancel();
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok() && (wanted || cancel.cancelled())) {
    return CallErrorAnswer(status, daemon_, bounds_, cancel);
  }
  return reader.Answer(path);
}

}  // namespace sandglass::client
