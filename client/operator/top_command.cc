#include "client/operator/top_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/json_text.h"
#include "client/connection/daemon.h"
#include "client/operator/full_screen.h"
#include "client/operator/top_poller.h"
#include "client/operator/top_screen.h"
#include "client/terminal/signal_listener.h"

namespace sandglass::client {
namespace {

constexpr char kCtrlC = 0x03;
constexpr char kCtrlD = 0x04;

// How long the loop has to leave the screen after a signal. It may be stuck in
// a write that nobody reads.
constexpr absl::Duration kLeavePatience = absl::Seconds(1);

// Receives signals for the loop below.
class Signals {
 public:
  Signals() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  absl::Status Start() {
    static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP,
                                                    SIGQUIT, SIGWINCH};
    absl::StatusOr<std::unique_ptr<SignalListener>> listener =
        SignalListener::Start(kSignals, [this](int number) { On(number); });
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    return absl::OkStatus();
  }

  // Readable once a signal was received.
  int wake_fd() const { return wake_.get(); }
  void Clear() const {
    uint64_t count = 0;
    if (read(wake_.get(), &count, sizeof(count)) < 0) return;
  }
  // The first signal that is to end us; 0: there was none.
  int first() const { return first_.load(); }

  // Registers a screen that has to be left in any case, until Left is called.
  void Entered(FullScreen& screen) {
    const absl::MutexLock lock(&mutex_);
    screen_ = &screen;
  }
  void Left() {
    const absl::MutexLock lock(&mutex_);
    screen_ = nullptr;
    left_ = true;
  }

 private:
  void Wake() const {
    const uint64_t one = 1;
    // A full eventfd is readable too.
    if (write(wake_.get(), &one, sizeof(one)) < 0) return;
  }

  void On(int number) {
    if (number != SIGWINCH) first_.store(number);
    Wake();
    if (number == SIGWINCH) return;
    const absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&left_), kLeavePatience)) {
      return;
    }
    if (screen_ != nullptr) screen_->Restore();
    _exit(kExitSignalBase + number);
  }

  const UniqueFd wake_;
  std::atomic<int> first_{0};
  absl::Mutex mutex_;
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  FullScreen* screen_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Last, because its thread uses all other members.
  std::unique_ptr<SignalListener> listener_;
};

// What is shown on the screen.
class View {
 public:
  void Update(TopLook look) {
    if (look.snapshot == nullptr) {
      if (trouble_.empty()) since_ = absl::Now();
      trouble_ = std::move(look.trouble);
      return;
    }
    trouble_.clear();
    before_ = std::exchange(now_, std::move(look.snapshot));
  }

  bool has_snapshot() const { return now_ != nullptr; }
  const TopSnapshot& snapshot() const { return *now_; }
  const std::string& trouble() const { return trouble_; }

  std::vector<ScreenLine> Lines(ScreenSize size) const {
    std::string words;
    if (!trouble_.empty()) {
      words = absl::StrCat(
          "no answer since ",
          absl::FormatTime("%H:%M:%S", since_, absl::LocalTimeZone()),
          ", trying again: ", trouble_.substr(0, trouble_.find('\n')));
    }
    return TopLines(before_.get(), *now_, words, size);
  }

 private:
  std::shared_ptr<const TopSnapshot> before_;
  std::shared_ptr<const TopSnapshot> now_;
  std::string trouble_;
  absl::Time since_;
};

// Waits for the next result; nullopt when a signal came first.
std::optional<TopLook> NextLook(TopPoller& poller, const Signals& signals) {
  for (;;) {
    pollfd pollers[] = {{poller.wake_fd(), POLLIN, 0},
                        {signals.wake_fd(), POLLIN, 0}};
    if (poll(pollers, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    if (signals.first() != 0) return std::nullopt;
    signals.Clear();
    if (std::optional<TopLook> look = poller.Pop()) return look;
  }
}

// The exit code that the typed keys ask for; nullopt: go on.
std::optional<int> CodeOfKeys(int fd) {
  std::array<char, 64> keys = {};
  const ssize_t got = read(fd, keys.data(), keys.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (got <= 0) return kExitOk;
  for (ssize_t i = 0; i < got; ++i) {
    const char key = keys[static_cast<size_t>(i)];
    if (key == 'q' || key == 'Q' || key == kCtrlD) return kExitOk;
    if (key == kCtrlC) return kExitSignalBase + SIGINT;
  }
  return std::nullopt;
}

// Draws results until it is time to end.
int Watch(View& view, TopPoller& poller, const Signals& signals,
          const FullScreen& screen) {
  for (;;) {
    const int error = screen.Draw(view.Lines(screen.Size()));
    if (error != 0) return OutputFailure(error);
    pollfd pollers[] = {{STDIN_FILENO, POLLIN, 0},
                        {poller.wake_fd(), POLLIN, 0},
                        {signals.wake_fd(), POLLIN, 0}};
    if (poll(pollers, 3, -1) < 0 && errno != EINTR) return kExitError;
    if (signals.first() != 0) return kExitSignalBase + signals.first();
    signals.Clear();
    if (pollers[0].revents != 0) {
      if (const std::optional<int> code = CodeOfKeys(STDIN_FILENO)) {
        return *code;
      }
    }
    if (std::optional<TopLook> look = poller.Pop()) {
      view.Update(*std::move(look));
    }
  }
}

int PrintOnceAsJson(const TopSnapshot& snapshot) {
  std::string text;
  for (const auto& [name, message] : std::initializer_list<
           std::pair<const char*, const google::protobuf::Message&>>{
           {"status", snapshot.status},
           {"active", snapshot.active},
           {"ended", snapshot.ended},
           {"sessions", snapshot.sessions}}) {
    const absl::StatusOr<std::string> json = JsonText(message);
    if (!json.ok()) return Fail(json.status());
    absl::StrAppend(&text, text.empty() ? "{" : ",", "\"", name,
                    "\":", absl::StripSuffix(*json, "\n"));
  }
  return PrintText(absl::StrCat(text, "}\n"));
}

int PrintOnce(const View& view) {
  const ScreenSize size = {0, SizeOf(STDOUT_FILENO).columns()};
  std::string text;
  for (const ScreenLine& line : view.Lines(size)) {
    absl::StrAppend(&text, line.text, "\n");
  }
  return PrintText(text);
}

}  // namespace

int TopCommand(const Endpoint& endpoint, const TopOptions& options) {
  const bool live = !options.once && !options.json &&
                    isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  // ORDER: before the poller, whose threads inherit the signal mask.
  Signals signals;
  if (const absl::Status started = signals.Start(); !started.ok()) {
    return Fail(started);
  }
  TopPoller poller(endpoint, options.interval);
  View view;
  // Rates need two results.
  for (int i = live || options.json ? 1 : 2; i > 0; --i) {
    std::optional<TopLook> look = NextLook(poller, signals);
    if (!look) {
      signals.Left();
      return kExitSignalBase + signals.first();
    }
    view.Update(*std::move(look));
    if (!view.trouble().empty()) {
      return Fail(absl::UnavailableError(view.trouble()));
    }
  }
  if (options.json) return PrintOnceAsJson(view.snapshot());
  if (!live) return PrintOnce(view);
  absl::StatusOr<std::unique_ptr<FullScreen>> screen =
      FullScreen::Enter(STDIN_FILENO, STDOUT_FILENO);
  if (!screen.ok()) return Fail(screen.status());
  signals.Entered(**screen);
  const int code = Watch(view, poller, signals, **screen);
  (*screen)->Restore();
  signals.Left();
  return code;
}

}  // namespace sandglass::client
