#include "client/llm/http_transport.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/llm/curl_library.h"
#include "client/llm/provider_error.h"
#include "client/llm/view.h"
#include "curl/curl.h"
#include "policy/text/trusted_roots.h"

namespace sandglass::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr absl::Duration kLongestRetryAfter = absl::Seconds(60);
constexpr size_t kMaxErrorBytes = size_t{64} << 10;
// How often the cancellation flag is checked.
constexpr int kPollMs = 50;
// How long to wait for the end of an answer of which enough has arrived: a
// connection that was read to its end can be used again.
constexpr std::chrono::milliseconds kTail{100};

// A handle of libcurl and the function that frees it.
template <typename Handle, typename Cleanup>
using Owned = std::unique_ptr<Handle, Cleanup>;
using OwnedEasy = Owned<CURL, decltype(&curl_easy_cleanup)>;
using OwnedMulti = Owned<CURLM, decltype(&curl_multi_cleanup)>;
using HeaderList = Owned<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList MakeHeaders(const CurlLibrary& curl,
                       const std::vector<std::string>& headers) {
  HeaderList list(nullptr, curl.slist_free_all);
  const auto append = [&](const std::string& header) {
    curl_slist* longer = curl.slist_append(list.get(), header.c_str());
    if (longer == nullptr) return;
    (void)list.release();
    list.reset(longer);
  };
  append("Content-Type: application/json");
  // Some servers never send the "100 Continue" for which large requests would
  // wait.
  append("Expect:");
  for (const std::string& header : headers) append(header);
  return list;
}

// True for a failure to connect or of a connection, rather than of the set-up.
bool IsPassing(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
      return true;
    default:
      return false;
  }
}

// One request in progress.
struct Exchange {
  const CurlLibrary& curl;
  const std::string& url;
  CURL* easy = nullptr;
  const HttpTransport::OnBytes* on_bytes = nullptr;
  size_t max_bytes = 0;
  HttpAnswer answer;
  size_t body_bytes = 0;
  bool enough = false;
  bool cut = false;  // an error's body was cut on purpose
  curl_off_t sent_bytes = 0;
  Clock::time_point last_byte = Clock::now();

  // Returns false when the transfer is to end.
  bool OnBody(std::string_view bytes);
};

bool Exchange::OnBody(std::string_view bytes) {
  last_byte = Clock::now();
  if (enough) return true;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
  if (answer.status < 200 || answer.status >= 300) {
    const size_t room = kMaxErrorBytes - answer.error_body.size();
    answer.error_body.append(bytes.substr(0, room));
    cut = bytes.size() > room;
    return !cut;
  }
  body_bytes += bytes.size();
  if (body_bytes > max_bytes) {
    answer.result = absl::ResourceExhaustedError(absl::StrCat(
        "the provider's answer has more than ", max_bytes, " bytes"));
    return false;
  }
  const absl::StatusOr<HttpNext> next = (*on_bytes)(bytes);
  if (!next.ok()) {
    answer.result = next.status();
    return false;
  }
  enough = *next == HttpNext::kEnough;
  return true;
}

size_t OnWrite(char* bytes, size_t size, size_t count, void* exchange) {
  const std::string_view body(bytes, size * count);
  return static_cast<Exchange*>(exchange)->OnBody(body) ? body.size() : 0;
}

size_t OnHeader(char*, size_t size, size_t count, void* exchange) {
  static_cast<Exchange*>(exchange)->last_byte = Clock::now();
  return size * count;
}

// Sending a large request may take longer than the permitted silence.
int OnProgress(void* exchange, curl_off_t, curl_off_t, curl_off_t,
               curl_off_t sent) {
  auto* const state = static_cast<Exchange*>(exchange);
  if (sent != state->sent_bytes) state->last_byte = Clock::now();
  state->sent_bytes = sent;
  return 0;
}

std::string HeaderOf(const Exchange& exchange, const char* name) {
  curl_header* header = nullptr;
  if (exchange.curl.easy_header(exchange.easy, name, 0, CURLH_HEADER, -1,
                                &header) != CURLHE_OK) {
    return {};
  }
  return header->value;
}

void ReadHead(Exchange& exchange) {
  HttpAnswer& answer = exchange.answer;
  exchange.curl.easy_getinfo(exchange.easy, CURLINFO_RESPONSE_CODE,
                             &answer.status);
  answer.content_type = HeaderOf(exchange, "content-type");
  answer.location = HeaderOf(exchange, "location");
  answer.retry_after =
      ParseRetryAfter(HeaderOf(exchange, "retry-after"), absl::Now());
  const std::string wish = HeaderOf(exchange, "x-should-retry");
  if (wish == "true") answer.should_retry = true;
  if (wish == "false") answer.should_retry = false;
}

class CurlTransport : public HttpTransport {
 public:
  CurlTransport(TransferBounds bounds, const CurlLibrary& curl)
      : bounds_(std::move(bounds)),
        curl_(curl),
        multi_(curl.multi_init(), curl.multi_cleanup),
        easy_(curl.easy_init(), curl.easy_cleanup) {}

  bool ready() const { return multi_ != nullptr && easy_ != nullptr; }

  HttpAnswer Post(const HttpPost& post, const OnBytes& on_bytes,
                  const std::atomic<bool>& cancel) override;

 private:
  void SetUp(const HttpPost& post, const HeaderList& headers,
             Exchange& exchange);
  // Runs until curl has finished, or until cancellation, silence, or enough
  // data.
  void Drive(Exchange& exchange, const std::atomic<bool>& cancel);
  // Returns true when the exchange has ended for another reason than curl's.
  bool IsOver(Exchange& exchange, const std::atomic<bool>& cancel);
  void Judge(CURLcode code, Exchange& exchange);

