#include "client/llm/llm_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/llm/answer_reader.h"
#include "client/llm/codec.h"
#include "client/llm/http_transport.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"

namespace sandglass::client {
namespace {

using OnWait = std::function<void(const std::string& why, absl::Duration wait)>;

constexpr absl::Duration kLongestBackOff = absl::Seconds(30);
// How often the cancellation flag is checked during a wait.
constexpr absl::Duration kStep = absl::Milliseconds(20);

std::unique_ptr<LlmCodec> MakeCodec(const LlmOptions& options) {
  switch (options.provider) {
    case LlmProvider::kAnthropic:
      return MakeAnthropicCodec();
    case LlmProvider::kOpenAiResponses:
      return MakeOpenAiResponsesCodec();
    case LlmProvider::kOpenAiChat:
      break;
  }
  return MakeOpenAiChatCodec(options.base_url);
}

// Checks the part before the path, and refuses what a message must not show.
absl::Status CheckUrl(absl::string_view url) {
  absl::string_view rest = url;
  const bool known = absl::ConsumePrefix(&rest, "https://") ||
                     absl::ConsumePrefix(&rest, "http://");
  const absl::string_view host = rest.substr(0, rest.find('/'));
  if (!known || host.empty() ||
      url.find_first_of(" ?#") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", ShortWords(std::string(url), 200),
        "' is not the address of a provider, such as http://host:port/v1"));
  }
  if (absl::StrContains(host, '@')) {
    return absl::InvalidArgumentError(
        "the provider's address has a name or password in it; the key has a "
        "setting of its own");
  }
  return absl::OkStatus();
}

absl::Status CheckKey(absl::string_view key) {
  for (const char c : key) {
    if (c > ' ' && c < '\x7f') continue;
    return absl::InvalidArgumentError(
        "the key has characters that no key has: blanks, line ends or such");
  }
  return absl::OkStatus();
}

// Returns false when cancelled.
bool Wait(absl::Duration wait, const std::atomic<bool>& cancel) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + absl::ToChronoNanoseconds(wait);
  while (!cancel.load()) {
    const absl::Duration left = absl::FromChrono(end - Steady::now());
    if (left <= absl::ZeroDuration()) return true;
    absl::SleepFor(std::min(left, kStep));
  }
  return false;
}

// The result of one attempt: a turn, or the reason why there is none.
struct Attempt {
  absl::StatusOr<LlmTurn> turn = absl::UnknownError("");
  bool retry = false;
  bool adapt = false;  // try again at once with another body
  absl::Duration at_least;
};

class HttpLlmClient : public LlmClient {
 public:
  HttpLlmClient(LlmOptions options, std::unique_ptr<LlmCodec> codec,
                std::unique_ptr<HttpTransport> transport)
      : options_(std::move(options)),
        codec_(std::move(codec)),
        transport_(std::move(transport)) {}

  absl::StatusOr<LlmTurn> Ask(const LlmRequest& request,
                              const LlmListener& listener,
                              const OnWait& on_wait,
                              const std::atomic<bool>& cancel) override;

 private:
  Attempt TryOnce(const LlmRequest& request, const LlmListener& listener,
                  const std::atomic<bool>& cancel);
  // Handles an answer that isn't 2xx.
  Attempt Refused(const LlmRequest& request, const std::string& url,
                  const HttpAnswer& answer);
  absl::Duration BackOff(int attempt);
  // Converts an error to the form that Ask returns.
  absl::Status Clean(const absl::Status& status) const;

  const LlmOptions options_;
  const std::unique_ptr<LlmCodec> codec_;
  const std::unique_ptr<HttpTransport> transport_;
  absl::BitGen random_;
};

absl::StatusOr<LlmTurn> HttpLlmClient::Ask(const LlmRequest& request,
                                           const LlmListener& listener,
                                           const OnWait& on_wait,
                                           const std::atomic<bool>& cancel) {
  for (int attempt = 1;; ++attempt) {
    Attempt tried = TryOnce(request, listener, cancel);
    // The number of fields is limited, so this ends.
    while (tried.adapt) tried = TryOnce(request, listener, cancel);
    if (tried.turn.ok()) return std::move(tried.turn);
    const absl::Status failure = Clean(tried.turn.status());
    if (!tried.retry || attempt >= options_.attempts) return failure;
    const absl::Duration wait = std::max(BackOff(attempt), tried.at_least);
    if (on_wait) on_wait(std::string(failure.message()), wait);
    if (!Wait(wait, cancel)) return absl::CancelledError("cancelled");
  }
}

