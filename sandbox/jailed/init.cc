#include "sandbox/jailed/init.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "internal/spawner.pb.h"
#include "sandbox/jailed/call_trace.h"
#include "sandbox/jailed/enter_jail.h"
#include "sandbox/jailed/file_agent_start.h"
#include "sandbox/jailed/processes.h"
#include "sandbox/jailed/program.h"
#include "sandbox/jailed/program_rights.h"
#include "sandbox/jailed/workspace.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/step_clock.h"

namespace sandglass::sandbox {
namespace {

constexpr int kExitProtocol = 3;

void AddSteps(absl::Span<const StepClock::Entry> entries,
              google::protobuf::RepeatedPtrField<internal::StepTime>& steps) {
  for (const StepClock::Entry& entry : entries) {
    internal::StepTime* step = steps.Add();
    step->set_step(static_cast<int>(entry.step));
    step->set_nanoseconds(static_cast<uint64_t>(entry.nanoseconds));
  }
}

class Init {
 public:
  explicit Init(const JailPlan& plan)
      : plan_(plan), processes_(plan, fds_.limit_files) {}

  [[noreturn]] void Run() {
    os::SetProcessName("sandglass-init");
    ::umask(0);
    WaitForMaps();
    Raise();
    ReceiveSlots();
    Fit();
    for (;;) ServeOnce();
  }

 private:
  // The spawner sends one packet on the daemon's end when the id maps are
  // written, before it gives that end away.
  void WaitForMaps() {
    clock_.Begin(SetupStep::kWaitForMaps);
    if (!os::ReceivePacket(plan_.control, os::Wait::kYes).ok()) ::_exit(0);
  }

  void Raise() {
    report_ = ::mmap(nullptr, sizeof(StartReport), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // Isolation that is incomplete must not go on: report the step and end.
    if (report_ == MAP_FAILED || !EnterJail(plan_, clock_, fds_)) {
      FailSetUp();
    }
    sigset_t mask;
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGCHLD);
    os::ChangeSignalMask(SIG_SETMASK, mask);
    children_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!children_.valid()) FailSetUp();
    internal::InitEvent event;
    ReportSteps(*event.mutable_raised()->mutable_steps());
    Send(event, {});
  }

  // A jail that was made ahead waits here for its run. The spawner sends the
  // slots before it gives the daemon's end away, so they come first.
  void ReceiveSlots() {
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(plan_.control, os::Wait::kYes);
    if (absl::IsOutOfRange(packet.status())) ::_exit(0);
    internal::FillSlots filled;
    if (packet.ok() && packet->lost_fds) {
      clock_.Begin(SetupStep::kOpenLayer);
      errno = EMFILE;
      FailSetUp();
    }
    if (!packet.ok() || !filled.ParseFromString(packet->data) ||
        filled.seccomp().empty() ||
        filled.seccomp().size() % sizeof(sock_filter) != 0 ||
        packet->fds.size() != (filled.has_layer() ? 1 : 0)) {
      ::_exit(kExitProtocol);
    }
    if (filled.has_layer()) layer_ = std::move(packet->fds[0]);
    filter_.resize(filled.seccomp().size() / sizeof(sock_filter));
    std::memcpy(filter_.data(), filled.seccomp().data(),
                filled.seccomp().size());
    if (plan_.trace_calls) trace_.emplace(filter_);
    scratch_ = {filled.slots().tmp_bytes(), filled.slots().workspace_bytes(),
                filled.slots().max_files()};
    limits_ = {filled.slots().memory_bytes(), filled.slots().max_processes(),
               filled.slots().cpu_millis()};
  }

  void Fit() {
    if (!FitJail(plan_, scratch_, limits_, fds_.limit_files, layer_, clock_)) {
      FailSetUp();
    }
    layer_.reset();
    SendReady();
  }

  [[noreturn]] void FailSetUp() {
    SendFailure(clock_.current(), errno);
    ::_exit(1);
  }

  // Adds the steps that were not reported yet.
  void ReportSteps(
      google::protobuf::RepeatedPtrField<internal::StepTime>& steps) {
    AddSteps(clock_.entries().subspan(steps_reported_), steps);
    steps_reported_ = clock_.entries().size();
  }

  void SendReady() {
    internal::InitEvent event;
    ReportSteps(*event.mutable_ready()->mutable_steps());
    Send(event, {fds_.streams.in.daemon.get(), fds_.streams.out.daemon.get(),
                 fds_.streams.err.daemon.get(), fds_.tmp_fs.get(),
                 fds_.workspace_fs.get()});
    // ORDER: after this has been sent, only the daemon may hold its ends, so
    // that the program gets end-of-file and EPIPE when it should.
    fds_.streams.in.daemon.reset();
    fds_.streams.out.daemon.reset();
    fds_.streams.err.daemon.reset();
    fds_.tmp_fs.reset();
    fds_.workspace_fs.reset();
  }

