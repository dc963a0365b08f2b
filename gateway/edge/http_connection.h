#ifndef SANDGLASS_GATEWAY_EDGE_HTTP_CONNECTION_H_
#define SANDGLASS_GATEWAY_EDGE_HTTP_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/connect/answers.h"
#include "gateway/connect/call_head.h"
#include "gateway/edge/asio.h"
#include "gateway/edge/http_server.h"
#include "gateway/edge/http_socket.h"
#include "gateway/ports/port_heads.h"
#include "gateway/ports/port_target.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

class InnerCall;

// A client of HTTP/1.1 and its requests, one after the other. All but idle() is
// for the thread of its io_context.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `shared` outlives the connection.
  HttpConnection(net::io_context& loop, const HttpShared& shared,
                 std::shared_ptr<HttpSocket> socket, server::Identity identity);
  ~HttpConnection();

  // Serves it to its end. Whoever calls this keeps the connection meanwhile.
  net::awaitable<void> Serve();

  // Ends it: at once, or as soon as no request is under way.
  void Close();
  void EndSoon();
  // Ends it where the client's certificate isn't good any more.
  void CheckPeer();

  const server::Identity& identity() const { return identity_; }
  int64_t number_of_all = 0;  // for the server: in the order of their coming
  // Whether somebody has proved on it who they are. Thread-safe.
  bool proved() const;
  // Since when it waits for a request; nullopt: one is under way. Thread-safe.
  std::optional<server::MonotonicTime> idle() const;

 private:
  using Parser = http::request_parser<http::buffer_body>;
  // A request, whose body may not have come yet.
  struct Request {
    HttpHead head;
    Parser parser;
    bool is_1_0 = false;
    bool head_only = false;  // HEAD: nobody wants the answer's body
    server::MonotonicTime began;
    HeaderFields cors;        // for every answer to it
    bool of_program = false;  // whose answer is passed on as it is
  };
  // Of a body, at a time.
  static constexpr size_t kPieceBytes = 16 << 10;
  enum class Piece { kSome, kEnd, kGone, kSlow, kBad };
  class HeldRequest;

  // Returns whether another request may follow.
  net::awaitable<bool> ServeOne();
  // Reads a head. Returns what is wrong with it, to be answered. kGone is true
  // when nobody is there to be answered.
  net::awaitable<std::optional<HttpAnswer>> ReadHead(Request& request,
                                                     bool& gone);
  // Pages of the gateway's own; nullopt: it is a call.
  std::optional<HttpAnswer> Page(const HttpHead& head) const;

  // What http_ports.cc does: a request for a program in a session.
  class PortUse;
  net::awaitable<bool> ServePort(Request& request, PortTarget target);
  std::optional<HttpAnswer> ProvePort(const Request& request,
                                      PortTarget& target, PortProof& proof,
                                      PortUse& use) const;
  std::optional<HttpAnswer> ProveLink(const Request& request,
                                      PortTarget& target, PortProof& proof,
                                      PortUse& use) const;
  net::awaitable<bool> CarryPort(Request& request, const PortTarget& target,
                                 const PortProof& proof, PortUse& use);
  net::awaitable<void> SendBody(Request& request, PortUse& use);
  net::awaitable<bool> AnswerOfProgram(Request& request,
                                       const PortTarget& target, PortUse& use);
  net::awaitable<bool> PassBody(
      Request& request, const PortTarget& target, PortUse& use,
      http::response_parser<http::buffer_body>& parser);
  net::awaitable<void> CarryWebSocket(PortUse& use);

  net::awaitable<bool> ServeCall(Request& request);
  net::awaitable<bool> ServeUnary(Request& request, CallHead& call,
                                  const server::Identity& caller);
  net::awaitable<bool> ServeStream(Request& request, CallHead& call,
                                   const server::Identity& caller);
  struct StreamUse;
  // The first message, for whose method the client sends no other.
  net::awaitable<bool> ReadOnlyMessage(Request& request, StreamUse& use);
  // All messages to the node as they come, beside the answer.
  net::awaitable<void> SendMessages(Request& request, CallHead& call,
                                    StreamUse& use);
  // Puts what there is of the body into `use`. False: no more comes, or it is
  // wrong.
  net::awaitable<bool> ReadMessages(Request& request, StreamUse& use,
                                    std::string& space);
  net::awaitable<bool> AnswerStream(Request& request, const CallHead& call,
                                    const server::Identity& caller,
                                    StreamUse& use);
  // Begins the call, which is inner_ until it has ended.
  void Begin(const Request& request, CallHead& call);
  // How long a client may leave an answer unread.
  absl::Duration Patience() const;

  // The next bytes of the body, at most as many as `space` has.
  net::awaitable<Piece> ReadPiece(Request& request, std::string& space,
                                  std::string_view& piece,
                                  server::MonotonicTime until);
  net::awaitable<void> SendContinue(const Request& request);

  // Reads what is left of a body that nobody wants, if that is little, so that
  // the next request can be told from it. False: the client is gone.
  net::awaitable<bool> DropBody(Request& request);
  // Whether the next request can be told from this one, and is wanted.
  bool MayKeep(const Request& request) const;
  // Sends a whole answer. Returns whether another request may follow.
  net::awaitable<bool> Answer(Request& request, HttpAnswer answer);
  // The first lines of an answer. `length` nullopt: its end isn't known yet.
  std::string HeadOf(const Request& request, const HttpAnswer& answer,
                     std::optional<size_t> length, bool keep) const;

  const HttpShared& shared_;
  const server::Identity identity_;
  const std::shared_ptr<HttpSocket> socket_;
  net::io_context& loop_;
  const int64_t number_;  // in the table of peers
  // The call that is under way.
  std::shared_ptr<InnerCall> inner_;
  bool first_ = true;
  bool ending_ = false;
  // Of the clock; 0: a request is under way.
  std::atomic<int64_t> idle_since_ = 0;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_HTTP_CONNECTION_H_
