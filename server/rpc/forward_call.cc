#include "server/rpc/forward_call.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/jail/untrusted_fds.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/edge/message_codec.h"

namespace sandglass::server {
namespace {

constexpr uint32_t kMaxPort = 65535;
constexpr size_t kMaxDataBytes = 1 << 20;
constexpr size_t kPieceBytes = 64 << 10;
constexpr absl::Duration kTryAgainAfter = absl::Seconds(1);

absl::Status Wrong(const char* field, const std::string& why) {
  return InvalidRequest({{field, why}});
}

absl::Status NothingToWatchWith() {
  return TooManyCalls("the daemon has no descriptors left", kTryAgainAfter);
}

}  // namespace

absl::Status OpenForwards::Acquire(const std::string& caller,
                                   const std::string& session) {
  absl::MutexLock lock(&mutex_);
  if (shares_.RoomFor(caller) != Shares::Room::kYes ||
      sessions_.RoomFor(session) != Shares::Room::kYes) {
    return TooManyCalls(
        absl::StrCat(shares_.held(), " connections to programs are open, ",
                     shares_.held_by(caller), " of them of this caller and ",
                     sessions_.held_by(session), " to this session"),
        kTryAgainAfter);
  }
  shares_.Acquire(caller);
  sessions_.Acquire(session);
  return absl::OkStatus();
}

void OpenForwards::Release(const std::string& caller,
                           const std::string& session) {
  absl::MutexLock lock(&mutex_);
  shares_.Release(caller);
  sessions_.Release(session);
}

ForwardCall::~ForwardCall() {
  if (counted_) parts_.open.Release(caller_.name, start_.session_id());
}

void ForwardCall::OnDone() {
  // After everything that was posted before.
  parts_.loop.Post([this] { delete this; });
}

void ForwardCall::OnReadDone(bool ok) {
  if (begun_) return parts_.loop.Post([this, ok] { HandleMessage(ok); });
  begun_ = true;
  absl::Status first = HandleFirst(ok);
  if (first.ok()) {
    first = parts_.threads.Add({caller_.name, start_.session_id()},
                               start_.ByteSizeLong(), [this] { Open(); });
  }
  if (!first.ok()) Finish(ToGrpcStatus(first));
}

absl::Status ForwardCall::HandleFirst(bool ok) {
  v1::ForwardRequest message;
  if (ok) {
    if (absl::Status parsed = ParseMessage(incoming_, message); !parsed.ok()) {
      return parsed;
    }
    incoming_.Clear();
  }
  if (!message.has_start()) return Wrong("start", "must come first");
  start_ = std::move(*message.mutable_start());
  if (start_.port() == 0 || start_.port() > kMaxPort) {
    return Wrong("start.port", "must be 1 to 65535");
  }
  last_came_ = message.finish();
  return absl::OkStatus();
}

void ForwardCall::Open() {
  absl::Status connected = Connect();
  if (!connected.ok()) {
    session_.reset();
    return Finish(ToGrpcStatus(connected));
  }
  parts_.loop.Post([this] { Begin(); });
}

absl::Status ForwardCall::Connect() {
  absl::StatusOr<std::unique_ptr<FileSession>> session =
      FileSession::Open(parts_.sessions, caller_, start_.session_id(), stop_);
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  // Only now it is known that the session is one of the caller's.
  if (absl::Status room =
          parts_.open.Acquire(caller_.name, start_.session_id());
      !room.ok()) {
    return room;
  }
  counted_ = true;
  sandbox::FileAnswer<os::Fd> answer = session_->agent().Connect(
      static_cast<uint16_t>(start_.port()), session_->Limits());
  socket_ = std::move(answer.value);
  const std::string what = absl::StrCat("port ", start_.port());
  if (answer.result.error == ECONNREFUSED) {
    return PortClosed(start_.session_id(), start_.port());
  }
  session_->BecomeConnection();
  return session_->Check(answer.result, what);
}

void ForwardCall::Begin() {
  stop_watch_ =
      parts_.loop.Watch(stop_->cancel().fd(), EPOLLIN, [this](uint32_t) {
        End(session_->Check({sandbox::FileCode::kCancelled, 0}, "the port"));
      });
  if (stop_watch_ == 0) return End(NothingToWatchWith());
  v1::ForwardResponse response;
  response.mutable_connected();
  Write(response);
  if (over_) return;
  if (last_came_) {
    SendSome();
  } else {
    StartRead(&incoming_);
  }
}

void ForwardCall::HandleMessage(bool ok) {
  if (over_) return;
  if (!ok) {
    last_came_ = true;
  } else if (absl::Status taken = TakeMessage(); !taken.ok()) {
    return End(taken);
  }
  SendSome();
}

absl::Status ForwardCall::TakeMessage() {
  v1::ForwardRequest message;
  const absl::Status parsed = ParseMessage(incoming_, message);
  incoming_.Clear();
  if (!parsed.ok()) return parsed;
  if (message.has_start()) return Wrong("start", "came already");
  if (message.data().size() > kMaxDataBytes) {
    return Wrong("data", absl::StrCat("has ", message.data().size(),
                                      " bytes, and may have ", kMaxDataBytes));
  }
  unsent_ = std::move(*message.mutable_data());
  sent_ = 0;
  last_came_ = message.finish();
  return absl::OkStatus();
}

// The code of the jail may have the socket, too, and change its flags, so no
// call here relies on them.
void ForwardCall::SendSome() {
  while (sent_ < unsent_.size()) {
    const ssize_t sent =
        ::send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_,
               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return Watch();
    if (sent < 0) return End(ConnectionReset(ErrorText(errno)));
    sent_ += static_cast<size_t>(sent);
  }
  unsent_ = std::string();
  sent_ = 0;
  if (!last_came_) {
    StartRead(&incoming_);
  } else if (!std::exchange(client_done_, true)) {
    ::shutdown(socket_.get(), SHUT_WR);
  }
  Watch();
  EndIfDone();
}

void ForwardCall::ReceiveSome(bool broken) {
  std::array<char, kPieceBytes> piece;
  const ssize_t got = TEMP_FAILURE_RETRY(
      ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT));
  if (got < 0 && errno == EAGAIN && !broken) return Watch();
  if (got < 0) {
    return End(errno == ECONNREFUSED
                   ? PortClosed(start_.session_id(), start_.port())
                   : ConnectionReset(ErrorText(errno)));
  }
  v1::ForwardResponse response;
  if (got == 0) {
    program_done_ = true;
    response.set_finish(true);
  } else {
    response.set_data(piece.data(), static_cast<size_t>(got));
  }
  Write(response);
}

