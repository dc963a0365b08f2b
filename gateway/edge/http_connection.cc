#include "gateway/edge/http_connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/edge/head_check.h"
#include "gateway/edge/inner_call.h"
#include "policy/text/views.h"
#include "server/base/clock.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;
using server::After;
using server::MonotonicTime;

constexpr int kBadRequest = 400;
constexpr int kNoSuchPage = 404;
constexpr int kOnlyGet = 405;
constexpr int kExpectationFailed = 417;
constexpr int kHeadTooLong = 431;
constexpr int kUnavailable = 503;
constexpr int kNoContent = 204;
constexpr size_t kDroppedBytes = 64 << 10;
// Answers up to this size are sent together with their heads.
constexpr size_t kTogether = 16 << 10;

HttpHead HeadOfParser(const http::request_parser<http::buffer_body>& parser) {
  HttpHead head;
  head.method = std::string(parser.get().method_string());
  const std::string target(parser.get().target());
  const size_t query = target.find('?');
  head.path = target.substr(0, query);
  if (query != std::string::npos) head.query = target.substr(query + 1);
  for (const auto& field : parser.get()) {
    head.headers.push_back(
        {std::string(field.name_string()), std::string(field.value())});
  }
  return head;
}

std::string_view HeaderOf(const HttpHead& head, std::string_view name) {
  const auto value = OnlyHeader(head.headers, name);
  if (!value.ok() || !value->has_value()) return {};
  return **value;
}

// Extensions of chunks mean nothing to anybody, and what is in their quotes is
// read in more than one way.
auto& RefuseExtensions() {
  static auto refuse = [](uint64_t, boost::beast::string_view extensions,
                          error_code& error) {
    if (!extensions.empty()) error = http::error::bad_chunk_extension;
  };
  return refuse;
}

}  // namespace

HttpConnection::HttpConnection(net::io_context& loop, const HttpShared& shared,
                               std::shared_ptr<HttpSocket> socket,
                               server::Identity identity)
    : shared_(shared),
      identity_(std::move(identity)),
      socket_(std::move(socket)),
      loop_(loop),
      number_(shared.peers.AddInner(identity_)) {}

void HttpConnection::Close() {
  socket_->Close();
  if (inner_ != nullptr) inner_->Cancel();
}

bool HttpConnection::proved() const {
  return identity_.proof != server::Proof::kNone ||
         shared_.peers.Proved(number_);
}

absl::Duration HttpConnection::Patience() const {
  return proved() ? shared_.bounds.unread : shared_.bounds.pause;
}

HttpConnection::~HttpConnection() { shared_.peers.RemoveInner(number_); }

std::optional<MonotonicTime> HttpConnection::idle() const {
  const int64_t since = idle_since_;
  if (since == 0) return std::nullopt;
  return server::FromNanos(since);
}

void HttpConnection::EndSoon() {
  ending_ = true;
  if (idle_since_ != 0) socket_->Close();
}

void HttpConnection::CheckPeer() {
  if (identity_.expires != absl::InfiniteFuture() &&
      !socket_->PeerIsGood(shared_.tls.Get())) {
    socket_->Close();
  }
}

net::awaitable<void> HttpConnection::Serve() {
  while (co_await ServeOne()) {
    first_ = false;
    // Others have their turn, however much a client sends ahead.
    co_await net::post(loop_, net::use_awaitable);
  }
  co_await socket_->Linger();
}

net::awaitable<bool> HttpConnection::ServeOne() {
  Request request;
  bool gone = false;
  std::optional<HttpAnswer> answer = co_await ReadHead(request, gone);
  if (gone) co_return false;
  request.cors = CorsHeaders(shared_.cors, request.head);
  if (answer.has_value()) {
    ending_ = true;  // where the next request begins isn't known
  } else if (std::optional<PortTarget> target = PortTargetOf(
                 shared_.port_domain, HeaderOf(request.head, "host"),
                 request.head.path, request.head.query);
             target.has_value()) {
    request.cors.clear();
    co_return co_await ServePort(request, *std::move(target));
  } else {
    answer = CorsPreflight(shared_.cors, request.head);
    if (answer.has_value()) {
      request.cors.clear();  // it has its own
    } else {
      answer = Page(request.head);
    }
  }
  if (answer.has_value())
    co_return co_await Answer(request, *std::move(answer));
  co_return co_await ServeCall(request);
}

