#include "gateway/proxy/proxy_call.h"

#include <optional>
#include <utility>

#include "gateway/proxy/call_metadata.h"
#include "gateway/proxy/node_end.h"
#include "gateway/proxy/router.h"
#include "server/edge/grpc_status.h"

namespace sandglass::gateway {
// Ends when gRPC has called OnDone and the call has let go of it. What two
// holds keep from being over too soon is that messages are passed on from
// callbacks of the other side: one for what the client still sends, one for
// what it still gets.
class ProxyCall::Upstream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<Upstream> {
 public:
  Upstream(ProxyCall& call, std::unique_ptr<Visit> visit)
      : call_(call), visit_(std::move(visit)) {}

  void Start() {
    self_ = shared_from_this();
    PrepareContext(*call_.context_, call_.caller_, context_);
    // It goes together with the first message, which is there already.
    context_.set_initial_metadata_corked(true);
    grpc::GenericStub stub(visit_->channel());
    stub.PrepareBidiStreamingCall(&context_, call_.context_->method(), {},
                                  this);
    AddMultipleHolds(sends_all_ ? 1 : 2);
    if (sends_all_) {
      StartWriteLast(&call_.first_, grpc::WriteOptions());
    } else {
      (void)Send(&call_.first_);
    }
    StartCall();
  }

  // What the client sent next; it must stay until OnWriteDone. Returns false
  // when the node wants no more.
  bool Send(const grpc::ByteBuffer* message) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!may_send_) return false;
      writing_ = true;
    }
    StartWrite(message);
    return true;
  }
  // The client sends no more.
  void SendNoMore() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!may_send_) return;
      may_send_ = false;
    }
    StartWritesDone();
    RemoveHold();
  }
  // The client has got what was read last, and wants the next; or, if it is
  // gone, none.
  void ReadNext() { StartRead(&call_.response_); }
  void ReadNoMore() ABSL_LOCKS_EXCLUDED(mutex_) {
    context_.TryCancel();
    StopReading();
  }
  void Cancel() { context_.TryCancel(); }

  const grpc::ClientContext& context() const { return context_; }
  Visit& visit() const { return *visit_; }
  // The call there is over, and counts there no more.
  void Leave() { visit_.reset(); }
  // Whether anything was sent to the node. Ask when the call there has ended.
  bool reached() const { return reached_; }

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) CopyInitialMetadata(context_, *call_.context_);
    // ORDER: no message is passed on before that.
    StartRead(&call_.response_);
  }
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    if (ok) {
      call_.answered_ = true;
      call_.full_ = call_.held_.Acquire(
          call_.caller_.name, call_.response_.Length(),
          "the call is cut off here; take its messages faster");
      // An only answer goes together with the status that follows.
      const bool more = call_.route_.method->server_streaming();
      if (call_.full_.ok() && more) return call_.StartWrite(&call_.response_);
      if (!call_.full_.ok()) context_.TryCancel();
    }
    StopSending();
    StopReading();
  }
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    reached_ = reached_ || ok;
    if (sends_all_) return;
    bool over = false;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      over = stop_when_written_ || !ok;
      if (over) may_send_ = false;
    }
    if (over) return RemoveHold();
    call_.StartRead(&call_.request_);
  }
  void OnDone(const grpc::Status& status) override {
    // Nothing of this object is touched once the call has let go of it.
    const std::shared_ptr<Upstream> self = std::move(self_);
    call_.EndAt(status);
  }

  void StopSending() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!may_send_) return;
      if (writing_) {
        stop_when_written_ = true;
        return;
      }
      may_send_ = false;
    }
    RemoveHold();
  }
  void StopReading() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!reads_) return;
      reads_ = false;
    }
    RemoveHold();
  }

  ProxyCall& call_;
  std::unique_ptr<Visit> visit_;
  // Whether the first message is all that the client sends.
  const bool sends_all_ = !call_.route_.method->client_streaming();
  grpc::ClientContext context_;
  std::shared_ptr<Upstream> self_;
  bool reached_ = false;
  absl::Mutex mutex_;
  bool may_send_ ABSL_GUARDED_BY(mutex_) = !sends_all_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_when_written_ ABSL_GUARDED_BY(mutex_) = false;
  bool reads_ ABSL_GUARDED_BY(mutex_) = true;
};

