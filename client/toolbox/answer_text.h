#ifndef SANDGLASS_CLIENT_TOOLBOX_ANSWER_TEXT_H_
#define SANDGLASS_CLIENT_TOOLBOX_ANSWER_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Collects a program's output as it arrives. Of a very long output only the
// beginning and the end are kept.
class OutputCapture {
 public:
  void Add(absl::string_view bytes);

  // The beginning of the output, at most 16 MiB.
  const std::string& head() const { return head_; }
  // The last bytes; empty when head() has everything.
  absl::string_view tail() const;
  uint64_t total() const { return total_; }
  bool whole() const { return total_ == head_.size(); }

 private:
  std::string head_;
  std::string tail_;
  uint64_t total_ = 0;
};

// The text of an answer: a verdict, what was printed, and notes. Its parts may
// contain any bytes.
class AnswerText {
 public:
  explicit AnswerText(std::string verdict) : verdict_(std::move(verdict)) {}

  // Adds a part that may be cut in its middle, under a label unless that is
  // empty. Adds nothing when there is no text.
  void Add(absl::string_view label, absl::string_view text);
  void Add(absl::string_view label, OutputCapture output);
  // The same for output that ToolProgress has told as it came.
  void AddTold(absl::string_view label, OutputCapture output);
  // Adds a line at the end that is never cut.
  void AddNote(std::string line) { notes_.push_back(std::move(line)); }

  bool empty() const { return parts_.empty(); }
  // Whether everything fits into `room` bytes.
  bool Fits(size_t room) const;
  // Everything that was printed, as bytes; of very long parts only the
  // beginning.
  std::string Printed() const;
  // The text as valid UTF-8 of at most `room` bytes. `where` is what a cut says
  // about the rest.
  std::string Render(size_t room, absl::string_view where) const;
  // The same without what was told; empty if nothing was.
  std::string RenderUntold(size_t room) const;

 private:
  struct Part {
    std::string label;
    OutputCapture output;
    bool told = false;
  };
  std::string Notes(size_t room) const;

  std::string verdict_;
  std::vector<Part> parts_;
  std::vector<std::string> notes_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_ANSWER_TEXT_H_
