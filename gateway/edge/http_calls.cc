#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/connect/connect_errors.h"
#include "gateway/connect/json_codec.h"
#include "gateway/connect/stream.h"
#include "gateway/connect/unary.h"
#include "gateway/edge/await_call.h"
#include "gateway/edge/http_connection.h"
#include "gateway/edge/inner_call.h"
#include "policy/text/views.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/edge/answer_room.h"
#include "server/edge/method_access.h"

// What an HttpConnection does with requests that are calls.
namespace sandglass::gateway {
namespace {

using policy::AbslView;
using server::After;
using server::MonotonicTime;

constexpr int kBadRequest = 400;

std::vector<absl::string_view> ValuesOf(const HttpHead& head,
                                        absl::string_view name) {
  std::vector<absl::string_view> values;
  for (const HeaderField& field : head.headers) {
    if (absl::EqualsIgnoreCase(field.name, name)) values.push_back(field.value);
  }
  return values;
}

}  // namespace

// What a request takes of the room for requests.
class HttpConnection::HeldRequest {
 public:
  HeldRequest(server::RequestRoom& room, std::string caller)
      : room_(room), caller_(std::move(caller)) {}
  ~HeldRequest() { room_.Release(caller_, bytes_); }
  HeldRequest(const HeldRequest&) = delete;
  HeldRequest& operator=(const HeldRequest&) = delete;

  absl::Status Hold(size_t bytes) {
    if (bytes < bytes_) {
      room_.Release(caller_, bytes_ - bytes);
    } else if (!room_.Acquire(caller_, bytes - bytes_)) {
      return server::RequestBytesFull(bytes);
    }
    bytes_ = bytes;
    return absl::OkStatus();
  }
  size_t bytes() const { return bytes_; }
  // What was compressed may have become more.
  absl::Status HoldAlso(const std::vector<std::string>& messages) {
    size_t bytes = 0;
    for (const std::string& message : messages) bytes += message.size();
    return Hold(std::max(bytes, bytes_));
  }

