#ifndef SANDGLASS_TESTS_ANALYSERS_ANALYSER_PROCESS_H_
#define SANDGLASS_TESTS_ANALYSERS_ANALYSER_PROCESS_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace sandglass::testing {

// What an analyser said of a program, in any case within a minute (times
// Slowdown()): one that takes longer is killed and has no exit code.
struct Analysis {
  std::string facts;  // as it wrote them
  std::string err;
  int exit_code = -1;  // 128 + n for a signal

  // Whether the last line says that these are all, or that there are more.
  bool whole() const;
  bool overflown() const;
  // A fact a line, without the first and the last line: "KIND LINE:COLUMN
  // xCOUNT NAME | DETAIL", with the file's number before the line unless it is
  // 0, and without a count of one.
  std::string Lines() const;
};

// Files of a program by their names, the main file first.
using ProgramFiles = std::vector<std::pair<std::string, std::string>>;

// A language's analyser as a process of its own, made as the language's file
// says.
class Analyser {
 public:
  // "cpp", "go", "java", "javascript" or "ruby", made at the first use. One
  // that `waits` is told what to look at when it has said so; not Java's and
  // Ruby's.
  static const Analyser& Of(const std::string& language, bool waits = false);

  Analyser(const std::string& language, bool waits);
  Analysis Look(const ProgramFiles& files) const;
  // Of a program of one file, with the name that the language gives it.
  Analysis Look(const std::string& program) const;
  // With arguments that need not be files of a program in `directory`.
  Analysis LookIn(const std::string& directory,
                  const std::vector<std::string>& arguments) const;
  // The same by another command, with this on its standard input.
  Analysis LookWith(const std::vector<std::string>& command,
                    const std::string& directory,
                    const std::string& input = "") const;
  const std::string& source_file() const { return source_file_; }
  // Where it was made.
  const std::string& prepared() const { return directory_.path(); }

 private:
  const bool waits_;
  std::vector<std::string> command_;
  std::string source_file_;
  // Where its facts go in a program's directory; "" is standard output.
  std::string facts_file_;
  TempDir directory_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_ANALYSERS_ANALYSER_PROCESS_H_
