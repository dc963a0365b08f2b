#ifndef SANDGLASS_TESTS_SUPPORT_SUBPROCESS_H_
#define SANDGLASS_TESTS_SUPPORT_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/base/unique_fd.h"

namespace sandglass::client {

// What a process is started with.
struct SubprocessOptions {
  std::string program = SANDGLASS_BINARY;
  std::vector<std::string> args;
  // The whole environment, as NAME=VALUE.
  std::vector<std::string> env;
  std::string stdin_text;
  // Standard input is a pipe that Send writes to, instead.
  bool input_pipe = false;
  std::string directory = "/";
  // Standard output and error are one terminal.
  bool terminal = false;
  // With `terminal`: standard input is that too, of 30 rows and 90 columns, in
  // the state that terminals have at first.
  bool terminal_input = false;
  // With `terminal`: it is the process's controlling one, in a session of its
  // own, so that it has /dev/tty and Ctrl-C.
  bool controlling = false;
};

struct SubprocessResult {
  // As a shell has it: 128 + n for a signal. -1: it had to be killed for
  // taking too long.
  int exit_code = -1;
  std::string out;
  std::string err;
};

// A running process; killed when its object goes away.
class Subprocess {
 public:
  explicit Subprocess(const SubprocessOptions& options);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Collects output until standard output contains `text`; false after 20 s.
  bool ReadUntil(const std::string& text);
  // The same of standard error, and what was collected of that.
  bool ReadErrorUntil(const std::string& text);
  const std::string& error_text() const { return result_.err; }
  // Writes to its standard input, or ends that.
  void Send(const std::string& text) const;
  void CloseInput();
  // Closes our end of its standard output.
  void CloseOutput();
  void Signal(int number) const;
  // Types on its terminal.
  void Type(const std::string& text) const;
  void SetTerminalSize(int rows, int columns) const;
  // Whether its terminal hands out each key as it is; after its end too.
  bool TerminalIsRaw() const;
  // Collects the rest and waits up to 20 s.
  SubprocessResult Wait();

 private:
  // Reads what is there within 20 ms; false once both streams have ended.
  bool Pump();
  bool PumpUntil(const std::string& text, const std::string& in);

  pid_t pid_ = -1;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd err_;
  UniqueFd terminal_;
  SubprocessResult result_;
};

// Starts, collects and waits.
SubprocessResult RunProcess(const SubprocessOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_SUPPORT_SUBPROCESS_H_
