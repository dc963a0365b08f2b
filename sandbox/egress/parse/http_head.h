#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_HEAD_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_HEAD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/egress/parse/http_fields.h"

// Heads of requests, as a proxy reads and writes them (RFC 9112). Their senders
// are presumed hostile: everything that two servers could read differently is
// refused, and what is passed on is written anew, never copied.
namespace sandglass::egress {

enum class TargetForm : uint8_t {
  kAuthority,  // CONNECT host:port
  kAbsolute,   // GET http://host/path
  kOrigin,     // GET /path, with Host
};

// A name has up to 253 bytes and a dot; an address in brackets is shorter.
inline constexpr size_t kMaxHostBytes = 254;

struct RequestHead {
  std::string method;  // a token as written: case matters
  TargetForm form = TargetForm::kOrigin;
  // In lower case: a name of letters, digits, "-", "." and "_", or an IPv6
  // address in brackets; otherwise unchecked.
  std::string host;
  uint16_t port = 0;          // 1 to 65535
  uint16_t default_port = 0;  // the one that Host leaves out; of CONNECT none
  // What the server is asked for: from the first "/" on, with the query, as
  // written; "*" when OPTIONS is about the server itself. Empty for CONNECT.
  std::string path;
  // All fields in their order, including those that aren't passed on.
  std::vector<HttpField> fields;
  std::vector<std::string> connection;  // what Connection lists, small letters
  BodyFraming framing;                  // never kUntilClose
  int minor_version = 1;                // of HTTP/1: 0 or 1
  // Whether the client may send another request on this connection. Never with
  // HTTP/1.0: a proxy doesn't keep those connections open (RFC 9112, section
  // 9.3).
  bool keep_alive = false;
  // The client waits for 100 (Continue) before it sends the body.
  bool expect_continue = false;
  // The client wants to change protocols. The serialised head doesn't ask for
  // that.
  bool upgrade = false;
};

// Which requests are allowed on the connection on which they came.
struct RequestRules {
  bool proxy_forms = true;   // kAuthority and kAbsolute
  bool origin_form = false;  // on connections that don't know of the proxy
  // The port for a kOrigin whose Host has none: 80, or 443 inside TLS.
  uint16_t default_port = 80;
};

// Reads one head, whatever the pieces in which it arrives. The statuses of
// refusals: 400, 405 (CONNECT where it isn't possible), 414 and 431 (too long,
// RFC 6585), 417 (an unknown Expect), 501 (a method that is too long) and 505
// (not HTTP/1.0 or 1.1). One empty line before the head is skipped, as RFC
// 9112, section 2.2, asks.
class RequestHeadParser {
 public:
  explicit RequestHeadParser(RequestRules rules = {});

  // Consumes the head's bytes from the front of `data`, and none that follow
  // it. Pass each byte once. After kComplete or kRefused it consumes nothing
  // more and returns the same.
  HeadState Feed(std::string_view& data);

  // With kComplete. May be moved from.
  RequestHead& head() { return head_; }
  // With kRefused.
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  bool ParseLine(const std::string& line);
  bool ParseStartLine(std::string_view line);
  bool ParseVersion(std::string_view version);
  bool ParseTarget(std::string_view target);
  bool ParseAuthorityForm(std::string_view target);
  bool ParseAbsoluteForm(std::string_view target);
  bool ParseOriginForm(std::string_view target);
  bool Finish();
  bool ParseHost(const FieldFacts& facts);
  bool ParseFraming(const FieldFacts& facts);
  bool ParseExpect(const FieldFacts& facts);
  bool RefuseBytes();
  bool Refuse(int status, std::string words);

  RequestRules rules_;
  HeadLines lines_{HeadLines::BareLf::kRefused};
  HeadState state_ = HeadState::kNeedMore;
  bool skipped_empty_ = false;
  bool started_ = false;
  RequestHead head_;
  HttpRefusal refusal_;
};

struct HostAndPort {
  std::string host;   // as RequestHead::host
  uint16_t port = 0;  // 0: none was written
};

// Reads "host", "host:port", "[address]" or "[address]:port" (RFC 9110, section
// 7.2). Returns "" when it is in `authority`. User names and empty ports are
// refused.
std::string ParseAuthority(std::string_view text, HostAndPort& authority);

// The value of Host for a request; it leaves out the default port.
std::string HostValue(const RequestHead& head);

// The head for the server, in origin form and HTTP/1.1: Host from the target,
// in their order the fields that don't concern only this connection
// (IsHopByHop), and our own framing, Via and Connection. `keep_alive` is about
// the connection to the server. Not for CONNECT, whose head isn't passed on.
// Fields that were added have to be tokens with field values (http_fields.h),
// and must not be about framing.
std::string SerializeRequestHead(const RequestHead& head, bool keep_alive);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_HEAD_H_
