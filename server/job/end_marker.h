#ifndef SANDGLASS_SERVER_JOB_END_MARKER_H_
#define SANDGLASS_SERVER_JOB_END_MARKER_H_

#include <optional>
#include <string>
#include <string_view>

namespace sandglass::server {

// Finds in a program's output the note that its interpreter writes when the
// program is over (sandbox/jail/job_frame.h), and removes it. A program that
// knows the secret can write the note too, but that only ends its own run.
class EndMarker {
 public:
  // Makes an object that looks for nothing.
  EndMarker() = default;
  // `word` is an EndWord.
  explicit EndMarker(std::string word) : word_(std::move(word)) {}

  // Returns the part of the output that is the program's; it is valid until the
  // next call. The end of `data` is kept back while it may be the beginning of
  // the note.
  std::string_view Feed(std::string_view data);
  // Returns what was kept back, when no more output comes; valid until the next
  // call.
  std::string_view Rest();

  // The program's exit code, 0 to 255, once the note has come.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  // How many bytes at the beginning of `text` are the note, or may be its
  // beginning; nullopt: none. Sets `exit_code_` if it is the whole note.
  std::optional<size_t> SizeAt(std::string_view text);

  std::string word_;
  std::string text_;
  std::string kept_;
  std::optional<int> exit_code_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_END_MARKER_H_