ProxyCall::ProxyCall(Router& router, CallRecorder& recorder,
                     server::AnswerRoom& answers, const MethodRoute& route,
                     server::Identity caller,
                     grpc::GenericCallbackServerContext* context)
    : router_(router),
      route_(route),
      caller_(std::move(caller)),
      context_(context),
      record_(recorder, route_, caller_, *context),
      held_(answers) {
  StartRead(&first_);
}

void ProxyCall::OnReadDone(bool ok) {
  if (!began_) {
    began_ = true;
    if (!ok) return Refuse(grpc::Status::CANCELLED);
    return Begin();
  }
  std::shared_ptr<Upstream> upstream;
  {
    absl::MutexLock lock(&mutex_);
    upstream = upstream_;
  }
  if (upstream == nullptr) return;  // the node has ended the call
  if (ok) {
    (void)upstream->Send(&request_);
  } else {
    upstream->SendNoMore();
  }
}

void ProxyCall::OnWriteDone(bool ok) {
  std::shared_ptr<Upstream> upstream;
  {
    absl::MutexLock lock(&mutex_);
    upstream = upstream_;
  }
  if (upstream == nullptr) return;
  if (ok) {
    upstream->ReadNext();
  } else {
    upstream->ReadNoMore();
  }
}

void ProxyCall::OnCancel() {
  std::shared_ptr<Upstream> upstream;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    upstream = upstream_;
  }
  if (upstream != nullptr) upstream->Cancel();
}

void ProxyCall::OnDone() { delete this; }

void ProxyCall::Begin() {
  const RoutingFields fields =
      ReadRoutingFields(*route_.method->input_type(), first_);
  absl::StatusOr<std::unique_ptr<Visit>> visit =
      router_.Find(route_.route, fields, caller_, tried_);
  if (!visit.ok()) return Refuse(server::ToGrpcStatus(visit.status()));
  BeginAt(*std::move(visit));
}

void ProxyCall::Refuse(const grpc::Status& status) {
  record_.End(status);
  Finish(status);
}

void ProxyCall::BeginAt(std::unique_ptr<Visit> visit) {
  ++tries_;
  tried_.push_back(visit->node());
  const auto upstream = std::make_shared<Upstream>(*this, std::move(visit));
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    upstream_ = upstream;
    cancelled = cancelled_;
  }
  upstream->Start();
  if (cancelled) upstream->Cancel();
}

void ProxyCall::EndAt(const grpc::Status& status) {
  std::shared_ptr<Upstream> upstream;
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    upstream = std::move(upstream_);
    cancelled = cancelled_;
  }
  const NodeEnd end = Judge(status, answered_, upstream->reached());
  if (end.not_begun && !cancelled && tries_ < kMaxTries &&
      !route_.method->client_streaming()) {
    absl::StatusOr<std::unique_ptr<Visit>> other = router_.Find(
        route_.route, ReadRoutingFields(*route_.method->input_type(), first_),
        caller_, tried_);
    if (other.ok()) return BeginAt(*std::move(other));
  }
  grpc::Status told = status;
  if (!full_.ok()) {
    told = server::ToGrpcStatus(full_);
  } else if (end.lost && !cancelled) {
    told = LostStatus(end, upstream->visit().node(), *route_.method);
  } else {
    CopyTrailers(upstream->context(), *context_);
  }
  if (status.ok() && Stays(route_.route)) upstream->visit().Keep();
  record_.End(told, upstream->visit().node(), tries_);
  // ORDER: once the call is finished, nothing keeps the router from ending.
  upstream->Leave();
  if (told.ok() && answered_ && !route_.method->server_streaming()) {
    return StartWriteAndFinish(&response_, grpc::WriteOptions(), told);
  }
  Finish(told);
}

}  // namespace sandglass::gateway
