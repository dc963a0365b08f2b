#include "sandbox/zygote/runner.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sandbox/jailed/program_rights.h"
#include "sandbox/jailed/stage.h"
#include "sandbox/os/io.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {
namespace {

// A high number, so that the first file that a program opens gets descriptor 3.
constexpr int kSocketFd = 255;
constexpr int kReportFd = 254;
constexpr long kPauseNanos = 500'000;

constexpr uint64_t kJailNamespaces = os::kNewUser | os::kNewMount |
                                     os::kNewIpc | os::kNewUts |
                                     os::kNewCgroup | os::kNewNetwork;

// The zygote's /proc is still in view. When the whole host runs out of memory,
// jails are killed first.
bool OfferToOom() {
  const os::Fd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), "1000", 4) == 4;
}

// Runs in processes that the program forks: they must not hold the pipe that
// reports the runner's end. The program may have closed it and have a file of
// its own under that number.
struct stat report_file = {};
void CloseReportInChild() {
  struct stat now = {};
  if (::fstat(kReportFd, &now) == 0 && now.st_ino == report_file.st_ino &&
      now.st_dev == report_file.st_dev) {
    ::close(kReportFd);
  }
}

constexpr size_t kTitleBytes = 1024;
char* shown_title = nullptr;

}  // namespace

