#ifndef SANDGLASS_BENCH_PROGRAMS_H_
#define SANDGLASS_BENCH_PROGRAMS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/report.h"

namespace sandglass::bench {

// One program of bench/programs, and what a user would type to run it on this
// machine without any jail.
struct Program {
  std::string name;
  std::string language;  // the daemon's id of it
  std::string source;    // in bench/programs
  std::string file;      // what the user calls it
  // One after the other, in the directory of the program. The last one runs it.
  std::vector<std::vector<std::string>> commands;
  // Each run has the very same text, so that a cache may know it; else each
  // has another number in it.
  bool same_text = false;
  std::string makes;  // a file that it leaves behind; empty: none
  // So many of the commands only make what the others run, and aren't timed:
  // for Sandglass the compile cache answers instead.
  size_t making_commands = 0;
  size_t input_bytes = 0;  // on its standard input
  // After its first line it prints so many numbers from 0, on a line each.
  size_t numbers = 0;
  bool beside_bare_alone = false;  // no other contender runs it
  Bar bar;
};

// In the order of their measuring; the first is the trivial one.
const std::vector<Program>& Programs();
const Program* FindProgram(const std::string& name);

struct ProgramText {
  std::string code;
  std::optional<std::string> output;  // what it prints; absent: not looked at
};

// The text of a program, with `number` in it unless all are the same.
absl::StatusOr<ProgramText> ReadProgram(const std::string& directory,
                                        const Program& program, int number);

// A sentence when a command of the program isn't installed, else empty.
std::string WhyNotInstalled(const Program& program);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_PROGRAMS_H_