net::awaitable<std::optional<HttpAnswer>> HttpConnection::ReadHead(
    Request& request, bool& gone) {
  const HttpBounds& bounds = shared_.bounds;
  gone = true;
  const auto skip_empty_lines = [this] {
    // They mean nothing before a request (RFC 9112, 2.2).
    while (absl::StartsWith(AbslView(socket_->unread()), "\r\n")) {
      socket_->Use(2);
    }
  };
  const MonotonicTime now = server::Now();
  const MonotonicTime first_byte =
      After(now, first_ ? bounds.head : bounds.idle);
  idle_since_ = now.time_since_epoch().count();
  for (skip_empty_lines(); socket_->unread().empty(); skip_empty_lines()) {
    if (ending_ || !co_await socket_->Receive(first_byte))
      co_return std::nullopt;
  }
  idle_since_ = 0;
  request.began = server::Now();
  const MonotonicTime until = After(request.began, bounds.head);
  std::optional<size_t> end = EndOfHead(socket_->unread());
  while (!end.has_value() && socket_->unread().size() < bounds.head_bytes) {
    // The end may have begun with what was there.
    const size_t seen = std::max<size_t>(socket_->unread().size(), 3) - 3;
    if (!co_await socket_->Receive(until)) co_return std::nullopt;
    end = EndOfHead(socket_->unread().substr(seen));
    if (end.has_value()) *end += seen;
  }
  gone = false;
  if (!end.has_value() || *end > bounds.head_bytes) {
    co_return PlainAnswer(kHeadTooLong,
                          absl::StrCat("The request's head has more than ",
                                       bounds.head_bytes, " bytes."));
  }
  const std::string_view text = socket_->unread().substr(0, *end);
  if (auto wrong = WrongWithHead(text))
    co_return PlainAnswer(kBadRequest, *wrong);
  error_code error;
  Parser& parser = request.parser;
  parser.header_limit(static_cast<uint32_t>(bounds.head_bytes));
  // Bodies are looked at when it is known what they are for.
  parser.body_limit(std::numeric_limits<uint64_t>::max());
  parser.on_chunk_header(RefuseExtensions());
  parser.put(net::const_buffer(text.data(), text.size()), error);
  if ((error && error != http::error::need_more) || !parser.is_header_done()) {
    co_return PlainAnswer(kBadRequest, "The request's head can't be read.");
  }
  socket_->Use(*end);
  request.head = HeadOfParser(parser);
  request.is_1_0 = parser.get().version() != 11;
  request.head_only = request.head.method == "HEAD";
  const std::string_view expect = HeaderOf(request.head, "expect");
  if (!expect.empty() &&
      !absl::EqualsIgnoreCase(AbslView(expect), "100-continue")) {
    co_return PlainAnswer(kExpectationFailed,
                          "The only thing to expect is 100-continue.");
  }
  co_return std::nullopt;
}

std::optional<HttpAnswer> HttpConnection::Page(const HttpHead& head) const {
  std::optional<HttpAnswer> answer;
  if (head.path == "/openapi.json") {
    answer = HttpAnswer{.headers = {{"content-type", "application/json"}},
                        .body = shared_.openapi};
  } else if (head.path == "/healthz") {
    answer = shared_.ready() ? PlainAnswer(200, "ok")
                             : PlainAnswer(kUnavailable, "No node is there.");
  } else if (head.path == "/") {
    answer = PlainAnswer(
        200,
        "This is a Sandglass gateway. It speaks gRPC, and by HTTP the Connect "
        "protocol and gRPC-Web; /openapi.json describes it.");
  } else if (!absl::StartsWith(head.path, "/sandglass.")) {
    return PlainAnswer(kNoSuchPage, "There is nothing here; see /.");
  } else {
    return std::nullopt;
  }
  if (head.method == "GET" || head.method == "HEAD") return answer;
  answer = PlainAnswer(kOnlyGet, "Send GET.");
  answer->headers.push_back({"allow", "GET, HEAD"});
  return answer;
}