Attempt HttpLlmClient::TryOnce(const LlmRequest& request,
                               const LlmListener& listener,
                               const std::atomic<bool>& cancel) {
  const HttpPost post = {codec_->Url(options_.base_url),
                         codec_->Headers(options_.api_key),
                         DumpJson(codec_->Body(request))};
  const std::unique_ptr<TurnDecoder> decoder =
      codec_->Decoder(request, listener);
  AnswerReader reader(*decoder, options_.max_bytes);
  const auto on_bytes =
      [&](std::string_view bytes) -> absl::StatusOr<HttpNext> {
    if (absl::Status status = reader.Feed(bytes); !status.ok()) return status;
    return reader.done() ? HttpNext::kEnough : HttpNext::kMore;
  };
  const HttpAnswer answer = transport_->Post(post, on_bytes, cancel);
  if (answer.status != 0 && (answer.status < 200 || answer.status >= 300) &&
      !absl::IsCancelled(answer.result)) {
    return Refused(request, post.url, answer);
  }
  Attempt attempt;
  attempt.turn = answer.result.ok() ? reader.Finish()
                                    : absl::StatusOr<LlmTurn>(answer.result);
  if (attempt.turn.ok() || decoder->begun()) return attempt;
  const absl::Status& failure = attempt.turn.status();
  attempt.retry = answer.retry || absl::IsAborted(failure) ||
                  (absl::IsUnavailable(failure) && answer.status != 0);
  attempt.at_least = answer.retry_after.value_or(absl::ZeroDuration());
  return attempt;
}

Attempt HttpLlmClient::Refused(const LlmRequest& request,
                               const std::string& url,
                               const HttpAnswer& answer) {
  const std::string body = WithoutKey(answer.error_body, options_.api_key);
  Attempt attempt;
  attempt.adapt =
      (answer.status == 400 || answer.status == 422) && codec_->Adapt(body);
  const HttpVerdict verdict =
      JudgeHttpError({.status = answer.status,
                      .content_type = answer.content_type,
                      .body = body,
                      .location = answer.location,
                      .url = url,
                      .model = request.model,
                      .has_key = !options_.api_key.empty()});
  attempt.turn = verdict.status;
  attempt.retry = verdict.retry && answer.should_retry.value_or(true);
  attempt.at_least = answer.retry_after.value_or(absl::ZeroDuration());
  return attempt;
}

// Doubles each time, with random variation so that many clients don't come back
// at the same moment.
absl::Duration HttpLlmClient::BackOff(int attempt) {
  absl::Duration wait = options_.first_wait;
  for (int i = 1; i < attempt && wait < kLongestBackOff; ++i) wait *= 2;
  return std::min(wait, kLongestBackOff) *
         absl::Uniform<double>(random_, 0.75, 1.25);
}

absl::Status HttpLlmClient::Clean(const absl::Status& status) const {
  absl::StatusCode code = status.code();
  if (absl::IsAborted(status)) code = absl::StatusCode::kDataLoss;
  if (absl::IsDeadlineExceeded(status)) code = absl::StatusCode::kUnavailable;
  return absl::Status(
      code, WithoutKey(std::string(status.message()), options_.api_key));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LlmClient>> LlmClient::Create(
    LlmOptions options) {
  while (absl::EndsWith(options.base_url, "/")) options.base_url.pop_back();
  if (absl::Status status = CheckUrl(options.base_url); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckKey(options.api_key); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<HttpTransport>> transport =
      HttpTransport::Create({.connect_timeout = options.connect_timeout,
                             .silence_timeout = options.silence_timeout,
                             .max_bytes = options.max_bytes,
                             .ca_file = options.ca_file});
  if (!transport.ok()) return transport.status();
  std::unique_ptr<LlmCodec> codec = MakeCodec(options);
  return std::make_unique<HttpLlmClient>(std::move(options), std::move(codec),
                                         *std::move(transport));
}

}  // namespace sandglass::client
