// What a client sends, as raw bytes behind one byte that names the message.
// Whatever passes is a job within its profile; whatever doesn't is refused in
// words that a gRPC answer can carry.
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "policy/limits/limit_fields.h"
#include "policy/text/paths.h"
#include "sandglass/v1/run.pb.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/edge/message_codec.h"
#include "server/run/run_registry.h"
#include "server/run/validate.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::server {
namespace {

const PolicySet& Policy() {
  static const PolicySet* const policy = [] {
    auto loaded = PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
    FUZZ_CHECK(loaded.ok());
    return new PolicySet(*std::move(loaded));
  }();
  return *policy;
}

// Some runs to list.
RunRegistry& Runs() {
  static RunRegistry* const runs = [] {
    auto* registry = new RunRegistry(RetentionOptions());
    for (int i = 0; i < 5; ++i) {
      RunOrigin origin;
      origin.run_id = "run-" + std::to_string(i);
      origin.caller.name = i == 0 ? "uid:1000" : "uid:1001";
      origin.labels["a"] = std::to_string(i);
      registry->Claim(std::make_shared<Run>(std::move(origin), Job()), nullptr);
    }
    return registry;
  }();
  return *runs;
}

grpc::ByteBuffer Buffer(std::string_view bytes) {
  // In two pieces, as the network may bring it.
  const size_t half = bytes.size() / 2;
  const grpc::Slice slices[] = {
      grpc::Slice(bytes.data(), half),
      grpc::Slice(bytes.data() + half, bytes.size() - half)};
  return grpc::ByteBuffer(slices, 2);
}

void CheckRefusal(const absl::Status& status) {
  FUZZ_CHECK(absl::IsInvalidArgument(status));
  FUZZ_CHECK(IsValidUtf8(StdView(status.message())));
  FUZZ_CHECK(status.message().size() <= 4096);
  status.ForEachPayload([](absl::string_view type, const absl::Cord& payload) {
    if (!absl::EndsWith(type, "BadRequest")) return;
    google::rpc::BadRequest bad;
    FUZZ_CHECK(bad.ParseFromString(std::string(payload)));
    FUZZ_CHECK(bad.field_violations_size() <= static_cast<int>(kMaxViolations));
    for (const auto& violation : bad.field_violations()) {
      FUZZ_CHECK(!violation.field().empty());
      FUZZ_CHECK(IsValidUtf8(violation.field()) &&
                 IsValidUtf8(violation.description()));
    }
  });
}

bool HasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

void CheckLimits(const ValidRequest& valid, const policy::Limits& limits,
                 const policy::LimitFloors& floors) {
  policy::Limits max = valid.profile->maximum;
  policy::RaiseTo(floors, max);
  for (const policy::LimitField& field : policy::kLimitFields) {
    FUZZ_CHECK(field.get(limits) <= field.get(max));
    FUZZ_CHECK(field.get(limits) >= field.min);
  }
}

void CheckJob(const ValidRequest& valid) {
  const Job& job = valid.job;
  FUZZ_CHECK(!job.argv.empty() && job.argv[0].front() == '/');
  FUZZ_CHECK(!job.code.empty() && !HasNul(job.code));
  for (const std::string& word : job.argv) FUZZ_CHECK(!HasNul(word));
  for (const auto& [name, value] : job.env) {
    FUZZ_CHECK(!name.empty() && name.find('=') == std::string::npos);
    FUZZ_CHECK(!HasNul(name) && !HasNul(value));
  }
  for (const auto& file : job.files) {
    FUZZ_CHECK(policy::ValidateRelativePath(file.path).ok());
  }
  for (const std::string& pattern : job.fetch) {
    FUZZ_CHECK(policy::ValidateGlob(pattern).ok());
  }
  CheckLimits(valid, job.limits, valid.language->limits);
  FUZZ_CHECK(job.compile.has_value() == valid.language->compile.has_value());
  if (job.compile) {
    CheckLimits(valid, job.compile->limits, valid.language->compile->limits);
  }
}

void TakeRun(v1::RunCodeRequest&& request, const std::string& prefix) {
  (void)Fingerprint(request);
  const absl::StatusOr<ValidRequest> valid =
      ValidateRunCode(Policy(), std::move(request), prefix);
  if (valid.ok()) {
    CheckJob(*valid);
  } else {
    CheckRefusal(valid.status());
  }
}

void TakeList(const v1::ListRunsRequest& request) {
  const Identity caller{.name = "uid:1001", .uid = 1001, .gid = 1001};
  const absl::StatusOr<v1::ListRunsResponse> page =
      Runs().List(caller, request);
  if (!page.ok()) {
    CheckRefusal(page.status());
    return;
  }
  for (const v1::RunSummary& run : page->runs()) {
    FUZZ_CHECK(run.caller() == caller.name);
  }
  if (!page->next_page_token().empty()) {
    // It leads on.
    v1::ListRunsRequest next = request;
    next.set_page_token(page->next_page_token());
    const auto rest = Runs().List(caller, next);
    FUZZ_CHECK(rest.ok());
    for (const v1::RunSummary& run : rest->runs()) {
      FUZZ_CHECK(run.run_id() < page->runs(0).run_id());
    }
  }
}

template <typename Message>
std::optional<Message> Parse(std::string_view bytes) {
  Message message;
  const absl::Status status = ParseMessage(Buffer(bytes), message);
  Message same;
  FUZZ_CHECK(status.ok() ==
             same.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  if (status.ok()) return message;
  CheckRefusal(status);
  return std::nullopt;
}

void Take(fuzz::Input input) {
  const uint8_t which = input.Byte() % 4;
  const std::string_view bytes = input.Rest();
  if (which == 0) {
    if (auto message = Parse<v1::RunCodeRequest>(bytes)) {
      TakeRun(*std::move(message), "");
    }
  } else if (which == 1) {
    if (auto message = Parse<v1::StreamRunCodeRequest>(bytes)) {
      TakeRun(std::move(*message->mutable_run()), "run.");
    }
  } else if (which == 2) {
    if (auto message = Parse<v1::ListRunsRequest>(bytes)) TakeList(*message);
  } else {
    const auto message = Parse<v1::CancelRunRequest>(bytes);
    if (!message) return;
    const Identity caller{.name = "uid:1000", .uid = 1000, .gid = 1000};
    const auto run = Runs().Find(caller, message->run_id());
    FUZZ_CHECK(!run.ok() || (*run)->origin().caller.name == caller.name);
  }
}

}  // namespace
}  // namespace sandglass::server

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  sandglass::server::StartLog(sandglass::server::LogLevel::kError,
                              sandglass::server::LogFormat::kText);
  sandglass::server::QuietenProtobuf();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::server::Take({data, size});
  return 0;
}
