#ifndef SANDGLASS_CLIENT_RUN_OUTPUT_PRINTER_H_
#define SANDGLASS_CLIENT_RUN_OUTPUT_PRINTER_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "client/base/terminal_filter.h"
#include "client/run/verdict_line.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// A part of a stream and the place of its first byte.
struct OutputPiece {
  uint64_t offset = 0;
  absl::string_view data;
};

// A stream in the final answer, either all of it or its head and its tail. The
// pieces point into `output`.
std::array<OutputPiece, 2> PiecesOf(const v1::Output& output);

// Writes a program's two streams and our own lines to two descriptors. A
// stream's bytes are written unchanged, or through TerminalFilter when its
// descriptor is a terminal. Each byte of a stream is written once: what a chunk
// or the final answer repeats is skipped, and what is missing between two
// pieces is reported on stderr. Functions return 0 or an errno.
class OutputPrinter {
 public:
  // Borrows the descriptors.
  OutputPrinter(int stdout_fd, int stderr_fd);

  // Prints a piece of a stream; `offset` is the place of its first byte.
  int Chunk(v1::OutputStream stream, uint64_t offset, absl::string_view data);

  // How much of a stream was printed: the place of its next byte.
  uint64_t printed(v1::OutputStream stream) const;

  // Prints text of the program that isn't part of its streams, on lines of its
  // own.
  int Lines(v1::OutputStream stream, absl::string_view text);

  // Shows a picture on stdout, a terminal: `sequence` goes there unchanged, so
  // it is ours, as that of InlineImages.
  int Picture(absl::string_view sequence);

  // Prints bytes to stderr that belong to no stream (a compiler's output).
  int ExtraStderr(absl::string_view data);

  // Prints what the filters have held back.
  int Finish();

  // Writes a line of ours and a newline to stderr, starting on a new line.
  int Line(absl::string_view line);

  // Whether our lines may be coloured: stderr is a terminal, and neither
  // NO_COLOR nor TERM=dumb forbids it.
  Colour colour() const;

 private:
  struct Sink {
    int fd = -1;
    bool is_terminal = false;
    bool at_line_start = true;
    uint64_t next_offset = 0;
    const char* name = "";
    TerminalFilter filter;
  };
  static int Write(Sink& sink, absl::string_view bytes);
  static int Raw(Sink& sink, absl::string_view bytes);
  bool StartsLine(Sink& sink);
  Sink* SinkOf(v1::OutputStream stream);

  Sink out_;
  Sink err_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_OUTPUT_PRINTER_H_
