#ifndef SANDGLASS_BENCH_COMMAND_H_
#define SANDGLASS_BENCH_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sandglass::bench {

struct Command {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::vector<std::string> env;   // "NAME=value"; nothing else is inherited
  std::string directory = "/";
  std::string input = "/dev/null";  // the file that is its stdin
  // bubblewrap ends before what it started does, which tells its processor
  // time: with this set it is asked for that process, which is waited for.
  bool leaves_child = false;
  absl::Duration time_limit = absl::Seconds(30);
  bool timed = true;  // as a part of RunCommands
};

struct CommandResult {
  std::string output;
  // From just before the spawn until stdout was read to its end and the
  // process was reaped.
  absl::Duration time;
  // Processor time of it and of all that it waited for, user and system.
  absl::Duration cpu;
};

// Lets RunCommand wait for such children.
void AdoptChildren();

// Runs the command. Anything but exit 0 is an error that
// carries the end of its stderr; so is taking longer than its time limit,
// and then it is killed. Thread-safe.
absl::StatusOr<CommandResult> RunCommand(const Command& command);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_COMMAND_H_