  void ServeOnce() {
    polls_ = {{plan_.control, POLLIN, 0}, {children_.get(), POLLIN, 0}};
    if (trace_) trace_->AddPolls(polls_);
    if (::poll(polls_.data(), polls_.size(), -1) < 0) {
      // ENOMEM passes, and a session's jail doesn't end by it.
      if (errno != EINTR) ::usleep(os::kShortagePauseMicros);
      return;
    }
    // Before reaping: the calls that were refused to a process are reported
    // with its end.
    if (trace_) trace_->Serve(absl::MakeConstSpan(polls_).subspan(2));
    if (polls_[1].revents != 0) Reap();
    if (polls_[0].revents != 0) HandleRequest();
  }

  void Reap() {
    struct signalfd_siginfo info;
    while (::read(children_.get(), &info, sizeof(info)) > 0) {
    }
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (os::LetGoIfStopped(pid, status)) continue;
      internal::InitEvent event;
      uint64_t process_id = 0;
      if (pid == program_) {
        program_ = -1;
        event.mutable_exited()->set_wait_status(status);
        event.mutable_exited()->set_monotonic_ns(os::MonotonicNanos());
        if (trace_) {
          *event.mutable_exited()->mutable_refused() = trace_->Collect(pid);
        }
      } else if (processes_.Ended(pid, process_id)) {
        internal::ProcessExited& exited = *event.mutable_process_exited();
        exited.set_process_id(process_id);
        exited.set_wait_status(status);
        exited.set_monotonic_ns(os::MonotonicNanos());
        if (trace_) *exited.mutable_refused() = trace_->Collect(pid);
      } else {
        if (pid == file_agent_) file_agent_ = -1;
        continue;
      }
      Send(event, {});
    }
    processes_.RemoveEmptyGroups();
  }

  void HandleRequest() {
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(plan_.control, os::Wait::kYes);
    if (absl::IsOutOfRange(packet.status())) ::_exit(0);
    internal::InitRequest request;
    if (!packet.ok() || !request.ParseFromString(packet->data)) {
      ::_exit(kExitProtocol);
    }
    switch (request.request_case()) {
      case internal::InitRequest::kStart:
        if (packet->lost_fds) {
          SendFailure(SetupStep::kStageFiles, EMFILE);
          return;
        }
        if (packet->fds.empty()) ::_exit(kExitProtocol);
        Start(request.start(), packet->fds[0],
              absl::MakeConstSpan(packet->fds).subspan(1));
        return;
      case internal::InitRequest::kPrestart:
        Prestart(request.prestart());
        return;
      case internal::InitRequest::kCollect:
        Collect(request.collect());
        return;
      case internal::InitRequest::kSpawn:
        Spawn(request.spawn());
        return;
      case internal::InitRequest::kSignal:
        SendSignal(request.signal());
        return;
      case internal::InitRequest::kOpenFiles:
        OpenFiles();
        return;
      case internal::InitRequest::kKill:
        Kill(request.kill());
        return;
      case internal::InitRequest::kEndProcess:
        processes_.End(request.end_process().process_id());
        return;
      case internal::InitRequest::kNetworkUnused:
      case internal::InitRequest::REQUEST_NOT_SET:
        break;
    }
    ::_exit(kExitProtocol);
  }

  void Start(const internal::StartProgram& request, const os::Fd& content,
             absl::Span<const os::Fd> shared) {
    StartReport& report = *new (report_) StartReport;
    report.clock.Begin(SetupStep::kStageFiles);
    if (!StageFiles(request, content, shared)) {
      SendFailure(SetupStep::kStageFiles, errno);
      return;
    }
    if (prestarted_) {
      AdaptWaiting(request, report);
    } else {
      Launch(request, report);
    }
  }

  // The interpreter waits for what the daemon writes to its standard input;
  // before that no user's code is in the jail.
  void AdaptWaiting(const internal::StartProgram& request,
                    StartReport& report) {
    // Its end was reported when it was reaped.
    if (program_ < 0) return;
    report.clock.Begin(SetupStep::kSetRlimits);
    const ProgramLimits limits = {
        request.open_files(), request.file_size_bytes(), request.cpu_seconds()};
    if (!(processes_.any() ? LimitProcessAside(program_, limits)
                           : LimitProcess(program_, limits))) {
      SendFailure(SetupStep::kSetRlimits, errno);
      return;
    }
    report.exec_monotonic_ns = os::MonotonicNanos();
    SendStarted(report);
  }