absl::Span<char> MakeTitle() {
  // The kernel only reads the title from anonymous memory, and a library's
  // memory isn't.
  void* memory = ::mmap(nullptr, kTitleBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  shown_title = static_cast<char*>(memory);
  shown_title[kTitleBytes - 1] = 1;
  return absl::MakeSpan(shown_title, kTitleBytes);
}

void ShowTitle(const std::vector<const char*>& words) {
  if (shown_title == nullptr) return;
  size_t size = 0;
  const auto add = [&](char c) {
    // Two bytes are reserved: for the end of the text and the mark after it.
    if (size < kTitleBytes - 2) shown_title[size++] = c;
  };
  for (const char* word : words) {
    if (size > 0) add(' ');
    for (; *word != 0; ++word) add(*word);
  }
  shown_title[size] = 0;
}

absl::Span<char> Title() {
  return shown_title == nullptr ? absl::Span<char>()
                                : absl::MakeSpan(shown_title, kTitleBytes);
}

Runner::Runner(Jail jail, StepClock clock)
    : jail_(std::move(jail)), clock_(clock) {}

void Runner::EnterJail() {
  // ORDER: as in a jail's init and in BecomeProgram, for the same reasons. The
  // v1 groups come first: their files only accept a writer with the uid of the
  // process that opened them.
  clock_.Begin(SetupStep::kJoinCgroups);
  for (const os::Fd& tasks : jail_.v1_tasks) {
    if (::write(tasks.get(), "0", 1) != 1) Fail();
  }
  if (!OfferToOom()) Fail();
  clock_.Begin(SetupStep::kJoinJail);
  if (!os::JoinNamespaces(jail_.init_pidfd, kJailNamespaces)) Fail();
  // Before any path of the jail is looked up: after this, nothing of the host
  // is open except the socket, and the streams that AnnounceReady replaces.
  clock_.Begin(SetupStep::kCloseProgramFds);
  jail_.v1_tasks.clear();
  jail_.init_pidfd.reset();
  if (jail_.socket.get() != kSocketFd) {
    if (::dup3(jail_.socket.get(), kSocketFd, O_CLOEXEC) < 0) Fail();
    jail_.socket.reset(kSocketFd);
  }
  if (!os::CloseRange(3, kSocketFd - 1) || !os::CloseFrom(kSocketFd + 1)) {
    Fail();
  }
  clock_.Begin(SetupStep::kDropProgramRights);
  // The program must not be in the zygote's session and process group.
  if (::setsid() < 0 || !os::LockSecureBits() || !os::DropBoundingSet() ||
      !DropProgramRights()) {
    Fail();
  }
  clock_.Begin(SetupStep::kLandlock);
  if (jail_.landlock_abi > 0) {  // 0: the operator excused the host
    const os::Fd rules = MakeLandlockRules(jail_.landlock_abi);
    if (!rules.valid() || !os::LandlockRestrictSelf(rules)) Fail();
  }
  clock_.Begin(SetupStep::kSeccomp);
  // ORDER: the template's filter may refuse to install another one. Of two
  // filters the stricter answer counts, so that nothing that one refuses asks.
  ReportListener(os::AskBeforeSockets());
  if (!os::InstallSeccompFilter(jail_.filter)) Fail();
  clock_.Begin(SetupStep::kEnterDirectory);
  if (::chdir(kWorkspace) != 0) Fail();
  // The change of ids has given /proc/self to root; this takes it back.
  os::SetDumpable();
  pid_ = ::getpid();
  clock_.End();
}

void Runner::ReportListener(const os::Fd& listener) {
  if (!listener.valid()) return;  // then nothing asks
  RunnerEvent event = {};
  event.kind = RunnerEventKind::kAsks;
  const auto* data = reinterpret_cast<const char*>(&event);
  if (!os::SendDatagram(jail_.socket.get(), {data, sizeof(event)},
                        {listener.get()})) {
    ::_exit(0);
  }
}

void Runner::AnnounceReady() {
  clock_.Begin(SetupStep::kMakePipes);
  if (!MakeStreamPipes(streams_) || !MakePipe(DaemonEnd::kRead, report_) ||
      ::dup2(streams_.in.program.get(), 0) < 0 ||
      ::dup2(streams_.out.program.get(), 1) < 0 ||
      ::dup2(streams_.err.program.get(), 2) < 0 ||
      ::dup3(report_.program.get(), kReportFd, O_CLOEXEC) < 0) {
    Fail();
  }
  os::Fd report(kReportFd);
  if (::fstat(kReportFd, &report_file) != 0 ||
      ::pthread_atfork(nullptr, nullptr, CloseReportInChild) != 0) {
    Fail();
  }
  for (os::Fd* fd :
       {&streams_.in.program, &streams_.out.program, &streams_.err.program}) {
    fd->reset();
  }
  // Until its program comes, ps(1) shows a name that differs from a program's.
  os::GetProcessName(name_);
  os::SetProcessName("sandglass-idle");
  clock_.End();
  struct {
    RunnerEvent event = {};
    RunnerStep steps[kSetupStepCount];
  } ready;
  ready.event.kind = RunnerEventKind::kReady;
  for (const StepClock::Entry& entry : clock_.entries()) {
    ready.steps[ready.event.step_count++] = {static_cast<int>(entry.step),
                                             entry.nanoseconds};
  }
  const absl::string_view text(
      reinterpret_cast<const char*>(&ready),
      sizeof(ready.event) + ready.event.step_count * sizeof(RunnerStep));
  if (!os::SendDatagram(jail_.socket.get(), text,
                        {streams_.in.daemon.get(), streams_.out.daemon.get(),
                         streams_.err.daemon.get(), report_.daemon.get()})) {
    ::_exit(0);
  }
  // ORDER: after this was sent, only the daemon may hold its ends, so that the
  // program gets end-of-file and EPIPE when it should.
  for (os::Fd* fd : {&streams_.in.daemon, &streams_.out.daemon,
                     &streams_.err.daemon, &report_.daemon}) {
    fd->reset();
  }
  report_.program = std::move(report);
}

RunnerProgram Runner::ReceiveJob() {
  // Pages that a small job doesn't fill are never touched.
  buffer_.reset(new char[sizeof(RunnerJob) + kMaxInlineJob]);
  std::vector<os::Fd> memory;
  const ssize_t size =
      os::ReceiveDatagram(jail_.socket.get(), buffer_.get(),
                          sizeof(RunnerJob) + kMaxInlineJob, memory);
  if (size < 0 && errno == EMFILE) {
    clock_.Begin(SetupStep::kStageFiles);
    errno = EMFILE;
    Fail();
  }
  // The daemon has given up the jail.
  if (size < static_cast<ssize_t>(sizeof(RunnerJob))) ::_exit(0);
  os::SetProcessName(name_);
  RunnerJob job;
  std::memcpy(&job, buffer_.get(), sizeof(job));
  const char* from = buffer_.get() + sizeof(job);
  const char* end = buffer_.get() + size;
  clock_.Begin(SetupStep::kStageFiles);
  if (!memory.empty()) {
    const os::Fd& file = memory.front();
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0) Fail();
    const auto length = static_cast<size_t>(info.st_size);
    void* whole =
        ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (whole == MAP_FAILED) Fail();
    from = static_cast<const char*>(whole);
    end = from + length;
  }
  RunnerJobBody body;
  if (!ReadRunnerJob(job, {from, static_cast<size_t>(end - from)}, body) ||
      !StageFiles(body.files)) {
    Fail();
  }
  RunnerProgram program = {std::move(body.arguments),
                           std::move(body.environment)};
  for (const RunnerJobBody::File& file : body.files) {
    if (file.look_at) program.to_look_at.push_back(file);
  }
  if (body.files.size() == 1 && !program.arguments.empty() &&
      absl::string_view(body.files[0].path) == program.arguments[0]) {
    program.sole_file = body.files[0].content;
  }
  std::vector<const char*> words = program.arguments;
  words.insert(words.begin(), program_invocation_name);
  ShowTitle(words);
  clock_.Begin(SetupStep::kSetStdio);
  if (job.with_stdin == 0) {
    const os::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid() || ::dup2(null.get(), 0) < 0) Fail();
  }
  clock_.Begin(SetupStep::kSetRlimits);
  if (!SetProgramLimits(
          {job.open_files, job.file_size_bytes, job.cpu_seconds})) {
    Fail();
  }
  clock_.End();
  return program;
}

