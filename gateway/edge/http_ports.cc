#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/connect/error_json.h"
#include "gateway/connect/methods.h"
#include "gateway/edge/await_call.h"
#include "gateway/edge/http_connection.h"
#include "gateway/edge/inner_call.h"
#include "gateway/ports/port_heads.h"
#include "gateway/ports/port_link.h"
#include "sandglass/v1/port.pb.h"
#include "server/base/clock.h"
#include "server/edge/method_access.h"

// What an HttpConnection does with requests for programs in sessions.
namespace sandglass::gateway {
namespace {

using server::After;

constexpr int kSeeOther = 303;
constexpr int kSwitching = 101;
constexpr int kContinue = 100;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kBadGateway = 502;
constexpr size_t kHeadBytes = 64 << 10;
constexpr size_t kPassedBytes = 64 << 10;
// A connection that became a WebSocket may be silent for so long.
constexpr absl::Duration kSilence = absl::Hours(1);
constexpr char kForward[] = "/sandglass.v1.PortService/Forward";

HttpAnswer AnswerOf(const CallStatus& status) {
  HttpAnswer answer = PlainAnswer(HttpStatusOf(status.code), status.message);
  if (const auto delay = RetryDelayOf(status)) {
    answer.headers.push_back(
        {"retry-after", absl::StrCat(absl::ToInt64Seconds(
                            absl::Ceil(*delay, absl::Seconds(1))))});
  }
  return answer;
}

HttpAnswer WhoAreYou() {
  HttpAnswer answer = PlainAnswer(
      kUnauthorized,
      "This needs a token, in the header sandglass-token or authorization, or "
      "a link.");
  answer.headers.push_back({"www-authenticate", "Bearer"});
  return answer;
}

}  // namespace

// One connection to a program, for one request.
class HttpConnection::PortUse {
 public:
  PortUse(net::io_context& loop, server::PeerTable& peers)
      : body_sent(loop), peers_(peers) {
    body_sent.expires_at(server::kNever);
  }
  ~PortUse() {
    if (own_number_ != 0) peers_.RemoveInner(own_number_);
  }
  PortUse(const PortUse&) = delete;
  PortUse& operator=(const PortUse&) = delete;

  // The calls of this use are a link's, whoever the connection is.
  void Become(server::Identity caller) {
    own_number_ = peers_.AddInner(std::move(caller));
  }
  int64_t number(int64_t connection) const {
    return own_number_ != 0 ? own_number_ : connection;
  }

  HeaderFields metadata;  // that proves who calls
  std::shared_ptr<InnerCall> call;
  std::string in;               // of the program, and not looked at yet
  bool ended = false;           // nothing more comes of it
  bool sends = false;           // the client's body is under way
  net::steady_timer body_sent;  // cancelled when it isn't any more

  net::awaitable<bool> Give(net::io_context& loop, std::string_view data) {
    v1::ForwardRequest request;
    request.set_data(std::string(data));
    co_return co_await Send(loop, *call, request.SerializeAsString(),
                            /*last=*/false);
  }
  // More of what the program sends. False: nothing more comes.
  net::awaitable<bool> Take(net::io_context& loop) {
    grpc::ByteBuffer message;
    while (!ended) {
      v1::ForwardResponse response;
      if (!co_await Receive(loop, *call, message) ||
          !response.ParseFromString(ToString(message))) {
        ended = true;
        break;
      }
      ended = response.finish();
      if (!response.data().empty()) {
        in += response.data();
        co_return true;
      }
    }
    co_return false;
  }

