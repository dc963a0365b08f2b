#include "client/doctor/doctor_command.h"

#include <unistd.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/daemon.h"
#include "client/doctor/asker.h"
#include "client/doctor/examine.h"
#include "client/doctor/report.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

// A line on a terminal that overwrites itself each time.
class ProgressLine {
 public:
  ~ProgressLine() { Clear(); }
  void Show(const std::string& what) {
    if (!on_) return;
    Clear();
    WriteAll(STDERR_FILENO, absl::StrCat("trying ", VisibleText(what), " ..."));
    shown_ = true;
  }
  void Clear() {
    // A carriage return, then clears the rest of the line.
    if (shown_) WriteAll(STDERR_FILENO, "\r\x1b[K");
    shown_ = false;
  }

 private:
  const bool on_ = MayMoveCursor(STDERR_FILENO);
  bool shown_ = false;
};

int Interrupted(int signal) {
  WriteAll(STDERR_FILENO,
           "sandglass: interrupted; the run under way was told to stop\n");
  return kExitSignalBase + signal;
}

}  // namespace

int DoctorCommand(const Endpoint& endpoint, const DoctorOptions& options) {
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());

  const absl::Time start = absl::Now();
  Examination examination;
  examination.address = endpoint.address;
  examination.profile = options.profile.empty() ? "default" : options.profile;
  examination.quick = options.quick;
  Asker asker(*daemon, **interrupts, examination.profile);
  const grpc::Status info = asker.Info(examination.info);
  if (asker.interrupted()) return Interrupted((*interrupts)->signal());
  if (!info.ok()) return FailCall(info, *daemon);

  ProgressLine progress;
  const absl::Status done = Examine(
      options, asker, [&](const std::string& what) { progress.Show(what); },
      examination);
  progress.Clear();
  if (asker.interrupted()) return Interrupted((*interrupts)->signal());
  if (!done.ok()) return Fail(done);
  examination.took = absl::Now() - start;
  examination.runs = asker.runs();
  if (examination.runs == 0) {
    // Nothing could be tried, so there is nothing to report.
    if (asker.first_failure()) return FailCall(*asker.first_failure(), *daemon);
    return Fail(absl::FailedPreconditionError(
        "no language could be asked (sandglass languages says why)"));
  }

  const int printed = PrintText(
      options.json ? DoctorJson(examination)
                   : DoctorText(examination, options.verbose ? Detail::kAttempts
                                                             : Detail::kShort));
  return printed != kExitOk ? printed : DoctorExitCode(examination);
}

}  // namespace sandglass::client
