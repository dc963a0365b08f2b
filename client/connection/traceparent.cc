#include "client/connection/traceparent.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sandglass::client {
namespace {

namespace gx = grpc::experimental;

constexpr size_t kLength = 55;
// The places of the dashes: after version, trace and parent.
constexpr size_t kDashes[] = {2, 35, 52};

// Upper case isn't well-formed.
bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

class Sender final : public gx::Interceptor {
 public:
  explicit Sender(const std::string& traceparent) : traceparent_(traceparent) {}

  void Intercept(gx::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            gx::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      auto& metadata = *methods->GetSendInitialMetadata();
      if (metadata.find(kTraceparent) == metadata.end()) {
        metadata.emplace(kTraceparent, traceparent_);
      }
    }
    methods->Proceed();
  }

 private:
  const std::string& traceparent_;
};

class Factory final : public gx::ClientInterceptorFactoryInterface {
 public:
  explicit Factory(std::string traceparent)
      : traceparent_(std::move(traceparent)) {}

  // The caller owns the result, which must not outlive the channel's calls.
  gx::Interceptor* CreateClientInterceptor(gx::ClientRpcInfo*) override {
    return std::make_unique<Sender>(traceparent_).release();
  }

 private:
  const std::string traceparent_;
};

}  // namespace

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kLength) return false;
  for (const size_t dash : kDashes) {
    if (text[dash] != '-') return false;
  }
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(3, 32);
  const absl::string_view parent = text.substr(36, 16);
  const absl::string_view flags = text.substr(53, 2);
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) || !IsHex(flags) ||
      IsZero(trace) || IsZero(parent) || version == "ff") {
    return false;
  }
  if (text.size() == kLength) return true;
  // Metadata has to be printable ASCII.
  return version != "00" && text[kLength] == '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

std::string EnvironmentTraceparent() {
  // Nobody changes the environment once there are threads.
  const char* text =
      std::getenv("TRACEPARENT");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && IsTraceparent(text) ? text : "";
}

std::unique_ptr<gx::ClientInterceptorFactoryInterface> SendTraceparent(
    std::string traceparent) {
  return std::make_unique<Factory>(std::move(traceparent));
}

}  // namespace sandglass::client
