#include <string.h>

#include "absl/strings/str_cat.h"
#include "policy/verdict/verdict.h"

namespace sandglass::policy {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "OK";
    case Outcome::kNonzeroExit:
      return "NONZERO_EXIT";
    case Outcome::kSignaled:
      return "SIGNALED";
    case Outcome::kTimeout:
      return "TIMEOUT";
    case Outcome::kCpuLimit:
      return "CPU_LIMIT";
    case Outcome::kMemoryLimit:
      return "MEMORY_LIMIT";
    case Outcome::kOutputLimit:
      return "OUTPUT_LIMIT";
    case Outcome::kDiskLimit:
      return "DISK_LIMIT";
    case Outcome::kFileSizeLimit:
      return "FILE_SIZE_LIMIT";
    case Outcome::kPidsLimit:
      return "PIDS_LIMIT";
    case Outcome::kCompileError:
      return "COMPILE_ERROR";
    case Outcome::kCancelled:
      return "CANCELLED";
    case Outcome::kShutdown:
      return "SHUTDOWN";
    case Outcome::kJailFailed:
      return "JAIL_FAILED";
    case Outcome::kNeedsApproval:
      return "NEEDS_APPROVAL";
    case Outcome::kDenied:
      return "DENIED";
  }
  return "UNKNOWN";
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return absl::StrCat("SIG", name != nullptr ? name : absl::StrCat(signal));
}

}  // namespace sandglass::policy