  void Prestart(const internal::Prestart& request) {
    if (prestarted_ || program_ >= 0) ::_exit(kExitProtocol);
    prestarted_ = true;
    // Limits can only be lowered, and those of the program aren't known yet.
    internal::StartProgram waiting;
    *waiting.mutable_argv() = request.argv();
    *waiting.mutable_env() = request.env();
    waiting.set_with_stdin(true);
    waiting.set_open_files(kNoLimit);
    waiting.set_file_size_bytes(kNoLimit);
    waiting.set_cpu_seconds(kNoLimit);
    Launch(waiting, *new (report_) StartReport);
  }

  void Launch(const internal::StartProgram& request, StartReport& report) {
    program_ =
        StartProgramProcess(plan_, fds_, filter_, trace(), request, report);
    // From here on only the program may hold its ends.
    fds_.streams.in.program.reset();
    fds_.streams.out.program.reset();
    fds_.streams.err.program.reset();
    if (program_ < 0) {
      SendFailure(report.clock.current(), report.error);
      return;
    }
    SendStarted(report);
  }

  void SendStarted(StartReport& report) {
    report.clock.End();
    internal::InitEvent event;
    event.mutable_started()->set_monotonic_ns(report.exec_monotonic_ns);
    AddSteps(report.clock.entries(), *event.mutable_started()->mutable_steps());
    Send(event, {});
  }

  void Collect(const internal::CollectFiles& request) {
    const bool complete = FindFiles(
        request,
        [this](const std::string& path, FileProblem problem, os::Fd file) {
          internal::InitEvent event;
          event.mutable_file()->set_path(path);
          event.mutable_file()->set_problem(static_cast<int>(problem));
          if (file.valid()) {
            Send(event, {file.get()});
          } else {
            Send(event, {});
          }
        });
    internal::InitEvent event;
    event.mutable_collect_done()->set_truncated(!complete);
    Send(event, {});
  }

  void Spawn(const internal::Spawn& request) {
    Processes::Fds fds;
    const internal::InitEvent event =
        processes_.Spawn(request, filter_, trace(), report_, fds);
    std::vector<int> numbers;
    for (const os::Fd& fd : fds) numbers.push_back(fd.get());
    Send(event, numbers);
  }

  void SendSignal(const internal::SendSignal& request) {
    const pid_t pid = request.pid();
    // 0 would mean init's own group and -1 every process; the group 1 would
    // become -1.
    if (pid <= 1 || request.signal() < 1 || request.signal() >= NSIG) {
      ::_exit(kExitProtocol);
    }
    if (pid == file_agent_) return;
    (void)::kill(request.to_group() ? -pid : pid, request.signal());
  }

  void Kill(const internal::KillProcesses& request) {
    if (request.process_id() != 0) {
      processes_.Kill(request.process_id());
    } else if (file_agent_ > 0) {
      processes_.KillAll();
    } else {
      // Kills every process except this one in one call: none can be started
      // meanwhile.
      (void)::kill(-1, SIGKILL);
    }
  }

  void OpenFiles() {
    // The present agent may hang, since the code can stop it.
    if (file_agent_ > 0) (void)::kill(file_agent_, SIGKILL);
    os::Fd socket;
    file_agent_ = StartFileAgent(plan_, fds_.landlock_ruleset, filter_, socket);
    internal::InitEvent event;
    event.mutable_files_opened();
    if (file_agent_ > 0) {
      Send(event, {socket.get()});
      return;
    }
    event.mutable_files_opened()->set_error(errno);
    Send(event, {});
  }

  void SendFailure(SetupStep step, int error) {
    internal::InitEvent event;
    event.mutable_failed()->set_step(static_cast<int>(step));
    event.mutable_failed()->set_error(error);
    Send(event, {});
  }

  void Send(const internal::InitEvent& event, absl::Span<const int> fds) {
    // Nobody is left to report to: the jail is of no further use.
    if (!os::SendPacket(plan_.control, event.SerializeAsString(), fds,
                        os::Wait::kYes)
             .ok()) {
      ::_exit(0);
    }
  }

  CallTrace* trace() { return trace_ ? &*trace_ : nullptr; }

  const JailPlan& plan_;
  StepClock clock_;
  size_t steps_reported_ = 0;
  JailFds fds_;
  std::vector<sock_filter> filter_;
  std::optional<CallTrace> trace_;  // if refused calls are traced
  std::vector<struct pollfd> polls_;
  ScratchSizes scratch_;
  VisibleLimits limits_;
  os::Fd layer_;            // until it is mounted
  void* report_ = nullptr;  // a StartReport, shared with the program's process
  os::Fd children_;
  pid_t program_ = -1;
  bool prestarted_ = false;  // program_ is, or was, an interpreter that waits
  Processes processes_;
  pid_t file_agent_ = -1;
};

}  // namespace

void RunInit(const JailPlan& plan) { Init(plan).Run(); }

}  // namespace sandglass::sandbox
