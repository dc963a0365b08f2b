#include "gateway/nodes/node_link.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "sandglass/node/v1/node_service.grpc.pb.h"
#include "server/base/log.h"

namespace sandglass::gateway {
namespace {

using node::v1::WatchLoadRequest;
using node::v1::WatchLoadResponse;

// A connection carries 256 calls, see server/edge/grpc_server.cc.
constexpr int kConnections = 8;
constexpr int kKeepaliveMilliseconds = 10'000;
// Of the node's 64 MiB at most, with its framing.
constexpr int kMaxMessageBytes = 65 << 20;
constexpr absl::Duration kAskAgain = absl::Milliseconds(500);
// After an answer that could not be taken.
constexpr absl::Duration kAskWrongAgain = absl::Seconds(5);

std::shared_ptr<grpc::Channel> MakeChannel(
    const NodeAddress& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // Connections of their own, not one for all.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // What is passed on isn't done again by gRPC.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // The certificate's name where the address is found by that.
  if (!address.tls_name.empty()) {
    arguments.SetSslTargetNameOverride(address.tls_name);
  }
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", address.address),
                                   credentials, arguments);
}

std::chrono::system_clock::time_point In(absl::Duration pause) {
  return std::chrono::system_clock::now() + absl::ToChronoMilliseconds(pause);
}

}  // namespace

// One stream of questions. At any time either an answer is awaited or a timer
// runs. It holds itself until gRPC has called OnDone.
class NodeLink::Watch final
    : public grpc::ClientBidiReactor<WatchLoadRequest, WatchLoadResponse>,
      public std::enable_shared_from_this<Watch> {
 public:
  explicit Watch(std::shared_ptr<NodeLink> link) : link_(std::move(link)) {}

  void Start() {
    self_ = shared_from_this();
    node::v1::NodeService::NewStub(link_->channels_.front())
        ->async()
        ->WatchLoad(&context_, this);
    AddHold();  // questions are asked from timers
    Ask();
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void Ask() ABSL_LOCKS_EXCLUDED(mutex_) {
    asked_ = server::Now();
    {
      absl::MutexLock lock(&mutex_);
      patience_ = std::make_unique<grpc::Alarm>();
      // Without an answer the stream is called off.
      patience_->Set(In(kPatience), [self = shared_from_this()](bool ok) {
        if (ok) self->Cancel();
      });
    }
    StartWrite(&request_);
    StartRead(&answer_);
  }
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      patience_->Cancel();
    }
    if (!ok) return End();
    if (!link_->Tell(answer_, asked_)) {
      wrong_ = true;
      context_.TryCancel();
      return End();
    }
    answer_.Clear();
    absl::MutexLock lock(&mutex_);
    pause_ = std::make_unique<grpc::Alarm>();
    pause_->Set(In(kAskEvery),
                [self = shared_from_this()](bool) { self->Ask(); });
  }
  void End() { RemoveHold(); }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Watch> self = std::move(self_);
    link_->TellLost(status.error_message());
    link_->AskLater(wrong_ ? kAskWrongAgain : kAskAgain);
  }

  const std::shared_ptr<NodeLink> link_;
  grpc::ClientContext context_;
  WatchLoadRequest request_;
  WatchLoadResponse answer_;
  server::MonotonicTime asked_;
  bool wrong_ = false;
  std::shared_ptr<Watch> self_;
  absl::Mutex mutex_;
  std::unique_ptr<grpc::Alarm> patience_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Alarm> pause_ ABSL_GUARDED_BY(mutex_);
};

NodeLink::NodeLink(const NodeAddress& address,
                   const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                   Told told, Lost lost)
    : address_(address.address),
      told_(std::move(told)),
      lost_(std::move(lost)) {
  for (int i = 0; i < kConnections; ++i) {
    channels_.push_back(MakeChannel(address, credentials));
  }
}

void NodeLink::Start() { Ask(); }

void NodeLink::Stop() {
  std::shared_ptr<Watch> watch;
  std::shared_ptr<grpc::Alarm> alarm;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    watch = watch_;
    alarm = alarm_;
  }
  if (alarm != nullptr) alarm->Cancel();
  if (watch != nullptr) watch->Cancel();
}

std::shared_ptr<grpc::Channel> NodeLink::channel() {
  return channels_[next_.fetch_add(1, std::memory_order_relaxed) %
                   channels_.size()];
}

void NodeLink::Ask() {
  const auto watch = std::make_shared<Watch>(shared_from_this());
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    watch_ = watch;
  }
  watch->Start();
}

bool NodeLink::Tell(const WatchLoadResponse& answer,
                    server::MonotonicTime asked) {
  absl::MutexLock lock(&mutex_);
  return !stopped_ && told_(answer, asked);
}

void NodeLink::TellLost(const std::string& why) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) lost_(why);
}

void NodeLink::AskLater(absl::Duration pause) {
  absl::MutexLock lock(&mutex_);
  watch_.reset();
  if (stopped_) return;
  alarm_ = std::make_shared<grpc::Alarm>();
  alarm_->Set(In(pause), [self = shared_from_this()](bool ok) {
    if (ok) self->Ask();
  });
}

}  // namespace sandglass::gateway
