#include "client/session/session_forward_command.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "client/connection/daemon.h"
#include "client/connection/error_text.h"
#include "client/connection/preparing_wait.h"
#include "client/session/session_calls.h"
#include "client/terminal/signal_listener.h"

namespace sandglass::client {
namespace {

using Stream =
    grpc::ClientReaderWriter<v1::ForwardRequest, v1::ForwardResponse>;

constexpr size_t kPieceBytes = 64 << 10;
constexpr int kWaiting = 64;
// Each has two threads.
constexpr size_t kMostConnections = 128;

absl::StatusOr<UniqueFd> Listen(uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd.valid() ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address),
             sizeof(address)) != 0 ||
      ::listen(fd.get(), kWaiting) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot listen on 127.0.0.1:", port,
                            "; name another port as PORT:LOCAL, or 0"));
  }
  return fd;
}

int PortOf(const UniqueFd& fd) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// Connections that go on, each on a thread of its own.
class Connections {
 public:
  Connections(const Daemon& daemon, const SessionForwardOptions& options,
              int wake)
      : daemon_(daemon), options_(options), wake_(wake) {}
  // Ends all of them.
  ~Connections() {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
      for (const auto& [context, local] : open_) {
        context->TryCancel();
        // Wakes who waits for the local program.
        ::shutdown(local, SHUT_RDWR);
      }
    }
    for (Thread& each : threads_) each.thread.join();
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void Add(UniqueFd fd) {
    Reap();
    if (threads_.size() >= kMostConnections) {
      SayOnStderr(absl::StrCat("there are ", kMostConnections,
                               " connections already; this one is ended"));
      return;
    }
    Thread& added = threads_.emplace_back();
    added.thread = std::thread([this, &added, local = std::move(fd)] {
      Serve(local);
      added.over = true;
    });
  }

  // Why there can be no more: the session is over. OK: there can.
  grpc::Status end() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return end_;
  }

 private:
  struct Thread {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  void Reap() {
    threads_.remove_if([](Thread& each) {
      if (!each.over) return false;
      each.thread.join();
      return true;
    });
  }

  void Serve(const UniqueFd& local) ABSL_LOCKS_EXCLUDED(mutex_) {
    grpc::ClientContext context;
    {
      absl::MutexLock lock(&mutex_);
      if (ending_) return;
      open_.emplace(&context, local.get());
    }
    const auto stream = daemon_.ports->Forward(&context);
    v1::ForwardRequest start;
    start.mutable_start()->set_session_id(options_.session_id);
    start.mutable_start()->set_port(options_.port);
    v1::ForwardResponse connected;
    const bool begun = stream->Write(start) && stream->Read(&connected);
    if (begun) {
      std::thread sending([&] { SendAll(local, *stream); });
      ReceiveAll(*stream, local);
      ::shutdown(local.get(), SHUT_RDWR);
      // What is still to be sent has nobody to take it.
      context.TryCancel();
      sending.join();
    }
    const grpc::Status status = stream->Finish();
    {
      absl::MutexLock lock(&mutex_);
      open_.erase(&context);
    }
    if (!begun || !received_all_of(status)) Tell(status);
  }

  // A call that was cancelled here has ended as it should.
  static bool received_all_of(const grpc::Status& status) {
    return status.ok() || status.error_code() == grpc::StatusCode::CANCELLED;
  }

  void Tell(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (status.error_code() == grpc::StatusCode::CANCELLED) return;
    const std::string reason = ErrorReason(status);
    const bool over = reason != "PORT_CLOSED" && reason != "CONNECTION_RESET" &&
                      reason != "TOO_MANY_CALLS";
    if (!over) {
      SayOnStderr(VisibleText(status.error_message()));
      return;
    }
    absl::MutexLock lock(&mutex_);
    if (end_.ok()) end_ = status;
    const uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof(one));
  }

  static void SendAll(const UniqueFd& local, Stream& stream) {
    std::array<char, kPieceBytes> piece;
    v1::ForwardRequest request;
    while (true) {
      const ssize_t got = ::read(local.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      request.set_data(piece.data(), static_cast<size_t>(got));
      if (!stream.Write(request)) return;
    }
    stream.WritesDone();
  }

  static void ReceiveAll(Stream& stream, const UniqueFd& local) {
    v1::ForwardResponse response;
    while (stream.Read(&response)) {
      if (!response.data().empty() &&
          WriteAll(local.get(), response.data()) != 0) {
        return;
      }
      if (response.finish()) ::shutdown(local.get(), SHUT_WR);
    }
  }

  const Daemon& daemon_;
  const SessionForwardOptions& options_;
  const int wake_;
  std::list<Thread> threads_;
  mutable absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // Calls with the local connections that they are for.
  std::map<grpc::ClientContext*, int> open_ ABSL_GUARDED_BY(mutex_);
  grpc::Status end_ ABSL_GUARDED_BY(mutex_);
};

// Takes connections until `wake` is readable.
void AcceptAll(const UniqueFd& listener, const UniqueFd& wake,
               Connections& connections) {
  while (true) {
    std::array<pollfd, 2> waits = {
        {{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) continue;
    const int on = 1;
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections.Add(std::move(fd));
  }
}

}  // namespace

int SessionForwardCommand(const Endpoint& endpoint,
                          const SessionForwardOptions& options) {
  const absl::Status checked = CheckId(options.session_id);
  if (!checked.ok()) return Fail(checked);
  const UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // ORDER: before the channel, whose threads inherit the signal mask.
  constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  absl::StatusOr<std::unique_ptr<SignalListener>> signals =
      SignalListener::Start(kSignals, [&wake](int) {
        const uint64_t one = 1;
        (void)!::write(wake.get(), &one, sizeof(one));
      });
  if (!signals.ok()) return Fail(signals.status());
  ::signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  // A session that isn't there is told at once, and not with the first
  // connection.
  v1::GetSessionRequest request;
  request.set_session_id(options.session_id);
  const int found =
      Call(*daemon, *daemon->sessions, &v1::SessionService::Stub::GetSession,
           request, [](const v1::GetSessionResponse&) { return kExitOk; });
  if (found != kExitOk) return found;
  absl::StatusOr<UniqueFd> listener = Listen(options.local);
  if (!listener.ok()) return Fail(listener.status());
  const int said = PrintText(absl::StrCat(
      "127.0.0.1:", PortOf(*listener), " is port ", options.port, " of ",
      VisibleText(options.session_id), "; Ctrl-C ends it\n"));
  if (said != kExitOk) return said;
  grpc::Status end;
  {
    Connections connections(*daemon, options, wake.get());
    AcceptAll(*listener, wake, connections);
    end = connections.end();
  }
  return end.ok() ? kExitOk : FailCall(end, *daemon);
}

}  // namespace sandglass::client