  const TransferBounds bounds_;
  const CurlLibrary& curl_;
  // ORDER: connections belong to the multi handle, so it is destroyed last.
  OwnedMulti multi_;
  OwnedEasy easy_;
  char words_[CURL_ERROR_SIZE] = {};
};

void CurlTransport::SetUp(const HttpPost& post, const HeaderList& headers,
                          Exchange& exchange) {
  CURL* const easy = easy_.get();
  curl_.easy_reset(easy);
  words_[0] = '\0';
  const auto set = [this, easy](CURLoption option, auto value) {
    curl_.easy_setopt(easy, option, value);
  };
  set(CURLOPT_URL, post.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, post.body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  set(CURLOPT_HTTPHEADER, headers.get());
  // The key is for the provider, not for a proxy that makes a tunnel.
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  set(CURLOPT_USERAGENT, "sandglass/" SANDGLASS_VERSION);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  // A name whose resolution takes minutes must not delay a cancellation.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(bounds_.connect_timeout)));
  // The directory of certificates with which curl was built is still used.
  const std::string ca_file = bounds_.ca_file.empty()
                                  ? policy::TrustedRootsElsewhere()
                                  : bounds_.ca_file;
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_ERRORBUFFER, words_);
  set(CURLOPT_WRITEFUNCTION, &OnWrite);
  set(CURLOPT_WRITEDATA, &exchange);
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, &exchange);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
  set(CURLOPT_XFERINFODATA, &exchange);
}

HttpAnswer CurlTransport::Post(const HttpPost& post, const OnBytes& on_bytes,
                               const std::atomic<bool>& cancel) {
  Exchange exchange{.curl = curl_, .url = post.url};
  exchange.easy = easy_.get();
  exchange.on_bytes = &on_bytes;
  exchange.max_bytes = bounds_.max_bytes;
  const HeaderList headers = MakeHeaders(curl_, post.headers);
  SetUp(post, headers, exchange);
  if (curl_.multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    exchange.answer.result =
        absl::InternalError("the HTTP library takes no request");
    return std::move(exchange.answer);
  }
  Drive(exchange, cancel);
  ReadHead(exchange);
  curl_.multi_remove_handle(multi_.get(), easy_.get());
  return std::move(exchange.answer);
}

void CurlTransport::Drive(Exchange& exchange, const std::atomic<bool>& cancel) {
  std::optional<Clock::time_point> tail_end;
  int running = 1;
  while (true) {
    const CURLMcode code = curl_.multi_perform(multi_.get(), &running);
    if (code != CURLM_OK) {
      exchange.answer.result = absl::InternalError(
          absl::StrCat("the HTTP library: ", curl_.multi_strerror(code)));
      return;
    }
    if (running == 0) break;
    if (IsOver(exchange, cancel)) return;
    if (exchange.enough && !tail_end.has_value()) {
      tail_end = Clock::now() + kTail;
    }
    if (tail_end.has_value() && Clock::now() >= *tail_end) return;
    curl_.multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_.multi_info_read(multi_.get(), &left)) {
    if (message->msg == CURLMSG_DONE) Judge(message->data.result, exchange);
  }
}

bool CurlTransport::IsOver(Exchange& exchange,
                           const std::atomic<bool>& cancel) {
  if (cancel.load()) {
    exchange.answer.result = absl::CancelledError("cancelled");
    return true;
  }
  const auto silence = absl::FromChrono(Clock::now() - exchange.last_byte);
  // Connecting has its own time limit.
  curl_off_t connected = 0;
  exchange.curl.easy_getinfo(exchange.easy, CURLINFO_PRETRANSFER_TIME_T,
                             &connected);
  if (connected == 0 || silence < bounds_.silence_timeout) return false;
  exchange.answer.result = absl::DeadlineExceededError(
      absl::StrCat("the provider has been silent for ",
                   absl::FormatDuration(bounds_.silence_timeout)));
  return true;
}

void CurlTransport::Judge(CURLcode code, Exchange& exchange) {
  HttpAnswer& answer = exchange.answer;
  if (code == CURLE_OK || exchange.enough || exchange.cut) return;
  if (!answer.result.ok()) return;  // on_bytes' own error, or the size limit
  answer.retry = IsPassing(code);
  const std::string words =
      ShortWords(words_[0] != '\0' ? words_ : curl_.easy_strerror(code));
  answer.result = exchange.body_bytes > 0
                      ? absl::DataLossError(absl::StrCat(
                            "the provider's answer broke off: ", words))
                      : absl::UnavailableError(absl::StrCat(
                            exchange.url, " can't be reached: ", words));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpTransport>> HttpTransport::Create(
    TransferBounds bounds) {
  const absl::StatusOr<const CurlLibrary*> curl = LoadCurl();
  if (!curl.ok()) return curl.status();
  auto transport = std::make_unique<CurlTransport>(std::move(bounds), **curl);
  if (!transport->ready()) {
    return absl::InternalError("the HTTP library doesn't start");
  }
  return transport;
}

std::optional<absl::Duration> ParseRetryAfter(std::string_view value,
                                              absl::Time now) {
  const absl::string_view text = absl::StripAsciiWhitespace(View(value));
  double seconds = 0;
  absl::Duration wait;
  absl::Time date;
  if (absl::SimpleAtod(text, &seconds)) {
    // Written so that "nan" is refused.
    if (!(seconds >= 0)) return std::nullopt;
    wait = absl::Seconds(std::min(seconds, 3600.0));
  } else if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", text, &date,
                             nullptr)) {
    wait = date - now;
  } else {
    return std::nullopt;
  }
  return std::clamp(wait, absl::ZeroDuration(), kLongestRetryAfter);
}

}  // namespace sandglass::client
