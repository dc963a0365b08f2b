#include "policy/seccomp/seccomp_start.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/architecture/architecture.h"

namespace sandglass::policy {
namespace {

enum class Kind {
  kLeftOver,    // not an argument: the register's old value
  kAddress,     // in the caller's memory
  kDescriptor,  // a descriptor that was free
  kValue,
};
struct Argument {
  Kind kind = Kind::kLeftOver;
  uint64_t value = 0;  // for kValue
};
constexpr Argument kAddress = {Kind::kAddress};
constexpr Argument kDescriptor = {Kind::kDescriptor};
// For an int only the lower half of its register is defined: the upper half of
// a negative int is all zeros or all ones, depending on the compiler of the C
// library.
constexpr Argument Value(int value) {
  return {Kind::kValue, static_cast<uint64_t>(int64_t{value})};
}
constexpr uint64_t kExtensions[] = {0xffff'ffff, ~uint64_t{0}};  // masks

// The size of struct open_how (openat2(2)) in its first version.
constexpr int kOpenHowBytes = 24;

struct CallOfStart {
  int number;
  const char* name;
  Argument arguments[6];
};

// The calls that sandbox/jailed/program.cc makes after installing the filter,
// up to the program, with their arguments. sendmsg isn't among them: only a
// traced filter needs it, and the start with --trace-syscalls checks that call
// itself.
constexpr CallOfStart kCallsOfStart[] = {
    {SYS_close, "close", {kDescriptor}},
    {SYS_openat,
     "openat",
     {Value(AT_FDCWD), kAddress, Value(O_PATH | O_DIRECTORY | O_CLOEXEC),
      Value(0)}},
    {SYS_openat2,
     "openat2",
     {kDescriptor, kAddress, kAddress, Value(kOpenHowBytes)}},
    {SYS_fchdir, "fchdir", {kDescriptor}},
    {SYS_execve, "execve", {kAddress, kAddress, kAddress}},
    // For kernels whose clock can't be read without a system call.
    {SYS_clock_gettime, "clock_gettime", {Value(CLOCK_MONOTONIC), kAddress}},
    // For a process that could not execute the program.
    {SYS_exit_group, "exit_group", {Value(127)}},
};

// Values that aren't known beforehand are each tried with these. A process has
// the descriptors 0, 1 and 2 open, some also 3, and a traced one has a copy
// above all those that init had.
constexpr uint64_t kDescriptors[] = {3, 4, 5, 40};
constexpr uint64_t kAddresses[] = {0x5555'5555'6000, 0x7fff'ffff'd000};
constexpr uint64_t kLeftOvers[] = {0, ~uint64_t{0}};

// Returns the first answer that isn't SECCOMP_RET_ALLOW, or SECCOMP_RET_ALLOW
// if there is none.
absl::StatusOr<uint32_t> AnswerTo(const BpfProgram& filter,
                                  const CallOfStart& call) {
  for (const uint64_t descriptor : kDescriptors) {
    for (const uint64_t address : kAddresses) {
      for (const uint64_t left_over : kLeftOvers) {
        for (const uint64_t extension : kExtensions) {
          const uint64_t of_kind[] = {left_over, address, descriptor};
          uint64_t arguments[6];
          for (size_t i = 0; i < std::size(arguments); ++i) {
            const Argument& argument = call.arguments[i];
            arguments[i] = argument.kind == Kind::kValue
                               ? argument.value & extension
                               : of_kind[static_cast<size_t>(argument.kind)];
          }
          absl::StatusOr<uint32_t> answer =
              EvaluateFilter(filter, kArchitecture, call.number, arguments);
          if (!answer.ok() || *answer != SECCOMP_RET_ALLOW) return answer;
        }
      }
    }
  }
  return SECCOMP_RET_ALLOW;
}

}  // namespace

absl::Status CheckStartsPrograms(const BpfProgram& filter) {
  std::vector<std::string> refused;
  for (const CallOfStart& call : kCallsOfStart) {
    const absl::StatusOr<uint32_t> answer = AnswerTo(filter, call);
    if (!answer.ok()) return answer.status();
    if (*answer != SECCOMP_RET_ALLOW) refused.emplace_back(call.name);
  }
  if (refused.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "its filter refuses ", absl::StrJoin(refused, ", "),
      ", without which no program can be started: a process has its filter "
      "when it looks up its directory and its program. Allow them in the "
      "policy, or leave out the addition that refuses them"));
}

}  // namespace sandglass::policy