void ForwardCall::Write(const v1::ForwardResponse& response) {
  const absl::Status put =
      held_.Put(caller_.name, SerializeMessage(response), &outgoing_,
                "the connection is ended; read its messages faster");
  if (!put.ok()) return End(put);
  writing_ = true;
  StartWrite(&outgoing_);
  Watch();
}

void ForwardCall::OnWriteDone(bool ok) {
  parts_.loop.Post([this, ok] { HandleWritten(ok); });
}

void ForwardCall::HandleWritten(bool ok) {
  if (over_) return;
  outgoing_.Clear();
  held_.Release();
  writing_ = false;
  if (!ok) return End(CallerGone());
  Watch();
  EndIfDone();
}

void ForwardCall::Watch() {
  const bool sends = sent_ < unsent_.size();
  const bool receives = !writing_ && !program_done_;
  const uint32_t events =
      (sends ? uint32_t{EPOLLOUT} : 0) | (receives ? uint32_t{EPOLLIN} : 0);
  if (over_ || events == events_) return;
  if (watch_ != 0) parts_.loop.Forget(std::exchange(watch_, 0));
  events_ = events;
  if (events == 0) return;
  watch_ = parts_.loop.Watch(socket_.get(), events, [this](uint32_t ready) {
    if (over_) return;
    constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;
    if ((events_ & EPOLLOUT) != 0 && (ready & (EPOLLOUT | kBroken)) != 0) {
      SendSome();
    }
    if (!over_ && (events_ & EPOLLIN) != 0 &&
        (ready & (EPOLLIN | kBroken)) != 0) {
      // Errors that stay, which the code may have queued, would be told without
      // end.
      ReceiveSome((ready & EPOLLERR) != 0);
    }
  });
  if (watch_ == 0) End(NothingToWatchWith());
}

void ForwardCall::EndIfDone() {
  if (client_done_ && program_done_ && !writing_ && !over_) {
    End(absl::OkStatus());
  }
}

void ForwardCall::End(const absl::Status& status) {
  if (std::exchange(over_, true)) return;
  if (watch_ != 0) parts_.loop.Forget(watch_);
  if (stop_watch_ != 0) parts_.loop.Forget(stop_watch_);
  Close();
  session_.reset();
  Finish(ToGrpcStatus(status));
}

void ForwardCall::Close() {
  // The code may have the socket, too, and by SO_LINGER make close(2) wait:
  // that is another thread's business. One that hasn't ended is taken apart
  // first.
  if (!client_done_ || !program_done_) {
    const sockaddr none = {.sa_family = AF_UNSPEC, .sa_data = {}};
    (void)::connect(socket_.get(), &none, sizeof(none));
  }
  std::vector<os::Fd> fds;
  fds.push_back(std::move(socket_));
  sandbox::CloseAside(std::move(fds));
}

}  // namespace sandglass::server
