// What the daemon reads from a jail: events of its init and of its runner,
// through sockets and the report pipe, and the word of an interpreter that
// waits. The input plays all of them; whatever they say, the daemon keeps its
// memory, its descriptors and its time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sandbox/jail/jail.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/runner_protocol.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

// More than any jail has to say.
constexpr size_t kMaxSteps = 8 * size_t{kSetupStepCount};
// Of the byte that says which descriptors go with a packet.
constexpr uint8_t kCount = 0x7f;
constexpr uint8_t kOddKinds = 0x80;

int LowestFreeFd() {
  const os::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fd.get();
}

// Both ends of a pipe; the daemon's is like those that jails hand out.
struct Pipe {
  Pipe() {
    int ends[2];
    FUZZ_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    daemon.reset(ends[0]);
    jail.reset(ends[1]);
  }
  os::Fd daemon, jail;
};

class Fuzzed {
 public:
  explicit Fuzzed(fuzz::Input& input) : input_(input) {
    const uint8_t shape = input_.Byte();
    Jail::Parts parts;
    parts.id = 1;
    parts.control = Socket(control_);
    if ((shape & 1) != 0) parts.runner = Socket(runner_);
    jail_.emplace(std::move(parts));
    if ((shape & 1) == 0 && (shape & 2) != 0) {
      prestarted_ = jail_->Prestart({.argv = {"/usr/bin/node"}}).ok();
    }
  }

  void Run() {
    while (!input_.empty() && !over_) {
      Act(input_.Byte());
      HandleEvents();
      FUZZ_CHECK(jail_->steps().size() <= kMaxSteps);
    }
  }

 private:
  static os::Fd Socket(os::Fd& end) {
    absl::StatusOr<std::pair<os::Fd, os::Fd>> pair = os::SeqPacketPair();
    FUZZ_CHECK(pair.ok());
    end = std::move(pair->second);
    return std::move(pair->first);
  }

  void Act(uint8_t act) {
    switch (act % 8) {
      case 0:
        Send(control_);
        return;
      case 1:
        Send(runner_);
        return;
      case 2:
        (void)!::write(report_.jail.get(), text().data(), text_.size());
        return;
      case 3:
        (void)!::write(out_.jail.get(), text().data(), text_.size());
        return;
      case 4:
        if (!started_ && (jail_->is_ready() || !jail_->prestarted())) {
          started_ = true;
          (void)jail_->StartProgram({.argv = {"/usr/bin/true"}});
        }
        return;
      case 5:
        Repeat();
        return;
      case 6:
        (void)jail_->CollectFiles({"*"}, 4);
        files_due_ += 5;
        return;
      case 7:
        report_.jail.reset();
        return;
    }
  }

  const std::string& text() { return text_ = input_.LongText(); }

  void Send(const os::Fd& socket) {
    const uint8_t count = input_.Byte();
    if (!socket.valid() || text().empty()) return;
    SendWith(socket, count);
  }

  void SendWith(const os::Fd& socket, uint8_t count) {
    std::vector<int> fds((count & kCount) % (os::kMaxPacketFds + 1),
                         null_.get());
    // Of the kinds that are expected where they stand, or of none.
    if ((count & kOddKinds) == 0) {
      const int file = file_.get();
      const std::vector<int> expected =
          fds.size() == 1 ? std::vector<int>{file}
          : fds.size() == 4
              ? std::vector<int>{in_.jail.get(), out_.daemon.get(),
                                 error_.daemon.get(), report_.daemon.get()}
              : std::vector<int>{in_.jail.get(), out_.daemon.get(),
                                 error_.daemon.get(), file, file};
      std::copy_n(expected.begin(), std::min(expected.size(), fds.size()),
                  fds.begin());
    }
    (void)os::SendPacket(socket.get(), text_, fds, os::Wait::kNo);
  }

  // The same packet again and again: nothing that a jail says may make the
  // daemon read on for good, or remember ever more.
  void Repeat() {
    const os::Fd& socket = (input_.Byte() & 1) != 0 ? runner_ : control_;
    const uint8_t count = input_.Byte();
    if (!socket.valid() || text().empty()) return;
    for (int i = 0; i < 100 && !over_; ++i) {
      SendWith(socket, count);
      HandleEvents();
    }
  }

  void HandleEvents() {
    while (!over_) {
      absl::StatusOr<std::optional<JailEvent>> event = jail_->NextEvent();
      if (!event.ok()) {
        over_ = true;
        return;
      }
      if (!event->has_value()) return;
      ++events_;
      Check(**event);
    }
  }

  void Check(const JailEvent& event) {
    if (const auto* file = std::get_if<FileEvent>(&event)) {
      ++files_;
      FUZZ_CHECK(files_ <= files_due_);
      FUZZ_CHECK(file->problem >= FileProblem::kNone &&
                 file->problem <= FileProblem::kNotRegular);
      FUZZ_CHECK(file->file.valid() == (file->problem == FileProblem::kNone));
    } else if (const auto* done = std::get_if<DoneEvent>(&event)) {
      FUZZ_CHECK(jail_->has_runner());
      FUZZ_CHECK(!std::exchange(done_, true));
      FUZZ_CHECK(done->exit_code >= 0 && done->exit_code <= 255);
    } else if (std::holds_alternative<ReadyEvent>(event)) {
      FUZZ_CHECK(jail_->is_ready());
    } else if (std::holds_alternative<WaitsEvent>(event)) {
      FUZZ_CHECK(prestarted_);
    } else if (std::holds_alternative<GoneEvent>(event)) {
      over_ = true;
    }
    // Ends may be told again; the first one counts.
    if (std::holds_alternative<ExitedEvent>(event)) ++ends_;
    FUZZ_CHECK(events_ - files_ - ends_ <= 64);
  }

  fuzz::Input& input_;
  const os::Fd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  // As a file of a tmpfs is.
  const os::Fd file_{::memfd_create("file", MFD_CLOEXEC)};
  Pipe report_, in_, out_, error_;
  os::Fd control_, runner_;  // the jail's ends
  std::optional<Jail> jail_;
  std::string text_;
  bool prestarted_ = false;
  bool started_ = false;
  bool done_ = false;
  bool over_ = false;
  size_t events_ = 0;
  size_t files_ = 0;
  size_t ends_ = 0;
  size_t files_due_ = 0;
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
