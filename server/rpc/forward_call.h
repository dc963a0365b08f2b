#ifndef SANDGLASS_SERVER_RPC_FORWARD_CALL_H_
#define SANDGLASS_SERVER_RPC_FORWARD_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "sandglass/v1/port.pb.h"
#include "server/base/call_threads.h"
#include "server/base/event_loop.h"
#include "server/base/shares.h"
#include "server/edge/answer_room.h"
#include "server/edge/unary_call.h"
#include "server/files/file_session.h"
#include "server/identity/identity.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// Connections to programs in sessions that are open, with a bound for all and a
// share for each caller. Thread-safe.
class OpenForwards {
 public:
  static constexpr uint64_t kMost = 1024;
  static constexpr uint64_t kMostOfSession = 128;

  // RESOURCE_EXHAUSTED, "TOO_MANY_CALLS".
  absl::Status Acquire(const std::string& caller, const std::string& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(const std::string& caller, const std::string& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  Shares shares_ ABSL_GUARDED_BY(mutex_){WithReserveWithin(kMost)};
  Shares sessions_ ABSL_GUARDED_BY(mutex_){
      {.max = kMost, .max_per_caller = kMostOfSession}};
};

// All of these outlive the calls.
struct ForwardParts {
  SessionTable& sessions;
  CallThreads& threads;
  EventLoop& loop;
  AnswerRoom& answers;
  OpenForwards& open;
};

// One Forward. The connection is made on a thread; from then on everything
// happens on the loop, to which what gRPC reports is passed on. The next
// message is taken when the program's socket has taken the last one, and the
// next piece is read of the program when the client has taken the last one.
// OnDone deletes the call on the loop.
class ForwardCall final : public BidiReactor {
 public:
  ForwardCall(const ForwardParts& parts, const Identity& caller)
      : parts_(parts), caller_(caller), held_(parts.answers) {}
  ~ForwardCall() override;

  void Start() { StartRead(&incoming_); }

 private:
  // On gRPC's threads.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override;
  absl::Status HandleFirst(bool ok);

  // On a thread of its own: the session, its jail, and the connection there.
  void Open();
  absl::Status Connect();

  // On the loop.
  void Begin();
  void HandleMessage(bool ok);
  absl::Status TakeMessage();
  // Gives the program what there is for it, as far as it takes that.
  void SendSome();
  void ReceiveSome(bool broken);
  void HandleWritten(bool ok);
  void Write(const v1::ForwardResponse& response);
  void Watch();
  void EndIfDone();
  void End(const absl::Status& status);
  // Ends the connection without waiting for anything.
  void Close();

  const ForwardParts parts_;
  const Identity caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  v1::ForwardStart start_;
  Bytes incoming_;  // belongs to gRPC while it is read
  Bytes outgoing_;  // … while it is written
  HeldAnswer held_;
  bool begun_ = false;    // the first message has come
  bool counted_ = false;  // in parts_.open
  std::unique_ptr<FileSession> session_;
  os::Fd socket_;

  // Of the loop.
  std::string unsent_;         // for the program
  size_t sent_ = 0;            // of unsent_
  bool last_came_ = false;     // of the client's messages
  bool client_done_ = false;   // the program has been told so
  bool program_done_ = false;  // the client has been told so, or soon is
  bool writing_ = false;
  bool over_ = false;
  uint32_t events_ = 0;  // that are watched
  uint64_t watch_ = 0;
  uint64_t stop_watch_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_FORWARD_CALL_H_
