#ifndef SANDGLASS_TESTS_E2E_WARM_WARM_LANGUAGES_H_
#define SANDGLASS_TESTS_E2E_WARM_WARM_LANGUAGES_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace sandglass::testing {

// A language with zygotes, and programs in it; all of a name do the same.
struct WarmLanguage {
  std::string id;
  std::string extension;
  std::string process_name;  // of its interpreter, as ps shows it
  // Acts at the interpreter's start, though nothing comes of it.
  std::pair<std::string, std::string> start_env;

  std::string print_ok;
  std::string print_start_env;  // its value
  std::string print_hash;       // of a string, by the interpreter's seed
  // Prints $GREETING, its arguments and the directory with "|" between them,
  // the content of data/in.txt, "executable" when tool is, its standard input
  // and its umask; writes "made" to out.txt.
  std::string use_inputs;
  std::string spin;
  std::string sleep;
  std::string take_memory;     // 1 GiB
  std::string take_processes;  // as many as there are
  std::string flood;           // of output
  std::string kill_itself;
  std::string leave_three_children;  // prints "done"
  // A forged end with 5, a flood of reports and an end with 5, then a closed
  // pipe, half a message and two of a wrong kind; then the program ends with 5.
  std::vector<std::string> tamper;
  std::string draw;  // prints random values, one a line
  size_t drawn;      // so many
  // Prints what is in /workspace, /tmp, /dev/shm and $HOME, the processes, "no
  // mark" and the number of message queues, then leaves all of it behind.
  std::string look_and_leave;
  std::string reach_out;  // for the zygote, init and rights
  std::string reached;
};

std::vector<WarmLanguage> WarmLanguages();

inline std::ostream& operator<<(std::ostream& out, const WarmLanguage& each) {
  return out << each.id;
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_WARM_WARM_LANGUAGES_H_
