#ifndef SANDGLASS_TESTS_SUPPORT_SHELL_H_
#define SANDGLASS_TESTS_SUPPORT_SHELL_H_

#include <array>
#include <cstdio>
#include <string>

namespace sandglass::testing {

// All that a command of /bin/sh writes to its standard output. For tests that
// have one thread that does this.
inline std::string RunShell(const std::string& command) {
  // NOLINTNEXTLINE(cert-env33-c)
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::string output;
  std::array<char, 4096> buffer;
  for (size_t got = 0;
       (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), got);
  }
  pclose(pipe);
  return output;
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_SHELL_H_
