#ifndef SANDGLASS_GATEWAY_EDGE_HTTP_SERVER_H_
#define SANDGLASS_GATEWAY_EDGE_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/edge/cors.h"
#include "gateway/ports/port_link.h"
#include "grpcpp/channel.h"
#include "sandbox/os/fd.h"
#include "server/edge/peers.h"
#include "server/edge/request_room.h"
#include "server/identity/identity.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_socket.h"

namespace sandglass::gateway {

// How much clients of HTTP may send, and how long they may take.
struct HttpBounds {
  size_t head_bytes = 32 << 10;
  // Of one message.
  size_t message_bytes = 64 << 20;
  size_t json_bytes = 16 << 20;
  // For the first request's head, and for each one's once it has begun.
  absl::Duration head = absl::Seconds(10);
  // Between two requests.
  absl::Duration idle = absl::Minutes(1);
  // A body may pause for so long; one that isn't a stream has to be there after
  // `body`.
  absl::Duration pause = absl::Seconds(30);
  absl::Duration body = absl::Minutes(5);
  // For so long a client may take nothing of an answer. It slows down the
  // program that writes it, so this is much.
  absl::Duration unread = absl::Minutes(10);
  size_t connections = 8192;
};

// What all connections use. What is referred to outlives the server.
struct HttpShared {
  server::PeerTable& peers;
  server::RequestRoom& room;
  const server::TlsContext& tls;
  // To this gateway itself.
  std::shared_ptr<grpc::Channel> channel;
  // Whether there are nodes. Thread-safe.
  std::function<bool()> ready;
  CorsConfig cors;
  // Below which each program in a session has a host of its own; empty: none
  // has. In small letters.
  std::string port_domain;
  // Null: there are no links.
  const LinkSigner* links = nullptr;
  HttpBounds bounds;
  std::string openapi;
  // Does something on a thread of its own; the server sees to it.
  std::function<void(std::function<void()>)> work;
};

// Serves HTTP/1.1 by the Connect protocol and gRPC-Web on connections that it
// is given. Has a few threads, on each of which many connections are served.
class HttpServer {
 public:
  static std::unique_ptr<HttpServer> Start(HttpShared shared);
  // Calls Stop without time.
  ~HttpServer();

  // Serves a connection on which `tls` goes on. When there are too many, the
  // one that waits longest goes of whoever has most of them, or else this one.
  // Thread-safe.
  void Offer(os::Fd connection, server::Identity identity,
             std::unique_ptr<server::TlsSocket> tls);

  // Ends connections whose client's certificate isn't good any more.
  void CheckPeers();
  size_t connections() const;

  // Ends idle connections, waits for those with a request under way to end, and
  // cuts those that are left when the time is over.
  void Stop(absl::Duration timeout);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_HTTP_SERVER_H_
