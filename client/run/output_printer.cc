#include "client/run/output_printer.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {

std::array<OutputPiece, 2> PiecesOf(const v1::Output& output) {
  const absl::string_view data = output.data();
  if (!output.truncated()) return {{{0, data}, {data.size(), ""}}};
  const size_t head =
      static_cast<size_t>(std::min<uint64_t>(output.head_bytes(), data.size()));
  const absl::string_view tail = data.substr(head);
  const uint64_t total = std::max<uint64_t>(output.total_bytes(), data.size());
  return {{{0, data.substr(0, head)}, {total - tail.size(), tail}}};
}

OutputPrinter::OutputPrinter(int stdout_fd, int stderr_fd) {
  out_.fd = stdout_fd;
  out_.is_terminal = isatty(stdout_fd) == 1;
  out_.name = "stdout";
  err_.fd = stderr_fd;
  err_.is_terminal = isatty(stderr_fd) == 1;
  err_.name = "stderr";
}

int OutputPrinter::Raw(Sink& sink, absl::string_view bytes) {
  if (bytes.empty()) return 0;
  sink.at_line_start = bytes.back() == '\n';
  return WriteAll(sink.fd, bytes);
}

int OutputPrinter::Write(Sink& sink, absl::string_view bytes) {
  return sink.is_terminal ? Raw(sink, sink.filter.Feed(bytes))
                          : Raw(sink, bytes);
}

OutputPrinter::Sink* OutputPrinter::SinkOf(v1::OutputStream stream) {
  if (stream == v1::OUTPUT_STREAM_STDOUT) return &out_;
  if (stream == v1::OUTPUT_STREAM_STDERR) return &err_;
  return nullptr;
}

int OutputPrinter::Chunk(v1::OutputStream stream, uint64_t offset,
                         absl::string_view data) {
  Sink* sink = SinkOf(stream);
  if (sink == nullptr || data.empty()) return 0;
  if (offset < sink->next_offset) {
    const uint64_t seen = sink->next_offset - offset;
    if (seen >= data.size()) return 0;
    data.remove_prefix(static_cast<size_t>(seen));
    offset = sink->next_offset;
  }
  if (offset > sink->next_offset) {
    const int error =
        Line(absl::StrCat("sandglass: ", offset - sink->next_offset,
                          " bytes of ", sink->name, " are left out here"));
    if (error != 0) return error;
  }
  sink->next_offset = offset + data.size();
  return Write(*sink, data);
}

int OutputPrinter::ExtraStderr(absl::string_view data) {
  return Write(err_, data);
}

int OutputPrinter::Finish() {
  const int error = Raw(out_, out_.filter.Finish());
  const int other = Raw(err_, err_.filter.Finish());
  return error != 0 ? error : other;
}

// Whether the next text on `sink` begins a line; assumes that it will be
// written.
bool OutputPrinter::StartsLine(Sink& sink) {
  // On a terminal both streams are on the same screen.
  const bool one_screen = err_.is_terminal && out_.is_terminal;
  Sink& other = &sink == &err_ ? out_ : err_;
  const bool fresh = sink.at_line_start && (!one_screen || other.at_line_start);
  if (one_screen) other.at_line_start = true;
  return fresh;
}

uint64_t OutputPrinter::printed(v1::OutputStream stream) const {
  return stream == v1::OUTPUT_STREAM_STDERR ? err_.next_offset
                                            : out_.next_offset;
}

int OutputPrinter::Lines(v1::OutputStream stream, absl::string_view text) {
  Sink* sink = SinkOf(stream);
  if (sink == nullptr || text.empty()) return 0;
  std::string shown(text);
  if (sink->is_terminal) {
    // If the stream left a character unfinished, it ends here.
    const int error = Raw(*sink, sink->filter.Finish());
    if (error != 0) return error;
    shown = sink->filter.Feed(text);
    absl::StrAppend(&shown, sink->filter.Finish());
  }
  return Raw(*sink, absl::StrCat(StartsLine(*sink) ? "" : "\n", shown,
                                 shown.back() == '\n' ? "" : "\n"));
}

int OutputPrinter::Picture(absl::string_view sequence) {
  if (sequence.empty()) return 0;
  const int error = Raw(out_, out_.filter.Finish());
  return error != 0 ? error
                    : Raw(out_, absl::StrCat(StartsLine(out_) ? "" : "\n",
                                             sequence, "\n"));
}

int OutputPrinter::Line(absl::string_view line) {
  return Raw(err_, absl::StrCat(StartsLine(err_) ? "" : "\n", line, "\n"));
}

Colour OutputPrinter::colour() const {
  return MayColour(err_.fd) ? Colour::kOn : Colour::kOff;
}

}  // namespace sandglass::client