net::awaitable<void> HttpConnection::SendContinue(const Request& request) {
  if (!HeaderOf(request.head, "expect").empty() && !request.is_1_0 &&
      !request.parser.is_done() && socket_->unread().empty()) {
    co_await socket_->Send("HTTP/1.1 100 Continue\r\n\r\n",
                           shared_.bounds.pause);
  }
}

net::awaitable<HttpConnection::Piece> HttpConnection::ReadPiece(
    Request& request, std::string& space, std::string_view& piece,
    MonotonicTime until) {
  Parser& parser = request.parser;
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = space.data();
    body.size = space.size();
    const std::string_view unread = socket_->unread();
    error_code error;
    if (!unread.empty()) {
      socket_->Use(
          parser.put(net::const_buffer(unread.data(), unread.size()), error));
      if (error && error != http::error::need_more &&
          error != http::error::need_buffer) {
        ending_ = true;
        co_return Piece::kBad;
      }
      if (const size_t got = space.size() - body.size; got > 0) {
        piece = std::string_view(space).substr(0, got);
        co_return Piece::kSome;
      }
    }
    if (parser.is_done()) break;
    if ((unread.empty() || error == http::error::need_more) &&
        !co_await socket_->Receive(
            std::min(until, After(server::Now(), shared_.bounds.pause)))) {
      if (!socket_->slow()) co_return Piece::kGone;
      ending_ = true;
      co_return Piece::kSlow;
    }
  }
  co_return Piece::kEnd;
}

net::awaitable<bool> HttpConnection::DropBody(Request& request) {
  const auto left = request.parser.content_length_remaining();
  if (ending_ || !left.has_value() || *left > kDroppedBytes ||
      (!HeaderOf(request.head, "expect").empty() &&
       socket_->unread().empty())) {
    co_return true;
  }
  std::string space(kPieceBytes, '\0');
  std::string_view piece;
  const MonotonicTime until = After(server::Now(), shared_.bounds.head);
  Piece got = Piece::kSome;
  while (got == Piece::kSome) {
    got = co_await ReadPiece(request, space, piece, until);
  }
  // One that doesn't come isn't waited for: the answer is said all the same.
  if (got == Piece::kSlow || got == Piece::kBad) ending_ = true;
  co_return got != Piece::kGone;
}

bool HttpConnection::MayKeep(const Request& request) const {
  return !ending_ && request.parser.is_done() && request.parser.keep_alive();
}

net::awaitable<bool> HttpConnection::Answer(Request& request,
                                            HttpAnswer answer) {
  if (!co_await DropBody(request)) co_return false;
  const bool keep = MayKeep(request);
  std::string bytes = HeadOf(request, answer, answer.body.size(), keep);
  if (request.head_only) answer.body.clear();
  const absl::Duration patience = Patience();
  if (answer.body.size() <= kTogether) {
    bytes += answer.body;
    answer.body.clear();
  }
  bool there = co_await socket_->Send(bytes, patience);
  there = there && co_await socket_->Send(answer.body, patience);
  co_return there&& keep;
}

std::string HttpConnection::HeadOf(const Request& request,
                                   const HttpAnswer& answer,
                                   std::optional<size_t> length,
                                   bool keep) const {
  const auto reason = http::obsolete_reason(http::int_to_status(answer.status));
  std::string head = absl::StrCat("HTTP/1.1 ", answer.status, " ",
                                  std::string(reason), "\r\n");
  if (!request.of_program) {
    absl::StrAppend(&head, "date: ",
                    absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(),
                                     absl::UTCTimeZone()),
                    "\r\nx-content-type-options: nosniff\r\n");
  }
  for (const HeaderFields* fields : {&answer.headers, &request.cors}) {
    for (const HeaderField& field : *fields) {
      absl::StrAppend(&head, field.name, ": ", field.value, "\r\n");
    }
  }
  if (length.has_value()) {
    if (answer.status != kNoContent) {
      absl::StrAppend(&head, "content-length: ", *length, "\r\n");
    }
  } else if (!request.is_1_0) {
    absl::StrAppend(&head, "transfer-encoding: chunked\r\n");
  }
  if (!keep) {
    absl::StrAppend(&head, "connection: close\r\n");
  } else if (request.is_1_0) {
    absl::StrAppend(&head, "connection: keep-alive\r\n");
  }
  absl::StrAppend(&head, "\r\n");
  return head;
}

}  // namespace sandglass::gateway