 private:
  server::RequestRoom& room_;
  const std::string caller_;
  size_t bytes_ = 0;
};

net::awaitable<bool> HttpConnection::ServeCall(Request& request) {
  std::variant<CallHead, HttpAnswer> read = ReadCallHead(request.head);
  if (auto* const instead = std::get_if<HttpAnswer>(&read)) {
    co_return co_await Answer(request, std::move(*instead));
  }
  CallHead& call = std::get<CallHead>(read);
  // Bodies are read for callers alone who may make the call.
  server::Credentials& credentials = shared_.peers.credentials();
  absl::StatusOr<server::Identity> caller = credentials.Authenticate(
      identity_, ValuesOf(request.head, "authorization"));
  absl::Status may = caller.status();
  if (may.ok()) {
    const auto access = server::AccessOf(call.method->request);
    may = access.has_value() ? credentials.Authorise(*caller, *access)
                             : absl::InternalError("has no access rule");
  }
  if (!may.ok()) {
    co_return co_await Answer(request, Refusal(call.wire, ToCallStatus(may)));
  }
  if (call.wire.protocol == Protocol::kConnectUnary) {
    co_return co_await ServeUnary(request, call, *caller);
  }
  co_return co_await ServeStream(request, call, *caller);
}

void HttpConnection::Begin(const Request& request, CallHead& call) {
  if (call.timeout.has_value()) {
    *call.timeout = std::max(*call.timeout - server::Since(request.began),
                             absl::ZeroDuration());
  }
  inner_ = InnerCall::Begin(shared_.channel, call, number_);
}

net::awaitable<bool> HttpConnection::ServeUnary(
    Request& request, CallHead& call, const server::Identity& caller) {
  const HttpBounds& bounds = shared_.bounds;
  const JsonBounds json{.bytes = call.wire.codec == Codec::kJson
                                     ? bounds.json_bytes
                                     : bounds.message_bytes};
  HeldRequest held(shared_.room, caller.name);
  std::string body;
  absl::Status wrong;
  const auto length = request.parser.content_length();
  if (length.has_value() && *length > json.bytes) {
    wrong = server::MessageTooLarge(*length, json.bytes);
  } else {
    co_await SendContinue(request);
  }
  std::string space(kPieceBytes, '\0');
  const MonotonicTime until = After(request.began, bounds.body);
  while (wrong.ok()) {
    std::string_view piece;
    const Piece got = co_await ReadPiece(request, space, piece, until);
    if (got == Piece::kGone) co_return false;
    if (got == Piece::kEnd) break;
    if (got == Piece::kSlow) wrong = BodyTooSlow();
    if (got == Piece::kBad) {
      co_return co_await Answer(
          request, PlainAnswer(kBadRequest, "The body's chunks are wrong."));
    }
    if (!wrong.ok()) break;
    const size_t size = body.size() + piece.size();
    wrong = size > json.bytes ? server::MessageTooLarge(size, json.bytes)
                              : held.Hold(size);
    if (wrong.ok()) body.append(piece);
  }
  absl::StatusOr<std::string> message = std::string();
  if (!wrong.ok()) {
    message = wrong;
  } else {
    co_await Aside(loop_, shared_.work, body.size(),
                   [&] { message = UnaryRequest(call, body, json); });
  }
  body = std::string();
  // What was compressed may have become more.
  if (message.ok()) {
    if (absl::Status room = held.Hold(message->size()); !room.ok()) {
      message = room;
    }
  }
  if (!message.ok()) {
    co_return co_await Answer(
        request, Refusal(call.wire, ToCallStatus(message.status())));
  }
  Begin(request, call);
  socket_->Watch([inner = inner_] { inner->Cancel(); });
  grpc::ByteBuffer answer;
  (void)co_await Send(loop_, *inner_, *message, /*last=*/true);
  const bool answered = co_await Receive(loop_, *inner_, answer);
  const CallEnd end = co_await End(loop_, *inner_);
  inner_.reset();
  socket_->Unwatch();
  message = std::string();
  if (!end.status.ok() || !answered) {
    co_return co_await Answer(
        request, UnaryError(end.status, end.initial, end.trailing));
  }
  HttpAnswer done;
  co_await Aside(loop_, shared_.work, answer.Length(), [&] {
    done = UnaryAnswer(call, ToString(answer), end.initial, end.trailing);
  });
  answer.Clear();
  server::HeldAnswer unread(shared_.peers.answers());
  const absl::Status room =
      unread.Acquire(caller.name, done.body.size(), server::HeldAnswer::kDone);
  if (!room.ok()) done = UnaryError(ToCallStatus(room), {}, {});
  co_return co_await Answer(request, std::move(done));
}

// A stream's request, as far as it has come.
struct HttpConnection::StreamUse {
  StreamUse(net::io_context& loop, const HttpShared& shared,
            const CallHead& call, const server::Identity& caller)
      : reader(call, {.bytes = call.wire.codec == Codec::kJson
                                   ? shared.bounds.json_bytes
                                   : shared.bounds.message_bytes}),
        held(shared.room, caller.name),
        over(loop) {
    over.expires_at(server::kNever);
  }

