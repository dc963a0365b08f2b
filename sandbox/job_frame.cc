#include "sandbox/job_frame.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sandglass::sandbox {

std::string JobFrame(const ProgramSpec& program) {
  std::string frame(sizeof(uint32_t), 0);
  const auto add = [&](absl::string_view word) {
    absl::StrAppend(&frame, word, absl::string_view("\0", 1));
  };
  add(absl::StrCat(program.argv.size()));
  for (const std::string& argument : program.argv) add(argument);
  for (const std::string& entry : program.env) add(entry);
  const auto size = static_cast<uint32_t>(frame.size() - sizeof(uint32_t));
  for (size_t i = 0; i < sizeof(size); ++i) {
    frame[i] = static_cast<char>(size >> (8 * (sizeof(size) - 1 - i)));
  }
  return frame;
}

}  // namespace sandglass::sandbox
