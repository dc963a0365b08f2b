#include "client/toolbox/answer_text.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/toolbox/clean_text.h"

namespace sandglass::client {
namespace {

constexpr size_t kHeadBytes = 16 << 20;
constexpr size_t kTailBytes = 256 << 10;
constexpr size_t kUnbounded = std::numeric_limits<size_t>::max() / 4;

void EndLine(std::string& text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
}

std::string LabelLine(absl::string_view label) {
  return label.empty() ? "" : absl::StrCat("--- ", label, " ---\n");
}

std::string CutLine(uint64_t cut, uint64_t total, absl::string_view where) {
  return absl::StrCat("[… ", cut, " of ", total, " bytes are cut here",
                      where.empty() ? "" : "; ", where, " …]\n");
}

// Cuts between two lines if that doesn't lose much.
CleanPiece HeadOfLines(absl::string_view bytes, size_t room) {
  CleanPiece piece = CleanHead(bytes, room);
  const size_t end = bytes.substr(0, piece.taken).rfind('\n');
  if (end == absl::string_view::npos || end + 1 < piece.taken / 4 * 3) {
    return piece;
  }
  return CleanHead(bytes.substr(0, end + 1), room);
}

CleanPiece TailOfLines(absl::string_view bytes, size_t room) {
  CleanPiece piece = CleanTail(bytes, room);
  const absl::string_view tail = bytes.substr(bytes.size() - piece.taken);
  const size_t end = tail.find('\n');
  if (end == absl::string_view::npos || end > piece.taken / 4) return piece;
  return CleanTail(tail.substr(end + 1), room);
}

// Returns everything, or head and tail with a line about the rest between them.
std::string Shown(const OutputCapture& output, size_t room,
                  absl::string_view where) {
  if (output.whole() && output.head().size() <= room) {
    CleanPiece all = CleanHead(output.head(), room);
    if (all.taken == output.head().size()) return std::move(all.text);
  }
  const size_t line = CutLine(output.total(), output.total(), where).size() + 1;
  const size_t half = room > line ? (room - line) / 2 : 0;
  const CleanPiece head = HeadOfLines(output.head(), half);
  const CleanPiece tail = TailOfLines(
      output.whole() ? absl::string_view(output.head()).substr(head.taken)
                     : output.tail(),
      half);
  std::string text = head.text;
  EndLine(text);
  absl::StrAppend(
      &text,
      CutLine(output.total() - head.taken - tail.taken, output.total(), where),
      tail.text);
  return text;
}

// Divides the room among the parts so that small ones stay whole.
std::vector<size_t> Shares(const std::vector<size_t>& wanted, size_t room) {
  std::vector<size_t> order(wanted.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<size_t> shares(wanted.size());
  size_t left = order.size();
  for (const size_t part : order) {
    shares[part] = std::min(wanted[part], room / left--);
    room -= shares[part];
  }
  return shares;
}

}  // namespace

void OutputCapture::Add(absl::string_view bytes) {
  total_ += bytes.size();
  const size_t fits = std::min(bytes.size(), kHeadBytes - head_.size());
  head_.append(bytes.data(), fits);
  bytes.remove_prefix(fits);
  tail_.append(bytes.data(), bytes.size());
  // Not after each piece: that would move the same bytes again and again.
  if (tail_.size() > 2 * kTailBytes) {
    tail_.erase(0, tail_.size() - kTailBytes);
  }
}

absl::string_view OutputCapture::tail() const {
  const absl::string_view tail = tail_;
  return tail.size() > kTailBytes ? tail.substr(tail.size() - kTailBytes)
                                  : tail;
}

void AnswerText::Add(absl::string_view label, absl::string_view text) {
  OutputCapture output;
  output.Add(text);
  Add(label, std::move(output));
}

void AnswerText::Add(absl::string_view label, OutputCapture output) {
  if (output.total() > 0) {
    parts_.push_back({std::string(label), std::move(output), false});
  }
}

void AnswerText::AddTold(absl::string_view label, OutputCapture output) {
  if (output.total() == 0) return;
  Add(label, std::move(output));
  parts_.back().told = true;
}

std::string AnswerText::RenderUntold(size_t room) const {
  AnswerText rest(verdict_);
  rest.notes_ = notes_;
  for (const Part& part : parts_) {
    if (!part.told) rest.parts_.push_back(part);
  }
  return rest.parts_.size() == parts_.size() ? "" : rest.Render(room, "");
}

bool AnswerText::Fits(size_t room) const {
  size_t raw = 0;
  for (const Part& part : parts_) {
    if (!part.output.whole()) return false;
    raw += part.output.head().size();
  }
  return raw <= room && Render(kUnbounded, "").size() <= room;
}

std::string AnswerText::Printed() const {
  std::string text;
  for (const Part& part : parts_) {
    EndLine(text);
    absl::StrAppend(&text, LabelLine(part.label), part.output.head());
  }
  return text;
}

std::string AnswerText::Notes(size_t room) const {
  std::string text;
  size_t told = 0;
  for (const std::string& note : notes_) {
    const std::string line = CleanHead(note, room / 2).text;
    if (text.size() + line.size() > room) break;
    absl::StrAppend(&text, line, "\n");
    ++told;
  }
  if (told < notes_.size()) {
    absl::StrAppend(&text, "(", notes_.size() - told, " more notes)\n");
  }
  return text;
}

std::string AnswerText::Render(size_t room, absl::string_view where) const {
  std::string text = CleanHead(verdict_, room / 4).text;
  EndLine(text);
  const std::string notes = Notes(room / 4);
  size_t fixed = text.size() + notes.size();
  std::vector<size_t> wanted;
  for (const Part& part : parts_) {
    // Plus the line ends.
    fixed += LabelLine(part.label).size() + 1;
    size_t size = kUnbounded;
    if (part.output.whole() && part.output.head().size() <= room) {
      size = CleanText(part.output.head()).size();
    }
    wanted.push_back(size);
  }
  const std::vector<size_t> shares =
      Shares(wanted, room > fixed ? room - fixed : 0);
  for (size_t i = 0; i < parts_.size(); ++i) {
    absl::StrAppend(&text, LabelLine(parts_[i].label),
                    Shown(parts_[i].output, shares[i], where));
    EndLine(text);
  }
  text += notes;
  return text.size() > room ? CleanHead(text, room).text : text;
}

}  // namespace sandglass::client
