#ifndef SANDGLASS_BENCH_LANGUAGE_PROGRAMS_H_
#define SANDGLASS_BENCH_LANGUAGE_PROGRAMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/language_report.h"

namespace sandglass::bench {

// One row of the table: a program of bench/programs, and what a user would type
// to run it on this machine without any jail.
struct LanguageProgram {
  std::string name;
  std::string language;  // the daemon's id of it
  std::string source;    // in bench/programs
  std::string file;      // what the user calls it
  // One after the other, in the directory of the program. The last one runs it.
  std::vector<std::vector<std::string>> commands;
  bool compiled = false;
  Bar bar;
};

std::vector<LanguageProgram> LanguagePrograms();

// A program's text with a number in it, so that no two are the same and no
// cache knows it, and the line that it prints.
struct ProgramText {
  std::string code;
  std::string output;
};
absl::StatusOr<ProgramText> ReadProgram(const std::string& directory,
                                        const LanguageProgram& program,
                                        int number);

// A sentence when a program that the commands need isn't installed, else empty.
std::string WhyNotBare(const LanguageProgram& program);

// The commands' times together, in a fresh directory below `scratch`; making
// the directory, writing the program and removing all doesn't count.
absl::StatusOr<absl::Duration> TimeBare(const LanguageProgram& program,
                                        const ProgramText& text,
                                        const std::string& scratch);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LANGUAGE_PROGRAMS_H_
