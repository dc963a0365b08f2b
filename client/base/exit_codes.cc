#include "client/base/exit_codes.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace sandglass::client {
namespace {

constexpr std::array<OutcomeExit, 16> kTable = {{
    {v1::OUTCOME_OK, kExitOk},
    {v1::OUTCOME_NONZERO_EXIT, kExitProgramCode},
    {v1::OUTCOME_SIGNALED, kExitProgramSignal},
    {v1::OUTCOME_TIMEOUT, 124},
    {v1::OUTCOME_CPU_LIMIT, 152},
    {v1::OUTCOME_MEMORY_LIMIT, 137},
    {v1::OUTCOME_OUTPUT_LIMIT, 153},
    {v1::OUTCOME_DISK_LIMIT, 154},
    {v1::OUTCOME_FILE_SIZE_LIMIT, 155},
    {v1::OUTCOME_PIDS_LIMIT, 156},
    {v1::OUTCOME_COMPILE_ERROR, 157},
    {v1::OUTCOME_CANCELLED, 130},
    {v1::OUTCOME_SHUTDOWN, 143},
    {v1::OUTCOME_JAIL_FAILED, 126},
    {v1::OUTCOME_NEEDS_APPROVAL, kExitNeedsApproval},
    {v1::OUTCOME_DENIED, kExitDenied},
}};

}  // namespace

absl::Span<const OutcomeExit> OutcomeExits() { return kTable; }

int ExitCodeFor(const v1::RunCodeResponse& response) {
  for (const OutcomeExit& row : kTable) {
    if (row.outcome != response.outcome()) continue;
    if (row.code == kExitProgramCode) {
      const int code = response.exit_code() & 0xFF;
      // 0 would make a failed program look successful.
      return code != 0 ? code : kExitError;
    }
    if (row.code == kExitProgramSignal) {
      const int number = response.signal().number();
      return number > 0 && number < 127 ? kExitSignalBase + number : kExitError;
    }
    return row.code;
  }
  return kExitError;
}

std::string OutcomeName(v1::Outcome outcome) {
  const std::string& name = v1::Outcome_Name(outcome);
  if (name.empty()) return absl::StrCat("OUTCOME_", static_cast<int>(outcome));
  return std::string(absl::StripPrefix(name, "OUTCOME_"));
}

std::string RunExitCodeHelp() {
  std::string text =
      "Exit codes of run, session run, exec, attach and shell:\n";
  for (const OutcomeExit& row : kTable) {
    std::string code = absl::StrCat(row.code);
    if (row.code == kExitProgramCode) code = "its own";
    if (row.code == kExitProgramSignal) code = "128 + n";
    absl::StrAppendFormat(&text, "  %-8s %s\n", code, OutcomeName(row.outcome));
  }
  absl::StrAppend(
      &text,
      "  125      usage or gRPC error, or a file that could not be read,\n"
      "           fetched, saved or written after an otherwise good run\n"
      "  126, 127 exec's program can't be run, or isn't there; nothing ran\n"
      "  141      the reader of standard output went away\n");
  return text;
}

std::string ExitCodeHelp() {
  return absl::StrCat(
      RunExitCodeHelp(),
      "The other commands exit with 0 or 125, doctor also with 1 and 2, audit "
      "with 0, 1 or 2,\n"
      "status with 1 where the daemon is not ready, usage with 1 where an "
      "audit log is not\n"
      "as it was written, policy check with 1, policy test as the run would "
      "where that is\n"
      "stopped. A signal to sandglass itself stops the run and exits with 128 "
      "+ its number\n"
      "(Ctrl-C: 130).\n");
}

std::string StatusExitCodeHelp() {
  return absl::StrCat(
      "Exit codes of status:\n"
      "  0        the daemon is ready\n",
      "  ", kExitNotReady,
      "        it is not, or it is ending\n"
      "  ",
      kExitError, "      it could not be asked: no daemon, or no access\n");
}

std::string AuditExitCodeHelp() {
  return absl::StrCat(
      "Exit codes of audit:\n"
      "  0        the log is as it was written, as far as was looked\n",
      "  ", kExitTampered,
      "        it is not: something was altered, removed, moved or inserted\n"
      "  ",
      kExitAuditError, "        usage error, or it could not be read\n");
}

std::string DoctorExitCodeHelp() {
  return absl::StrCat(
      "Exit codes of doctor:\n"
      "  0        all protections are in force\n",
      "  ", kExitProtectionMissing,
      "        at least one is missing\n"
      "  ",
      kExitNotChecked,
      "        none is seen to be missing, but not all could be checked\n"
      "  ",
      kExitError,
      "      it could not ask: no daemon, refused, or too busy to run "
      "anything\n"
      "  128 + n  interrupted by a signal\n");
}

}  // namespace sandglass::client
