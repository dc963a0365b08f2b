#include "gateway/edge/inner_call.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/slice.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {
namespace {

HeaderFields ToFields(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  HeaderFields fields;
  for (const auto& [name, value] : metadata) {
    fields.push_back({std::string(name.data(), name.size()),
                      std::string(value.data(), value.size())});
  }
  return fields;
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(std::string_view message) {
  const grpc::Slice slice(message.data(), message.size());
  return {&slice, 1};
}

std::string ToString(const grpc::ByteBuffer& message) {
  std::string bytes;
  bytes.reserve(message.Length());
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::shared_ptr<InnerCall> InnerCall::Begin(
    const std::shared_ptr<grpc::Channel>& channel, const CallHead& head,
    int64_t connection) {
  std::shared_ptr<InnerCall> call(new InnerCall());
  call->self_ = call;
  grpc::ClientContext& context = call->context_;
  for (const HeaderField& field : head.metadata) {
    context.AddMetadata(field.name, field.value);
  }
  context.AddMetadata(server::kConnectionMetadata, absl::StrCat(connection));
  if (head.timeout.has_value()) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + *head.timeout));
  }
  grpc::GenericStub(channel).PrepareBidiStreamingCall(
      &context, head.method->path, {}, call.get());
  // ORDER: what begins operations from outside keeps the call from being over
  // before.
  call->AddHold();
  call->StartRead(&call->read_);
  call->StartCall();
  return call;
}

void InnerCall::Send(std::string_view message, bool last, Done done) {
  sent_ = ToByteBuffer(message);
  sent_done_ = std::move(done);
  if (last) {
    StartWriteLast(&sent_, grpc::WriteOptions());
  } else {
    StartWrite(&sent_);
  }
}

void InnerCall::Receive(grpc::ByteBuffer* message, Done done) {
  bool read = false;
  {
    absl::MutexLock lock(&mutex_);
    wanted_ = message;
    received_done_ = std::move(done);
    read = !std::exchange(reads_, true);
  }
  if (read) return StartRead(&read_);
  Deliver();
}

void InnerCall::Deliver() {
  Done done;
  bool ok = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!has_initial_ || !has_read_.has_value() || wanted_ == nullptr) return;
    ok = *std::exchange(has_read_, std::nullopt);
    *std::exchange(wanted_, nullptr) = std::move(read_);
    read_.Clear();
    // After the last one, each further Receive hears the same.
    if (ok) {
      reads_ = false;
    } else {
      has_read_ = false;
    }
    done = std::exchange(received_done_, nullptr);
  }
  done(ok);
}

void InnerCall::OnReadInitialMetadataDone(bool ok) {
  if (ok) initial_ = ToFields(context_.GetServerInitialMetadata());
  {
    absl::MutexLock lock(&mutex_);
    has_initial_ = true;
  }
  Deliver();
}

void InnerCall::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    has_read_ = ok;
  }
  Deliver();
}

void InnerCall::End(Ended ended) {
  ended_ = std::move(ended);
  RemoveHold();
}

void InnerCall::OnWriteDone(bool ok) {
  sent_.Clear();
  if (sent_done_ != nullptr) std::exchange(sent_done_, nullptr)(ok);
}

void InnerCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<InnerCall> self = std::move(self_);
  std::exchange(ended_, nullptr)(
      {.status = {.code = static_cast<int>(status.error_code()),
                  .message = status.error_message(),
                  .details = status.error_details()},
       .initial = std::move(initial_),
       .trailing = ToFields(context_.GetServerTrailingMetadata())});
}

}  // namespace sandglass::gateway