  StreamReader reader;
  // Of the room for requests, until the call's end: what was sent last is kept
  // on its way.
  HeldRequest held;
  std::vector<std::string> messages;  // that were read and not sent
  absl::Status wrong;                 // with the request
  bool gone = false;                  // the client is
  bool stopped = false;               // no more is wanted of it
  bool sends = false;                 // SendMessages goes on
  net::steady_timer over;             // cancelled when it doesn't any more
};

net::awaitable<bool> HttpConnection::ReadMessages(Request& request,
                                                  StreamUse& use,
                                                  std::string& space) {
  while (use.wrong.ok() && use.messages.empty()) {
    std::string_view piece;
    const Piece got = co_await ReadPiece(request, space, piece, server::kNever);
    if (got == Piece::kGone) use.gone = !use.stopped;
    if (got == Piece::kSlow) use.wrong = BodyTooSlow();
    if (got == Piece::kBad)
      use.wrong = BadEnvelope("is in chunks that are wrong");
    if (got == Piece::kEnd) use.wrong = use.reader.Finish();
    if (got != Piece::kSome) co_return false;
    use.wrong = use.held.Hold(use.held.bytes() + piece.size());
    if (!use.wrong.ok()) break;
    co_await Aside(loop_, shared_.work, use.held.bytes(),
                   [&] { use.wrong = use.reader.Feed(piece, use.messages); });
    if (use.wrong.ok()) use.wrong = use.held.HoldAlso(use.messages);
  }
  co_return use.wrong.ok();
}

net::awaitable<bool> HttpConnection::ReadOnlyMessage(Request& request,
                                                     StreamUse& use) {
  std::string space(kPieceBytes, '\0');
  std::vector<std::string> only;
  while (co_await ReadMessages(request, use, space)) {
    only = std::exchange(use.messages, {});
  }
  use.messages = std::move(only);
  co_return !use.gone;
}

net::awaitable<void> HttpConnection::SendMessages(Request& request,
                                                  CallHead& call,
                                                  StreamUse& use) {
  const std::shared_ptr<InnerCall> inner = inner_;
  std::string space(kPieceBytes, '\0');
  while (co_await ReadMessages(request, use, space)) {
    const size_t last = use.messages.back().size();
    for (const std::string& message :
         std::exchange(use.messages, std::vector<std::string>())) {
      socket_->Watch([inner] { inner->Cancel(); });
      const bool taken = co_await Send(loop_, *inner, message, /*last=*/false);
      socket_->Unwatch();
      // The call has ended; its answer says why.
      if (!taken) co_return;
    }
    use.wrong = use.held.Hold(last);
  }
  if (!use.wrong.ok() || use.gone) {
    inner->Cancel();
  } else if (request.parser.is_done()) {
    inner->SendNoMore();
    socket_->Watch([inner] { inner->Cancel(); });
  }
}

net::awaitable<bool> HttpConnection::ServeStream(
    Request& request, CallHead& call, const server::Identity& caller) {
  StreamUse use(loop_, shared_, call, caller);
  co_await SendContinue(request);
  if (call.method->client_streams) {
    Begin(request, call);
    use.sends = true;
    // Beside the answer, which may come before all is there. AnswerStream waits
    // for it.
    net::co_spawn(
        loop_, [&] { return SendMessages(request, call, use); },
        [&use](const std::exception_ptr&) {
          use.sends = false;
          use.over.cancel();
        });
    co_return co_await AnswerStream(request, call, caller, use);
  }
  if (!co_await ReadOnlyMessage(request, use)) co_return false;
  if (!use.wrong.ok()) {
    co_return co_await Answer(request,
                              Refusal(call.wire, ToCallStatus(use.wrong)));
  }
  Begin(request, call);
  socket_->Watch([inner = inner_] { inner->Cancel(); });
  (void)co_await Send(loop_, *inner_, use.messages.front(), /*last=*/true);
  use.messages.clear();
  co_return co_await AnswerStream(request, call, caller, use);
}

net::awaitable<bool> HttpConnection::AnswerStream(
    Request& request, const CallHead& call, const server::Identity& caller,
    StreamUse& use) {
  const absl::Duration patience = shared_.bounds.unread;
  bool keep = false;
  bool began = false;
  bool there = true;
  absl::Status wrong;
  server::HeldAnswer unread(shared_.peers.answers());
  grpc::ByteBuffer message;
  while (there && wrong.ok() && co_await Receive(loop_, *inner_, message)) {
    absl::StatusOr<std::string> piece;
    co_await Aside(loop_, shared_.work, message.Length(),
                   [&] { piece = StreamMessage(call, ToString(message)); });
    message.Clear();
    wrong = piece.status();
    if (wrong.ok()) {
      wrong =
          unread.Acquire(caller.name, piece->size(),
                         "the call is cut off here; take its messages faster");
    }
    if (!wrong.ok()) break;
    std::string bytes;
    if (!std::exchange(began, true)) {
      keep = MayKeep(request) && !request.is_1_0;
      bytes = HeadOf(request, StreamBegin(call.wire, inner_->initial()),
                     std::nullopt, keep);
    }
    bytes += request.is_1_0 ? *piece : ChunkOf(*piece);
    there = co_await socket_->Send(bytes, patience);
  }
  if (!there || !wrong.ok()) inner_->Cancel();
  if (use.sends) {
    // The call is over, and what is still to come isn't wanted.
    use.stopped = true;
    ending_ = true;
    socket_->StopReceiving();
    error_code woken;
    while (use.sends) co_await use.over.async_wait(Into(woken));
  }
  CallEnd end = co_await End(loop_, *inner_);
  inner_.reset();
  socket_->Unwatch();
  if (!there || use.gone) co_return false;
  if (wrong.ok()) wrong = use.wrong;
  if (!wrong.ok()) end.status = ToCallStatus(wrong);
  std::string last = StreamEnd(call.wire, end.status, end.trailing);
  if (!began) {
    HttpAnswer answer = StreamBegin(call.wire, end.initial);
    answer.body = std::move(last);
    co_return co_await Answer(request, std::move(answer));
  }
  if (!request.is_1_0) last = absl::StrCat(ChunkOf(last), kLastChunk);
  co_return co_await socket_->Send(last, patience) && keep && !ending_;
}

}  // namespace sandglass::gateway
