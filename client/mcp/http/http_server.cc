#include "client/mcp/http/http_server.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

// For clang 14, Asio looks for an older header of coroutines than is there.
#define BOOST_ASIO_HAS_CO_AWAIT 1
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace sandglass::client {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = net::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using Message = http::response<http::buffer_body>;
using Serializer = http::response_serializer<http::buffer_body>;

// How long a stream may be silent.
constexpr auto kSilence = std::chrono::seconds(15);
// How long, and how much, the rest of a refused request is read and dropped.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kLingerBytes = 64 << 20;
// How long to wait when there are no descriptors left.
constexpr auto kBreath = std::chrono::milliseconds(100);
constexpr size_t kReadBytes = 64 << 10;
// Not a status: nobody is there to be told.
constexpr int kGone = -1;

// Makes an operation put its error there instead of throwing it.
auto Into(error_code& error) {
  return net::redirect_error(net::use_awaitable, error);
}

void CloseOnExec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

HttpRequest RequestOf(const Parser::value_type& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = std::string(message.target());
  request.path.resize(std::min(request.path.find('?'), request.path.size()));
  for (const auto& field : message) {
    request.headers.emplace(
        absl::AsciiStrToLower(std::string(field.name_string())),
        std::string(field.value()));
  }
  return request;
}

// Whether somebody else might see the body's end elsewhere.
bool IsAmbiguous(const HttpRequest& head, unsigned version) {
  if (!head.headers.contains("transfer-encoding")) return false;
  return version != 11 ||
         !absl::EqualsIgnoreCase(head.Header("transfer-encoding").value_or(""),
                                 "chunked");
}

// What connections share.
struct Server {
  const HttpBounds& bounds;
  const HttpService& service;
  std::set<class Connection*> connections = {};
};

// A client and its requests, one after the other. It lives as long as
// operations of it are under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Server& server)
      : server_(server),
        stream_(std::move(socket)),
        buffer_(server.bounds.head_bytes + kReadBytes),
        wake_(stream_.get_executor()) {
    server_.connections.insert(this);
  }
  ~Connection() { server_.connections.erase(this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  net::awaitable<void> Serve() {
    if (server_.connections.size() > server_.bounds.connections) {
      HttpReply answer{.response = server_.service.Failure(503)};
      co_await Send(answer, 11, /*keep=*/false);
    } else {
      while (co_await ServeOne()) {
      }
    }
    co_await Linger();
    Close();
  }

  // Ends what is under way.
  void Close() {
    gone_ = true;
    stream_.close();
    wake_.cancel();
  }

 private:
  // Returns whether another request may follow.
  net::awaitable<bool> ServeOne() {
    Parser parser;
    HttpReply answer;
    int status = co_await ReadHead(parser);
    if (status == kGone) co_return false;
    const HttpRequest head = RequestOf(parser.get());
    if (status == 0 && IsAmbiguous(head, parser.get().version())) status = 400;
    std::optional<HttpResponse> refusal;
    if (status == 0) refusal = server_.service.Refusal(head);
    if (status == 0 && !refusal) {
      status = co_await ReadBody(parser, head);
    }
    if (status == kGone) co_return false;
    if (status != 0) refusal = server_.service.Failure(status);
    // A body that has not been read can't be told from the next request, and an
    // answer to HEAD would have to be without one. When many are connected,
    // those that wait for nothing make room.
    const bool keep =
        status == 0 && parser.is_done() && parser.keep_alive() &&
        head.method != "HEAD" &&
        server_.connections.size() <= server_.bounds.connections / 2;
    if (refusal) {
      answer.response = *std::move(refusal);
    } else {
      HttpRequest request = head;
      request.body = std::move(parser.get().body());
      answer = server_.service.Answer(request);
    }
    const unsigned version = status == 0 ? parser.get().version() : 11;
    co_return co_await Send(answer, version, keep);
  }

  // Gives the operations that follow as much time as a client may take.
  void Allow() {
    stream_.expires_after(absl::ToChronoNanoseconds(server_.bounds.patience));
  }

  // Returns the status that says what is wrong with a request; 0 for nothing.
  static int StatusOf(const error_code& error) {
    if (!error) return 0;
    if (error == http::error::body_limit) return 413;
    if (error == http::error::header_limit ||
        error == http::error::buffer_overflow) {
      return 431;
    }
    const error_code end = http::error::end_of_stream;
    return error.category() != end.category() || error == end ||
                   error == http::error::partial_message
               ? kGone
               : 400;
  }

  void SkipEmptyLines() {
    const auto* const read = static_cast<const char*>(buffer_.cdata().data());
    const absl::string_view text(read, buffer_.size());
    buffer_.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
  }

  // Reads what precedes the body. Returns a status, or kGone.
  net::awaitable<int> ReadHead(Parser& parser) {
    error_code error;
    Allow();
    // Empty lines before a request mean nothing (RFC 9112, 2.2).
    for (SkipEmptyLines(); buffer_.size() == 0; SkipEmptyLines()) {
      buffer_.commit(co_await stream_.async_read_some(
          buffer_.prepare(kReadBytes), Into(error)));
      if (error) co_return kGone;
    }
    Allow();
    parser.header_limit(static_cast<uint32_t>(server_.bounds.head_bytes));
    // That is looked at when it is clear that the body is wanted.
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    co_await http::async_read_header(stream_, buffer_, parser, Into(error));
    co_return StatusOf(error);
  }

  // Reads the body; returns the same.
  net::awaitable<int> ReadBody(Parser& parser, const HttpRequest& head) {
    const auto length = parser.content_length();
    if (!length && !parser.chunked() && head.method == "POST") co_return 411;
    if (length && *length > server_.bounds.body_bytes) co_return 413;
    if (parser.is_done()) co_return 0;
    parser.body_limit(server_.bounds.body_bytes);
    error_code error;
    if (absl::EqualsIgnoreCase(head.Header("expect").value_or(""),
                               "100-continue") &&
        buffer_.size() == 0) {
      http::response<http::empty_body> go_on(http::status::continue_, 11);
      co_await http::async_write(stream_, go_on, Into(error));
    }
    co_await http::async_read(stream_, buffer_, parser, Into(error));
    co_return StatusOf(error);
  }

  // Writes what the serializer has: of a stream, the head or a piece. Returns
  // false when the client is gone.
  net::awaitable<bool> Write(Serializer& serializer) {
    error_code error;
    while (!gone_ && !error && !serializer.is_done() &&
           !(serializer.split() && serializer.is_header_done())) {
      Allow();
      co_await http::async_write_some(stream_, serializer, Into(error));
      if (error && error != http::error::need_buffer) gone_ = true;
    }
    co_return !gone_;
  }

  // Sends an answer, whose work it does before. Returns whether another request
  // may follow.
  net::awaitable<bool> Send(HttpReply& answer, unsigned version, bool keep) {
    const bool stream = !answer.filler.empty();
    // HTTP/1.0 knows no other end of a stream than the connection's.
    keep = keep && !(stream && version != 11);
    Message message(http::int_to_status(answer.response.status), version);
    message.keep_alive(keep);
    message.chunked(stream && version == 11);
    for (const auto& [name, value] : answer.response.headers) {
      message.set(name, value);
    }
    Serializer serializer(message);
    if (stream) {
      serializer.split(true);
      co_await Write(serializer);
      serializer.split(false);
    }
    if (answer.work) {
      co_await Work(answer, stream, message, serializer);
    }
    std::string& body = answer.response.body;
    if (!stream) message.content_length(body.size());
    message.body() = {body.empty() ? nullptr : body.data(), body.size(), false};
    if (!co_await Write(serializer)) co_return false;
    co_return keep;
  }

  // Does the answer's work on a thread, sends the pieces of a stream as they
  // come, and puts the rest into the response's body. Cancels the work when the
  // client goes away; returns when it has ended.
  net::awaitable<void> Work(HttpReply& answer, bool stream, Message& message,
                            Serializer& serializer) {
    bool done = false;
    std::string pieces;
    const auto post = [self = shared_from_this(),
                       loop = stream_.get_executor()](auto change) {
      net::post(loop, [self, change = std::move(change)] {
        change();
        self->wake_.cancel();
      });
    };
    std::thread thread([&] {
      std::string last = answer.work->Do([&](std::string piece) {
        post([&, piece = std::move(piece)] { pieces += piece; });
      });
      post([&, last = std::move(last)] {
        answer.response.body = last;
        done = true;
      });
    });
    const absl::Cleanup join = [&] { thread.join(); };
    working_ = true;
    WatchClient();
    bool cancelled = false;
    while (!done) {
      if (gone_ && !std::exchange(cancelled, true)) answer.work->Cancel();
      if (pieces.empty() || gone_ || !stream) {
        error_code woken;
        wake_.expires_after(kSilence);
        co_await wake_.async_wait(Into(woken));
        if (!woken && pieces.empty()) pieces = answer.filler;
      } else {
        std::string piece = std::exchange(pieces, {});
        message.body() = {piece.data(), piece.size(), true};
        co_await Write(serializer);
      }
    }
    working_ = false;
    stream_.cancel();
    answer.response.body.insert(0, pieces);
  }

  // Notices when the client goes away, and keeps further requests that it sends
  // instead. When there are more than the buffer holds, only writing will tell.
  void WatchClient() {
    stream_.socket().async_wait(Tcp::socket::wait_read,
                                [self = shared_from_this()](error_code error) {
                                  if (!error && self->working_) {
                                    self->HandleReadable();
                                  }
                                });
  }

  void HandleReadable() {
    error_code error;
    const size_t room = std::min(stream_.socket().available(error),
                                 buffer_.max_size() - buffer_.size());
    if (room > 0) {
      buffer_.commit(stream_.socket().read_some(buffer_.prepare(room), error));
      return WatchClient();
    }
    if (buffer_.size() == buffer_.max_size()) return;
    gone_ = true;
    wake_.cancel();
  }

  // Ends the connection in such a way that a client that is still sending
  // receives its answer: closing with unread data would reset the connection,
  // and the answer might be lost with it.
  net::awaitable<void> Linger() {
    error_code error;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, error);
    stream_.expires_after(kLinger);
    buffer_.clear();
    for (size_t got = 0; !error && got < kLingerBytes;) {
      got += co_await stream_.async_read_some(buffer_.prepare(kReadBytes),
                                              Into(error));
    }
  }

  Server& server_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;  // read, and not yet looked at
  net::steady_timer wake_;  // cancelled to wake an answer that waits for work
  bool working_ = false;
  bool gone_ = false;  // the client, or the server wants to end
};

net::awaitable<void> Accept(Tcp::acceptor& acceptor, Server& server) {
  net::steady_timer breath(acceptor.get_executor());
  for (;;) {
    error_code error;
    Tcp::socket socket = co_await acceptor.async_accept(Into(error));
    if (!acceptor.is_open()) co_return;
    if (error) {
      // For example when there are no descriptors left.
      breath.expires_after(kBreath);
      co_await breath.async_wait(Into(error));
      continue;
    }
    CloseOnExec(socket.native_handle());
    socket.set_option(Tcp::no_delay(true), error);
    if (server.connections.size() >= 2 * server.bounds.connections) continue;
    auto client = std::make_shared<Connection>(std::move(socket), server);
    const auto serve = [client]() { return client->Serve(); };
    net::co_spawn(acceptor.get_executor(), serve,
                  [client](const std::exception_ptr&) {});
  }
}

error_code Listen(const ListenAddress& address, Tcp::acceptor& acceptor) {
  error_code error;
  const Tcp::endpoint endpoint(net::ip::make_address(address.host, error),
                               address.port);
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (error) return error;
  CloseOnExec(acceptor.native_handle());
  acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  return error;
}

}  // namespace

absl::Status ServeHttp(
    const ListenAddress& address, const HttpBounds& bounds,
    const HttpService& service, const StopSignal& stop,
    const std::function<void(const std::string& address)>& listening) {
  Server server{bounds, service};
  net::io_context context(1);
  Tcp::acceptor acceptor(context);
  net::posix::stream_descriptor stopped(context);
  error_code error = Listen(address, acceptor);
  if (!error) stopped.assign(fcntl(stop.fd(), F_DUPFD_CLOEXEC, 0), error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), "cannot listen for HTTP");
  }
  std::ostringstream actual;
  actual << acceptor.local_endpoint();
  listening(actual.str());
  stopped.async_wait(stopped.wait_read, [&](error_code) {
    acceptor.close();
    for (Connection* each : server.connections) each->Close();
  });
  net::co_spawn(context, Accept(acceptor, server), net::detached);
  context.run();
  return absl::OkStatus();
}

}  // namespace sandglass::client
