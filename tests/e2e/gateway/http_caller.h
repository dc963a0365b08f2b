#ifndef SANDGLASS_TESTS_E2E_GATEWAY_HTTP_CALLER_H_
#define SANDGLASS_TESTS_E2E_GATEWAY_HTTP_CALLER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "tests/support/network/tls_world.h"

namespace sandglass::testing {

// An answer of HTTP/1.1, as the client reads it.
struct HttpReply {
  int status = 0;    // 0: the other side ended the connection
  std::string head;  // in small letters
  std::string body;  // out of its chunks

  // The value of a header; empty when there is none.
  std::string Header(const std::string& name) const;
};

// A client of HTTP/1.1 over TLS that sends bytes of a test's choice. Whatever
// it waits for takes ten seconds at most.
class HttpCaller {
 public:
  HttpCaller(int port, const std::string& roots, const std::string& token = "",
             const std::vector<std::string>& protocols = {"http/1.1"},
             const std::string& from = "127.0.0.1");
  bool connected() const { return connected_; }
  std::string protocol() const { return tls_->protocol(); }

  bool Send(std::string_view bytes) { return tls_->Send(bytes); }
  // The next answer. `headless`: it is one to HEAD, and has no body.
  HttpReply Read(bool headless = false);
  // Up to the end of a chunk of a stream; empty at the stream's end.
  std::string ReadHead();
  std::string ReadChunk();
  std::string Receive(size_t bytes) { return tls_->Receive(bytes); }

  // A request with the token, and this content type where there is a body.
  HttpReply Get(const std::string& path, const std::string& headers = "");
  HttpReply Post(
      const std::string& path, const std::string& body,
      const std::string& headers = "content-type: application/json\r\n");
  // The bytes of such a request.
  std::string PostBytes(const std::string& path, const std::string& body,
                        const std::string& headers) const;
  // Whether the other side ends the connection within that time, whatever it
  // sends before.
  bool Ends(absl::Duration time);
  void HangUp() { socket_.reset(); }
  // The same while another thread sends.
  void Break();

 private:
  os::Fd socket_;
  std::optional<TlsEnd> tls_;
  const std::string token_;
  bool connected_ = false;
};

// A message of a stream of Connect or gRPC-Web.
std::string Envelope(std::string_view message, char flags = 0);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_GATEWAY_HTTP_CALLER_H_