bool Runner::StageFiles(const std::vector<RunnerJobBody::File>& files) {
  const os::Fd workspace = OpenWorkspace();
  ::umask(0);
  for (const RunnerJobBody::File& file : files) {
    const os::Fd target = CreateStaged(workspace, file.path, file.mode);
    if (!target.valid() || !os::WriteAll(target.get(), file.content)) {
      return false;
    }
  }
  ::umask(022);
  return true;
}

void Runner::ReportFacts(absl::string_view facts) {
  RunnerEvent event = {};
  event.kind = RunnerEventKind::kFacts;
  event.nanoseconds = os::MonotonicNanos();
  std::unique_ptr<char[]> text(new char[sizeof(event) + facts.size()]);
  std::memcpy(text.get(), &event, sizeof(event));
  if (!facts.empty()) {
    std::memcpy(text.get() + sizeof(event), facts.data(), facts.size());
  }
  if (!os::SendDatagram(jail_.socket.get(),
                        {text.get(), sizeof(event) + facts.size()}, {})) {
    ::_exit(0);
  }
}

void Runner::AwaitLeave() {
  char leave = 0;
  std::vector<os::Fd> none;
  if (os::ReceiveDatagram(jail_.socket.get(), &leave, 1, none) != 1) {
    ::_exit(0);
  }
  jail_.socket.reset();  // as in AnnounceStart
}

bool Runner::CutOff() {
  jail_.socket.reset();
  report_.program.reset();
  const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return false;
  for (const int fd : {0, 1, 2}) {
    if (::dup2(null.get(), fd) < 0) return false;
  }
  return true;
}

void Runner::AnnounceStart() {
  RunnerEvent event = {};
  event.kind = RunnerEventKind::kStarted;
  event.nanoseconds = os::MonotonicNanos();
  Report(event);
  // The socket carries nothing after this message, see runner_protocol.h.
  jail_.socket.reset();
}

void Runner::Finish(int exit_code) {
  // Writes out what C libraries hold in their buffers.
  std::fflush(nullptr);
  if (::getpid() == pid_) {
    RunnerEvent event = {};
    event.kind = RunnerEventKind::kDone;
    event.value = exit_code & 0xff;
    Report(event);
    // Whoever reads that may be waiting for this processor, and the end of an
    // address space occupies it for a millisecond.
    const struct timespec pause = {0, kPauseNanos};
    ::nanosleep(&pause, nullptr);
  }
  ::_exit(exit_code);
}

void Runner::Fail() {
  RunnerEvent event = {};
  event.kind = RunnerEventKind::kFailed;
  event.value = errno;
  event.step = static_cast<int>(clock_.current());
  Report(event);
  ::_exit(1);
}

void Runner::Report(const RunnerEvent& event) const {
  // Failures are ignored: either nobody is there to read this, or a program has
  // closed the pipe; its end will be noticed when it is reaped.
  const auto* data = reinterpret_cast<const char*>(&event);
  if (jail_.socket.valid()) {
    (void)os::SendDatagram(jail_.socket.get(), {data, sizeof(event)}, {});
  } else {
    (void)os::WriteAll(report_.program.get(), {data, sizeof(event)});
  }
}

}  // namespace sandglass::sandbox
