#include "sandbox/jail/job_frame.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "sandbox/os/random.h"

namespace sandglass::sandbox {

std::string JobFrame(const ProgramSpec& program,
                     std::optional<absl::string_view> end_secret) {
  std::string frame(sizeof(uint32_t), 0);
  const auto add = [&](absl::string_view word) {
    absl::StrAppend(&frame, word, absl::string_view("\0", 1));
  };
  if (end_secret) add(*end_secret);
  add(absl::StrCat(program.argv.size()));
  for (const std::string& argument : program.argv) add(argument);
  for (const std::string& entry : program.env) add(entry);
  const auto size = static_cast<uint32_t>(frame.size() - sizeof(uint32_t));
  for (size_t i = 0; i < sizeof(size); ++i) {
    frame[i] = static_cast<char>(size >> (8 * (sizeof(size) - 1 - i)));
  }
  return frame;
}

std::string MakeEndSecret() {
  uint64_t numbers[2] = {};
  while (!os::FillRandom(numbers, sizeof(numbers))) {
  }
  return absl::StrCat(absl::Hex(numbers[0], absl::kZeroPad16),
                      absl::Hex(numbers[1], absl::kZeroPad16));
}

std::string EndWord(absl::string_view secret) {
  // The word begins with a NUL because few texts end with one, and only that
  // much of an output has to be held back until it is known what follows.
  return absl::StrCat(absl::string_view("\0", 1), "sandglass: over ", secret,
                      " ");
}

}  // namespace sandglass::sandbox