 private:
  server::PeerTable& peers_;
  int64_t own_number_ = 0;
};

net::awaitable<bool> HttpConnection::ServePort(Request& request,
                                               PortTarget target) {
  if (target.port == 0) {
    co_return co_await Answer(
        request,
        PlainAnswer(kNotFound,
                    "No program can be there: it is /ports/SESSION/PORT/, or "
                    "PORT-SESSION before the domain."));
  }
  PortUse use(loop_, shared_.peers);
  PortProof proof = ProofOf(target, request.head);
  if (auto refused = ProvePort(request, target, proof, use)) {
    co_return co_await Answer(request, *std::move(refused));
  }
  CallHead call;
  call.method = FindMethod(kForward);
  call.metadata = use.metadata;
  use.call = InnerCall::Begin(shared_.channel, call, use.number(number_));
  inner_ = use.call;
  v1::ForwardRequest start;
  start.mutable_start()->set_session_id(target.session);
  start.mutable_start()->set_port(target.port);
  grpc::ByteBuffer connected;
  const bool there =
      co_await Send(loop_, *use.call, start.SerializeAsString(), false) &&
      co_await Receive(loop_, *use.call, connected);
  bool keep = false;
  if (there) {
    keep = co_await CarryPort(request, target, proof, use);
    use.call->Cancel();
  }
  const CallEnd end = co_await End(loop_, *use.call);
  inner_.reset();
  socket_->Unwatch();
  if (there) co_return keep;
  co_return co_await Answer(request, AnswerOf(end.status));
}

std::optional<HttpAnswer> HttpConnection::ProvePort(const Request& request,
                                                    PortTarget& target,
                                                    PortProof& proof,
                                                    PortUse& use) const {
  server::Credentials& credentials = shared_.peers.credentials();
  absl::StatusOr<server::Identity> caller = identity_;
  if (!proof.token.empty()) {
    const std::string bearer = absl::StrCat("Bearer ", proof.token);
    caller = credentials.Authenticate(identity_, {bearer});
    use.metadata.push_back({"authorization", bearer});
  } else if (!proof.link.empty()) {
    return ProveLink(request, target, proof, use);
  } else if (identity_.proof == server::Proof::kNone) {
    return WhoAreYou();
  } else if (ComesFromElsewhere(request.head)) {
    return PlainAnswer(kForbidden, "Pages of other origins may not do that.");
  }
  if (!caller.ok()) return AnswerOf(ToCallStatus(caller.status()));
  const auto access = server::AccessOf(FindMethod(kForward)->request);
  const absl::Status may = credentials.Authorise(*caller, *access);
  if (!may.ok()) return AnswerOf(ToCallStatus(may));
  return std::nullopt;
}

std::optional<HttpAnswer> HttpConnection::ProveLink(const Request& request,
                                                    PortTarget& target,
                                                    PortProof& proof,
                                                    PortUse& use) const {
  std::optional<PortLink> link;
  if (shared_.links != nullptr) {
    link = shared_.links->Read(proof.link, absl::Now());
  }
  const bool by_path = !target.link.empty();
  if (!link.has_value() || !shared_.peers.credentials().Holds(link->caller) ||
      (!by_path &&
       (link->session != target.session || link->port != target.port))) {
    return PlainAnswer(kForbidden,
                       "This link is none of this gateway's, is over, or is "
                       "for something else.");
  }
  if (proof.by_cookie && ComesFromElsewhere(request.head)) {
    return PlainAnswer(kForbidden, "Pages of other origins may not do that.");
  }
  target.session = link->session;
  target.port = link->port;
  server::Identity caller = link->caller;
  caller.address = identity_.address;
  if (!by_path && !proof.by_cookie) {
    const std::optional<std::string> rest = TargetWithoutLink(target);
    if (!rest.has_value()) {
      return PlainAnswer(kForbidden, "A link has to be on a plain path.");
    }
    if (request.head.method == "GET") {
      HttpAnswer answer{.status = kSeeOther};
      answer.headers = {
          {"location", *rest},
          {"cache-control", "no-store"},
          {"referrer-policy", "no-referrer"},
          {"set-cookie",
           absl::StrCat(kLinkCookie, "=", proof.link,
                        "; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=",
                        absl::ToInt64Seconds(link->expires - absl::Now()))}};
      return answer;
    }
    target.target = *rest;
  }
  use.Become(std::move(caller));
  return std::nullopt;
}

net::awaitable<bool> HttpConnection::CarryPort(Request& request,
                                               const PortTarget& target,
                                               const PortProof& proof,
                                               PortUse& use) {
  const auto told = request.parser.content_length();
  std::optional<uint64_t> length;
  if (told.has_value()) length = *told;
  const std::string head = RequestHead({.target = target,
                                        .request = request.head,
                                        .proof = proof,
                                        .address = identity_.address,
                                        .length = length,
                                        .has_body = request.parser.chunked()});
  if (!co_await use.Give(loop_, head)) {
    co_return co_await Answer(request,
                              PlainAnswer(kBadGateway, "The program is gone."));
  }
  if (request.parser.is_done()) {
    socket_->Watch([call = use.call] { call->Cancel(); });
  } else {
    co_await SendContinue(request);
    use.sends = true;
    // It may go on beside the answer. This object stays: see below.
    net::co_spawn(
        loop_, [this, &request, &use] { return SendBody(request, use); },
        [&use](const std::exception_ptr&) {
          use.sends = false;
          use.body_sent.cancel();
        });
  }
  const bool keep = co_await AnswerOfProgram(request, target, use);
  if (use.sends) {
    // The answer is there, and what is still to come isn't wanted.
    ending_ = true;
    use.call->Cancel();
    socket_->StopReceiving();
    error_code woken;
    while (use.sends) co_await use.body_sent.async_wait(Into(woken));
    co_return false;
  }
  co_return keep && !ending_;
}

net::awaitable<void> HttpConnection::SendBody(Request& request, PortUse& use) {
  const bool chunked = request.parser.chunked();
  std::string space(kPieceBytes, '\0');
  while (true) {
    std::string_view piece;
    const Piece got = co_await ReadPiece(request, space, piece, server::kNever);
    if (got != Piece::kSome && got != Piece::kEnd) {
      ending_ = true;
      use.call->Cancel();
      co_return;
    }
    const bool last = got == Piece::kEnd;
    if (last && !chunked) break;
    const bool taken = co_await use.Give(loop_, !chunked ? std::string(piece)
                                                : last ? std::string(kLastChunk)
                                                       : ChunkOf(piece));
    if (!taken) ending_ = true;
    if (!taken || last) break;
  }
  if (request.parser.is_done()) {
    socket_->Watch([call = use.call] { call->Cancel(); });
  }
}

net::awaitable<bool> HttpConnection::AnswerOfProgram(Request& request,
                                                     const PortTarget& target,
                                                     PortUse& use) {
  while (true) {
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(kHeadBytes);
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    if (request.head_only) parser.skip(true);
    size_t end = std::string::npos;
    while ((end = use.in.find("\r\n\r\n")) == std::string::npos) {
      if (use.in.size() > kHeadBytes || !co_await use.Take(loop_)) {
        ending_ = true;
        co_return co_await Answer(
            request,
            PlainAnswer(kBadGateway, "The program didn't answer with HTTP."));
      }
    }
    error_code error;
    parser.put(net::const_buffer(use.in.data(), end + 4), error);
    if ((error && error != http::error::need_more) ||
        !parser.is_header_done()) {
      ending_ = true;
      co_return co_await Answer(
          request,
          PlainAnswer(kBadGateway, "The program didn't answer with HTTP."));
    }
    use.in.erase(0, end + 4);
    const int status = static_cast<int>(parser.get().result_int());
    // What comes before the answer is for this hop, or for nobody.
    if (status >= kContinue && status < 200 && status != kSwitching) continue;
    co_return co_await PassBody(request, target, use, parser);
  }
}

net::awaitable<bool> HttpConnection::PassBody(
    Request& request, const PortTarget& target, PortUse& use,
    http::response_parser<http::buffer_body>& parser) {
  HttpAnswer answer{.status = static_cast<int>(parser.get().result_int())};
  HeaderFields fields;
  for (const auto& field : parser.get()) {
    fields.push_back(
        {std::string(field.name_string()), std::string(field.value())});
  }
  answer.headers = ResponseHeaders(target, parser.get().result_int(), fields);
  request.of_program = true;
  const absl::Duration patience = shared_.bounds.unread;
  if (answer.status == kSwitching) {
    ending_ = true;
    if (!WantsWebSocket(request.head)) {
      request.of_program = false;
      co_return co_await Answer(
          request,
          PlainAnswer(kBadGateway, "The program speaks another protocol."));
    }
    std::string head = "HTTP/1.1 101 Switching Protocols\r\n";
    for (const HeaderField& field : answer.headers) {
      absl::StrAppend(&head, field.name, ": ", field.value, "\r\n");
    }
    absl::StrAppend(&head, "connection: upgrade\r\n\r\n");
    if (co_await socket_->Send(head, patience)) co_await CarryWebSocket(use);
    co_return false;
  }
  const auto length = parser.content_length();
  const bool no_body = parser.is_done();
  const bool keep = MayKeep(request) && (!request.is_1_0 || no_body);
  const std::optional<size_t> told = length.has_value()
                                         ? std::optional<size_t>(*length)
                                     : no_body ? std::optional<size_t>(0)
                                               : std::nullopt;
  if (!co_await socket_->Send(HeadOf(request, answer, told, keep), patience)) {
    co_return false;
  }
  const bool chunks = !told.has_value() && !request.is_1_0;
  std::string space(kPassedBytes, '\0');
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = space.data();
    body.size = space.size();
    error_code error;
    size_t used = 0;
    if (!use.in.empty()) {
      used = parser.put(net::const_buffer(use.in.data(), use.in.size()), error);
      use.in.erase(0, used);
    }
    const size_t got = space.size() - body.size;
    if (error && error != http::error::need_more &&
        error != http::error::need_buffer) {
      ending_ = true;
      co_return false;
    }
    if (got > 0) {
      const std::string_view piece(space.data(), got);
      if (!co_await socket_->Send(chunks ? ChunkOf(piece) : std::string(piece),
                                  patience)) {
        co_return false;
      }
    } else if (!parser.is_done() &&
               (use.in.empty() || error == http::error::need_more) &&
               !co_await use.Take(loop_)) {
      parser.put_eof(error);
      // One that is cut off is cut off for the client, too.
      if (error || !parser.is_done()) {
        ending_ = true;
        co_return false;
      }
    }
  }
  if (chunks && !co_await socket_->Send(kLastChunk, patience)) co_return false;
  co_return keep;
}

net::awaitable<void> HttpConnection::CarryWebSocket(PortUse& use) {
  socket_->Unwatch();
  use.sends = true;
  const auto send = [this, &use]() -> net::awaitable<void> {
    while (true) {
      if (socket_->unread().empty() &&
          !co_await socket_->Receive(After(server::Now(), kSilence))) {
        break;
      }
      const std::string piece(socket_->unread());
      socket_->Use(piece.size());
      socket_->Watch([call = use.call] { call->Cancel(); });
      const bool taken = piece.empty() || co_await use.Give(loop_, piece);
      socket_->Unwatch();
      if (!taken) break;
    }
    use.call->Cancel();
  };
  net::co_spawn(loop_, send, [&use](const std::exception_ptr&) {
    use.sends = false;
    use.body_sent.cancel();
  });
  bool there = true;
  while (there) {
    if (!use.in.empty()) {
      const std::string piece = std::exchange(use.in, {});
      there = co_await socket_->Send(piece, shared_.bounds.unread);
    }
    there = there && co_await use.Take(loop_);
  }
  use.call->Cancel();
  socket_->StopReceiving();
  error_code woken;
  while (use.sends) co_await use.body_sent.async_wait(Into(woken));
}

}  // namespace sandglass::gateway
