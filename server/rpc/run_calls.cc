#include "server/rpc/run_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/limits_proto.h"
#include "server/base/proto_time.h"
#include "server/edge/grpc_status.h"
#include "server/edge/message_codec.h"
#include "server/run/run_response.h"

namespace sandglass::server {
namespace {

// Output that waits for a slow client is merged into pieces of up to this size,
// so that a program that writes byte by byte costs no more than one that writes
// blocks.
constexpr size_t kMaxChunkBytes = 64 * 1024;
// What an event costs besides its output: the message and its place in the
// queue.
constexpr uint64_t kEventBytes = 512;

// The stored answer is shared, so a repeat gets a copy that says so.
absl::StatusOr<Bytes> SerializeAnswer(const RunEnd& end) {
  if (!end.joined) return SerializeMessage(*end.response);
  v1::RunCodeResponse copy = *end.response;
  copy.set_replayed(true);
  return SerializeMessage(copy);
}

// Says what became of a run for whose answer there is no room.
std::string WhereItsAnswerIs(const RunEnd& end) {
  const std::string run =
      absl::StrCat("the run ", end.response->run_id(), " has ended, and ");
  return end.kept
             ? absl::StrCat(run, "a repeat with its request_id gets its answer")
             : absl::StrCat(run,
                            "its answer is not kept, as it is for a while "
                            "with a request_id");
}

}  // namespace

void UnaryRunCall::Start(const Identity& caller, v1::RunCodeRequest&& request,
                         std::optional<MonotonicTime> deadline) {
  caller_ = caller.name;
  run_ = dispatcher_.Submit(caller, std::move(request), deadline, "", this);
}

void UnaryRunCall::OnEnd(const RunEnd& end) {
  if (!end.status.ok()) return Finish(ToGrpcStatus(end.status));
  Finish(ToGrpcStatus(held_.Put(caller_, SerializeAnswer(end), response_,
                                WhereItsAnswerIs(end))));
}

void UnaryRunCall::OnCancel() {
  if (run_ != nullptr && dispatcher_.Leave(run_, this)) {
    Finish(ToGrpcStatus(CallerGone()));
  }
}

std::shared_ptr<StreamBudget::Share> StreamBudget::ShareOf(
    const Identity& caller) {
  absl::MutexLock lock(&mutex_);
  if (auto known = shares_[caller.name].lock()) return known;
  std::erase_if(shares_, [](const auto& of) { return of.second.expired(); });
  auto share = std::make_shared<Share>(*this);
  shares_[caller.name] = share;
  return share;
}

StreamRunCall::~StreamRunCall() {
  budget_->Release(current_charged_);
  for (const Event& event : queue_) budget_->Release(event.charged);
}

void StreamRunCall::Start(const Identity& caller, v1::RunCodeRequest&& request,
                          std::optional<MonotonicTime> deadline) {
  caller_ = caller.name;
  run_ = dispatcher_.Submit(caller, std::move(request), deadline, "run.", this);
}

void StreamRunCall::OnCompiled(const JobResult& compile) {
  v1::StreamRunCodeResponse event;
  *event.mutable_since_start() = ToProto(absl::ZeroDuration());
  *event.mutable_compiled() = MakePhaseResult(compile);
  FitPhase(*event.mutable_compiled());
  PushNews(std::move(event));
}

void StreamRunCall::OnLibraryProgress(std::string_view line) {
  v1::StreamRunCodeResponse event;
  *event.mutable_since_start() = ToProto(absl::ZeroDuration());
  event.mutable_library_progress()->set_line(std::string(line));
  PushNews(std::move(event));
}

void StreamRunCall::OnStarted(const Job& job) {
  v1::StreamRunCodeResponse event;
  *event.mutable_since_start() = ToProto(absl::ZeroDuration());
  event.mutable_started()->set_run_id(job.run_id);
  *event.mutable_started()->mutable_limits() = ToProto(job.limits);
  Push(std::move(event));
}

void StreamRunCall::OnOutput(Stream stream, std::string_view data,
                             uint64_t offset, absl::Duration since_start) {
  const auto kind = static_cast<v1::OutputStream>(stream);
  Change([&] {
    mutex_.AssertHeld();
    last_stamp_ = since_start;
    if (broken_ || Extend(kind, data, offset)) return false;
    const uint64_t charge = data.size() + kEventBytes;
    if (!budget_->Acquire(charge)) return false;
    Event& event = queue_.emplace_back();
    event.charged = charge;
    *event.message.mutable_since_start() = ToProto(since_start);
    v1::OutputChunk& chunk = *event.message.mutable_chunk();
    chunk.set_stream(kind);
    chunk.set_data(std::string(data));
    chunk.set_offset(offset);
    return true;
  });
}

void StreamRunCall::OnRich(const RichOutput& output,
                           absl::Duration since_start) {
  uint64_t charge = kEventBytes;
  for (const auto& [type, data] : output.data) {
    charge += kEventBytes + type.size() + data.size();
  }
  Change([&] {
    mutex_.AssertHeld();
    last_stamp_ = since_start;
    // The result contains it as well.
    if (broken_ || !budget_->Acquire(charge)) return false;
    Event& event = queue_.emplace_back();
    event.charged = charge;
    *event.message.mutable_since_start() = ToProto(since_start);
    *event.message.mutable_rich() = ToProto(output);
    return true;
  });
}

bool StreamRunCall::Extend(v1::OutputStream stream, std::string_view data,
                           uint64_t offset) {
  if (queue_.empty() || !queue_.back().message.has_chunk()) return false;
  v1::OutputChunk& last = *queue_.back().message.mutable_chunk();
  if (last.stream() != stream || last.offset() + last.data().size() != offset ||
      last.data().size() + data.size() > kMaxChunkBytes ||
      !budget_->Acquire(data.size())) {
    return false;
  }
  queue_.back().charged += data.size();
  last.mutable_data()->append(data);
  return true;
}

void StreamRunCall::PushOutput(v1::OutputStream stream,
                               const v1::Output& output) {
  const auto push = [&](uint64_t begin, uint64_t end, uint64_t offset) {
    if (begin == end) return;
    v1::StreamRunCodeResponse event;
    v1::OutputChunk& chunk = *event.mutable_chunk();
    chunk.set_stream(stream);
    chunk.set_data(output.data().substr(begin, end - begin));
    chunk.set_offset(offset);
    Push(std::move(event));
  };
  const uint64_t size = output.data().size();
  const uint64_t head = output.truncated() ? output.head_bytes() : size;
  push(0, head, 0);
  push(head, size, output.total_bytes() - (size - head));
}

void StreamRunCall::OnEnd(const RunEnd& end) {
  if (!end.status.ok()) return Close(end.status);
  const v1::RunCodeResponse& response = *end.response;
  // A client that joined gets the output twice.
  if (absl::Status room =
          held_.Acquire(caller_, response.ByteSizeLong() * (end.joined ? 2 : 1),
                        WhereItsAnswerIs(end));
      !room.ok()) {
    Drop();
    return Close(room);
  }
  if (end.joined && response.has_compile()) {
    v1::StreamRunCodeResponse compiled;
    *compiled.mutable_compiled() = response.compile();
    FitPhase(*compiled.mutable_compiled());
    Push(std::move(compiled));
  }
  if (end.joined && response.evidence().phase() != v1::PHASE_COMPILE) {
    v1::StreamRunCodeResponse started;
    started.mutable_started()->set_run_id(response.run_id());
    *started.mutable_started()->mutable_limits() = response.limits();
    Push(std::move(started));
    PushOutput(v1::OUTPUT_STREAM_STDOUT, response.stdout());
    PushOutput(v1::OUTPUT_STREAM_STDERR, response.stderr());
  }
  v1::StreamRunCodeResponse result;
  *result.mutable_since_start() = ToProto(EndStamp(response));
  *result.mutable_result() = response;
  result.mutable_result()->set_replayed(end.joined);
  Push(std::move(result));
  Close(absl::OkStatus());
}

absl::Duration StreamRunCall::EndStamp(const v1::RunCodeResponse& response) {
  const google::protobuf::Duration& wall = response.usage().wall_time();
  absl::MutexLock lock(&mutex_);
  return std::max(last_stamp_, absl::Seconds(wall.seconds()) +
                                   absl::Nanoseconds(wall.nanos()));
}

void StreamRunCall::Push(v1::StreamRunCodeResponse&& message, uint64_t charge) {
  Change([&] {
    mutex_.AssertHeld();
    if (broken_ || (charge > 0 && !budget_->Acquire(charge))) return false;
    queue_.push_back({std::move(message), charge});
    return true;
  });
}

void StreamRunCall::PushNews(v1::StreamRunCodeResponse&& message) {
  const uint64_t charge = message.ByteSizeLong() + kEventBytes;
  Push(std::move(message), charge);
}

void StreamRunCall::Drop() {
  absl::MutexLock lock(&mutex_);
  for (const Event& event : queue_) budget_->Release(event.charged);
  queue_.clear();
}

bool StreamRunCall::TakeNext(Bytes& answer) {
  if (queue_.empty()) return false;
  Event& next = queue_.front();
  next.message.set_sequence(next_sequence_++);
  absl::StatusOr<Bytes> bytes = SerializeMessage(next.message);
  current_charged_ = next.charged;
  queue_.pop_front();
  broken_ = !bytes.ok();
  if (!broken_) answer = *std::move(bytes);
  return !broken_;
}

void StreamRunCall::HandleWritten() {
  budget_->Release(std::exchange(current_charged_, 0));
}

void StreamRunCall::OnCancel() {
  {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  if (run_ != nullptr && dispatcher_.Leave(run_, this)) Close(CallerGone());
}

}  // namespace sandglass::server
