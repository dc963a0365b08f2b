#ifndef SANDGLASS_CLIENT_RUN_RICH_PRINTER_H_
#define SANDGLASS_CLIENT_RUN_RICH_PRINTER_H_

#include <cstdint>
#include <deque>

#include "absl/strings/string_view.h"
#include "client/run/output_printer.h"
#include "client/run/result_files.h"
#include "client/terminal/inline_image.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Prints a run's output and, at their places in it, its results: text to
// standard output; everything else is saved and named there as "[image/png]
// path", below the picture where the terminal shows it. What both the stream
// and the final answer contain is printed once. Functions return 0 or an errno,
// like those of OutputPrinter.
class RichPrinter {
 public:
  // Borrows the first two.
  RichPrinter(OutputPrinter& printer, ResultFiles& files,
              const InlineImages& images = InlineImages())
      : printer_(printer), files_(files), images_(images) {}

  // Prints a piece of a stream.
  int Chunk(v1::OutputStream stream, uint64_t offset, absl::string_view data);

  // Prints a result as it arrives, which may be before the output that it
  // follows.
  int Result(const v1::RichResult& result);
  // Prints a line of ours.
  int Notice(absl::string_view line) { return printer_.Line(line); }

  // Prints what only the final answer contains: outputs, results and the error.
  int Answer(const v1::RunCodeResponse& response);

  // Shows a file that came back, where it is a picture and the terminal can.
  int Picture(absl::string_view content) {
    return printer_.Picture(images_.Show(content));
  }

  // Prints the results whose output never came.
  int Finish();

  // False when a result could not be saved; that was reported.
  bool all_saved() const { return all_saved_; }

 private:
  bool IsDue(const v1::RichResult& result) const;
  int ShowDue();
  int ShowFirst();
  int Output(v1::OutputStream stream, const v1::Output& output);
  int Save(const v1::MimeData& data);

  OutputPrinter& printer_;
  ResultFiles& files_;
  InlineImages images_;
  std::deque<v1::RichResult> waiting_;
  int streamed_ = 0;  // results that came before the answer
  bool all_saved_ = true;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RICH_PRINTER_H_
