#ifndef SANDGLASS_SERVER_JOB_END_MARKER_H_
#define SANDGLASS_SERVER_JOB_END_MARKER_H_

#include <optional>
#include <string>
#include <string_view>

namespace sandglass::server {

// Finds in a program's output what its interpreter says when the program is
// over (sandbox/jail/job_frame.h), and takes it out. Who knows the secret can
// say that too; it ends nothing but its own run.
class EndNote {
 public:
  // Looks for nothing.
  EndNote() = default;
  // `word` is an EndWord.
  explicit EndNote(std::string word) : word_(std::move(word)) {}

  // What of the output is the program's, valid until the next call. The end of
  // `data` is kept back while it may be the beginning of the note.
  std::string_view Take(std::string_view data);
  // What was kept back, now that no more comes; valid until the next call.
  std::string_view Rest();

  // Once the note came: 0 to 255.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  enum class Match { kNone, kBegins, kWhole };
  // Sets `exit_code_` and `size` when `text` begins with the note.
  Match MatchAt(std::string_view text, size_t& size);

  std::string word_;
  std::string text_;
  std::string kept_;
  std::optional<int> exit_code_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_END_MARKER_H_
