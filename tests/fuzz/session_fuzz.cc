// What the daemon reads from the init of a session's jail, while it asks for
// processes and files. The input plays init and says what is asked for;
// whatever comes, each process is told of as one process can be, and no
// descriptor is left open.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/os/seqpacket.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

int LowestFreeFd() {
  const os::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fd.get();
}

// Of a control group that is gone again; empty where none can be made.
os::Fd GroupFile(const char* name, int access) {
  for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    const std::string group =
        absl::StrCat(mount, "/sandglass-fuzz-", ::getpid());
    if (::mkdir(group.c_str(), 0755) != 0) continue;
    os::Fd file(
        ::open(absl::StrCat(group, "/", name).c_str(), access | O_CLOEXEC));
    ::rmdir(group.c_str());
    if (file.valid()) return file;
  }
  return os::Fd();
}

class Fuzzed {
 public:
  explicit Fuzzed(fuzz::Input& input) : input_(input) {
    absl::StatusOr<std::pair<os::Fd, os::Fd>> pair = os::SeqPacketPair();
    FUZZ_CHECK(pair.ok());
    init_ = std::move(pair->second);
    Jail::Parts parts;
    parts.control = std::move(pair->first);
    session_ =
        std::make_unique<SessionJail>(std::make_unique<Jail>(std::move(parts)));
    int ends[2];
    FUZZ_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }

  void Run() {
    while (!input_.empty() && !over_) {
      Act(input_.Byte());
      // What was asked; init reads all of it.
      while (os::ReceivePacket(init_.get(), os::Wait::kNo).ok()) {
      }
      HandleEvents();
    }
  }

 private:
  enum class Stage { kAsked, kRunning };

  void Act(uint8_t act) {
    switch (act % 5) {
      case 0:
        Spawn();
        return;
      case 1:
        if (session_->OpenFiles().ok()) ++files_due_;
        return;
      case 2: {
        const auto pid = static_cast<pid_t>(input_.Number());
        const int signal = input_.Byte();
        (void)session_->SendSignal(pid, signal, (act & 0x80) != 0);
        return;
      }
      default:
        Say();
        return;
    }
  }

  void Spawn() {
    const uint64_t id = input_.Byte();
    const uint8_t shape = input_.Byte();
    ProcessSpec spec = {.argv = {input_.Text()}, .directory = input_.Text()};
    spec.stdio = static_cast<ProcessSpec::Stdio>(shape % 3);
    spec.with_stdin = (shape & 4) != 0;
    spec.with_channel = (shape & 8) != 0;
    const bool is_new = !processes_.contains(id);
    if (!session_->Spawn(id, spec).ok()) return;
    FUZZ_CHECK(is_new);
    processes_[id] = Stage::kAsked;
  }

  void Say() {
    std::vector<int> fds;
    for (int count = input_.Byte() % 9; count > 0; --count) {
      const int kinds[] = {read_.get(),   write_.get(), kill_.get(),
                           events_.get(), init_.get(),  null_.get()};
      const int fd = kinds[input_.Byte() % std::size(kinds)];
      fds.push_back(fd < 0 ? null_.get() : fd);
    }
    const std::string text = input_.LongText();
    if (text.empty()) return;
    (void)os::SendPacket(init_.get(), text, fds, os::Wait::kNo);
  }

  void HandleEvents() {
    while (!over_) {
      absl::StatusOr<std::optional<SessionEvent>> event = session_->NextEvent();
      over_ = !event.ok() || (event->has_value() &&
                              std::holds_alternative<GoneEvent>(**event));
      if (over_ || !event->has_value()) return;
      Check(**event);
    }
  }

  void Check(const SessionEvent& event) {
    if (const auto* spawned = std::get_if<SpawnedEvent>(&event)) {
      FUZZ_CHECK(processes_.at(spawned->id) == Stage::kAsked);
      FUZZ_CHECK(spawned->pid > 1);
      FUZZ_CHECK(spawned->fds.kill.valid() && spawned->fds.events.valid());
      processes_[spawned->id] = Stage::kRunning;
    } else if (const auto* failed = std::get_if<SpawnFailedEvent>(&event)) {
      FUZZ_CHECK(processes_.at(failed->id) == Stage::kAsked);
      FUZZ_CHECK(SetupStepName(static_cast<int>(failed->step)) !=
                 "unknown_step");
      processes_.erase(failed->id);
    } else if (const auto* exited = std::get_if<ProcessExitedEvent>(&event)) {
      FUZZ_CHECK(processes_.at(exited->id) == Stage::kRunning);
      processes_.erase(exited->id);
    } else if (const auto* files = std::get_if<FileChannelEvent>(&event)) {
      FUZZ_CHECK(--files_due_ >= 0);
      FUZZ_CHECK(files->socket.valid() == (files->error == 0));
    } else if (std::holds_alternative<ExitedEvent>(event)) {
      FUZZ_CHECK(!std::exchange(ended_, true));
    }
  }

  fuzz::Input& input_;
  const os::Fd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  const os::Fd kill_ = GroupFile("cgroup.kill", O_WRONLY);
  const os::Fd events_ = GroupFile("cgroup.events", O_RDONLY);
  os::Fd init_, read_, write_;
  std::unique_ptr<SessionJail> session_;
  std::map<uint64_t, Stage> processes_;
  int files_due_ = 0;
  bool ended_ = false;
  bool over_ = false;
};

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int before = sandglass::sandbox::LowestFreeFd();
  {
    sandglass::fuzz::Input input(data, size);
    sandglass::sandbox::Fuzzed(input).Run();
  }
  // Nothing that came was left open, once what is closed aside is closed.
  for (int i = 0; sandglass::sandbox::LowestFreeFd() != before; ++i) {
    FUZZ_CHECK(i < 1000);
    ::usleep(1000);
  }
  return 0;
}
