#include "client/run/rich_printer.h"

#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

// How many results may wait for output at a time; with a daemon that sends its
// output there are far fewer.
constexpr size_t kMaxWaiting = 256;

// The types that are printed; if a result has several, the first of these.
constexpr std::array<absl::string_view, 4> kTexts = {
    "text/plain", "text/markdown", "text/latex", "application/json"};

bool IsText(absl::string_view mime_type) {
  for (const absl::string_view text : kTexts) {
    if (text == mime_type) return true;
  }
  return false;
}

const std::string* BestText(const v1::RichResult& result) {
  for (const absl::string_view text : kTexts) {
    for (const v1::MimeData& data : result.data()) {
      if (data.mime_type() == text) return &data.data();
    }
  }
  return nullptr;
}

uint64_t PlaceIn(v1::OutputStream stream, const v1::RichResult& result) {
  return stream == v1::OUTPUT_STREAM_STDERR ? result.stderr_offset()
                                            : result.stdout_offset();
}

}  // namespace

int RichPrinter::Chunk(v1::OutputStream stream, uint64_t offset,
                       absl::string_view data) {
  while (!waiting_.empty()) {
    const uint64_t place = PlaceIn(stream, waiting_.front());
    if (place > offset) {
      if (place - offset > data.size()) break;
      const absl::string_view before = data.substr(0, place - offset);
      const int error = printer_.Chunk(stream, offset, before);
      if (error != 0) return error;
      offset = place;
      data.remove_prefix(before.size());
    }
    // A result is printed to stdout, so later stdout has to wait for it, but
    // stderr doesn't.
    const bool overtaken = stream == v1::OUTPUT_STREAM_STDOUT &&
                           !data.empty() && offset >= printer_.printed(stream);
    if (!overtaken && !IsDue(waiting_.front())) break;
    const int error = ShowFirst();
    if (error != 0) return error;
  }
  const int error = printer_.Chunk(stream, offset, data);
  return error != 0 ? error : ShowDue();
}

int RichPrinter::Result(const v1::RichResult& result) {
  ++streamed_;
  waiting_.push_back(result);
  if (waiting_.size() > kMaxWaiting) {
    const int error = ShowFirst();
    if (error != 0) return error;
  }
  return ShowDue();
}

int RichPrinter::Answer(const v1::RunCodeResponse& response) {
  for (int i = streamed_; i < response.results_size(); ++i) {
    waiting_.push_back(response.results(i));
  }
  int error = Output(v1::OUTPUT_STREAM_STDOUT, response.stdout());
  if (error == 0) {
    error = Output(v1::OUTPUT_STREAM_STDERR, response.stderr());
  }
  if (error == 0) error = Finish();
  if (error != 0 || !response.has_error()) return error;
  const v1::RunError& problem = response.error();
  return printer_.Lines(
      v1::OUTPUT_STREAM_STDERR,
      problem.traceback().empty()
          ? absl::StrCat(problem.name(), problem.value().empty() ? "" : ": ",
                         problem.value())
          : problem.traceback());
}

int RichPrinter::Finish() {
  while (!waiting_.empty()) {
    const int error = ShowFirst();
    if (error != 0) return error;
  }
  return 0;
}

bool RichPrinter::IsDue(const v1::RichResult& result) const {
  return printer_.printed(v1::OUTPUT_STREAM_STDOUT) >= result.stdout_offset() &&
         printer_.printed(v1::OUTPUT_STREAM_STDERR) >= result.stderr_offset();
}

int RichPrinter::ShowDue() {
  while (!waiting_.empty() && IsDue(waiting_.front())) {
    const int error = ShowFirst();
    if (error != 0) return error;
  }
  return 0;
}

int RichPrinter::ShowFirst() {
  const v1::RichResult result = std::move(waiting_.front());
  waiting_.pop_front();
  if (const std::string* text = BestText(result)) {
    const int error = printer_.Lines(v1::OUTPUT_STREAM_STDOUT, *text);
    if (error != 0) return error;
  }
  for (const v1::MimeData& data : result.data()) {
    if (IsText(data.mime_type())) continue;
    const int error = Save(data);
    if (error != 0) return error;
  }
  return 0;
}

int RichPrinter::Output(v1::OutputStream stream, const v1::Output& output) {
  for (const OutputPiece& piece : PiecesOf(output)) {
    const int error = Chunk(stream, piece.offset, piece.data);
    if (error != 0) return error;
  }
  return 0;
}

int RichPrinter::Save(const v1::MimeData& data) {
  const std::string type = VisibleText(data.mime_type());
  const absl::StatusOr<std::string> path =
      files_.Save(data.mime_type(), data.data());
  if (path.ok()) {
    const int error = Picture(data.data());
    if (error != 0) return error;
    return printer_.Lines(v1::OUTPUT_STREAM_STDOUT,
                          absl::StrCat("[", type, "] ", VisibleText(*path)));
  }
  // Only the first result that can't be saved is reported.
  const bool first = std::exchange(all_saved_, false);
  if (!first) return 0;
  return printer_.Line(
      absl::StrCat("sandglass: a result [", type,
                   "] is not saved: ", VisibleText(path.status().message())));
}

}  // namespace sandglass::client
