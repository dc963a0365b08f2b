#include "policy/seccomp/seccomp_start.h"

#include <fcntl.h>
#include <linux/audit.h>
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

namespace sandglass::policy {
namespace {

enum class Kind {
  kLeftOver,    // behind the last argument: what was in the register
  kAddress,     // of the caller's memory
  kDescriptor,  // one that was free
  kValue,
};
struct Argument {
  Kind kind = Kind::kLeftOver;
  uint64_t value = 0;  // of kValue
};
constexpr Argument kAddress = {Kind::kAddress};
constexpr Argument kDescriptor = {Kind::kDescriptor};
// Of an int only the lower half of its register is set down: the upper one of a
// negative int is all zeros or all ones, as the compiler of the C library
// chose.
constexpr Argument Value(int value) {
  return {Kind::kValue, static_cast<uint64_t>(int64_t{value})};
}
constexpr uint64_t kExtensions[] = {0xffff'ffff, ~uint64_t{0}};  // masks

// Of struct open_how (openat2(2)), its first form.
constexpr int kOpenHowBytes = 24;

struct CallOfStart {
  int number;
  const char* name;
  Argument arguments[6];
};

// What sandbox/jailed/program.cc calls between the filter and the program, and
// with what, but for sendmsg, which only a filter that is traced needs: the
// start with --trace-syscalls looks for that one.
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
    // Of kernels whose clock can't be read without a call.
    {SYS_clock_gettime, "clock_gettime", {Value(CLOCK_MONOTONIC), kAddress}},
    // Of a process that could not become the program.
    {SYS_exit_group, "exit_group", {Value(127)}},
};

// What isn't known beforehand is tried with each of these. A process has 0, 1
// and 2 open, some 3 as well, and one that is traced a copy behind all that
// init had.
constexpr uint64_t kDescriptors[] = {3, 4, 5, 40};
constexpr uint64_t kAddresses[] = {0x5555'5555'6000, 0x7fff'ffff'd000};
constexpr uint64_t kLeftOvers[] = {0, ~uint64_t{0}};

// The first answer that is none of SECCOMP_RET_ALLOW; that, if there is none.
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
              EvaluateFilter(filter, AUDIT_ARCH_X86_64, call.number, arguments);
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
