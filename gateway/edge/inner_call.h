#ifndef SANDGLASS_GATEWAY_EDGE_INNER_CALL_H_
#define SANDGLASS_GATEWAY_EDGE_INNER_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "gateway/connect/call_head.h"
#include "gateway/connect/codes.h"
#include "gateway/connect/metadata.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"

namespace sandglass::gateway {

grpc::ByteBuffer ToByteBuffer(std::string_view message);
std::string ToString(const grpc::ByteBuffer& message);

// How a call ended, with what the other side sent beside its messages.
struct CallEnd {
  CallStatus status;
  HeaderFields initial;
  HeaderFields trailing;
};

// One call of gRPC to this gateway itself, for a request that came by HTTP. So
// it goes the way of all other calls, with their rules and bounds. Each of Send
// and Receive may be under way once at a time; what they are given is called on
// gRPC's threads.
class InnerCall final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<InnerCall> {
 public:
  // Called once, with whether it worked.
  using Done = absl::AnyInvocable<void(bool)>;
  using Ended = absl::AnyInvocable<void(CallEnd)>;

  // `connection` is its number in the server's PeerTable.
  static std::shared_ptr<InnerCall> Begin(
      const std::shared_ptr<grpc::Channel>& channel, const CallHead& head,
      int64_t connection);

  // With `last` the message is the last one. False: the other side wants no
  // more; End says why.
  void Send(std::string_view message, bool last, Done done);
  void SendNoMore() { StartWritesDone(); }
  // Puts the next message there. False: there are none. Afterwards initial() is
  // what it is.
  void Receive(grpc::ByteBuffer* message, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  const HeaderFields& initial() const { return initial_; }
  // To be called once, when no Send and no Receive is under way: waits for the
  // call's end, after which this object is gone.
  void End(Ended ended);

  // At any time; the call ends soon. Thread-safe.
  void Cancel() { context_.TryCancel(); }

 private:
  InnerCall() = default;
  void OnReadInitialMetadataDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(const grpc::Status& status) override;
  // Does what Receive was for, when all that it needs is there.
  void Deliver() ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ClientContext context_;
  // Until gRPC has let go of it.
  std::shared_ptr<InnerCall> self_;
  grpc::ByteBuffer sent_;
  Done sent_done_;
  Ended ended_;

  absl::Mutex mutex_;
  HeaderFields initial_;
  bool has_initial_ ABSL_GUARDED_BY(mutex_) = false;
  // What was read, and whether that was a message, until it is delivered. The
  // first message is read without being asked for: gRPC's channel within a
  // process (1.51) drops a message that comes together with the call's status
  // unless somebody waits for it. Only methods with one answer send it so.
  grpc::ByteBuffer read_;
  std::optional<bool> has_read_ ABSL_GUARDED_BY(mutex_);
  bool reads_ ABSL_GUARDED_BY(mutex_) = true;
  grpc::ByteBuffer* wanted_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Done received_done_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_INNER_CALL_H_
