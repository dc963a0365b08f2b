#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/egress/parse/http_fields.h"

// Heads of responses (RFC 9112). Parsed as strictly as those of requests,
// except for what servers are known to do and what is safe, because everything
// that is passed on is written anew:
//   a line that ends with LF alone (RFC 9112, section 2.2, allows it);
//   no space and no reason after the status (older servers omit both);
//   white space before a field's colon, which section 5.1 has proxies remove;
//   several Content-Lengths with one value (section 6.3 allows it);
//   statuses above 599 (RFC 9110, section 15: as if they were 5xx).
namespace sandglass::egress {

struct ResponseHead {
  int status = 0;                       // 100 to 999
  std::string reason;                   // as written; perhaps empty
  int minor_version = 1;                // of HTTP/1: 0 or 1
  BodyFraming framing;                  // of the body that follows this head
  std::vector<HttpField> fields;        // all, in their order
  std::vector<std::string> connection;  // what Connection lists, small letters
  // For a response to HEAD, and for 304: the length in bytes that the body
  // would have.
  std::optional<uint64_t> length_elsewhere;
  // Whether the server accepts another request on its connection once the body
  // has been read. An interim response doesn't say.
  bool keep_alive = false;

  // 1xx: another head follows. 101 is never accepted, since Upgrade isn't asked
  // for.
  bool interim() const { return status < 200; }
};

// Reads one head, whatever the pieces in which it arrives. Refusals have status
// 502. The reasons are: framing that can't be trusted (a Transfer-Encoding
// other than "chunked", or together with a Content-Length or with HTTP/1.0;
// Content-Lengths that differ), folded lines, control characters, 101, and
// anything but HTTP/1.0 or 1.1.
class ResponseHeadParser {
 public:
  // `method` is that of the request: how long a body is depends on it.
  explicit ResponseHeadParser(std::string_view method) : method_(method) {}

  // Consumes the head's bytes from the front of `data`, and none that follow
  // it. Pass each byte once. After kComplete or kRefused it consumes nothing
  // more and returns the same; make a new parser for the head after an interim
  // response.
  HeadState Feed(std::string_view& data);

  // With kComplete. May be moved from.
  ResponseHead& head() { return head_; }
  // With kRefused.
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  bool ParseLine(const std::string& line);
  bool ParseStatusLine(std::string_view line);
  bool Finish();
  bool ParseFraming(const FieldFacts& facts);
  bool ParseLength(const std::vector<std::string>& values,
                   std::optional<uint64_t>& length);
  bool BodyIsEmpty() const;
  bool RefuseBytes();
  bool Refuse(const std::string& words);

  std::string method_;
  HeadLines lines_{HeadLines::BareLf::kEndsLine};
  HeadState state_ = HeadState::kNeedMore;
  bool started_ = false;
  ResponseHead head_;
  HttpRefusal refusal_;
};

// The framing with which the body is passed on to a client of that version of
// HTTP/1: the same as it came in, except that clients of 1.0 don't know chunks
// and read until the connection is closed.
BodyFraming DownstreamFraming(const ResponseHead& head,
                              int client_minor_version);

// The head for the client, in HTTP/1.1: in their order the fields that don't
// concern only the server's connection (IsHopByHop), `framing` (from
// DownstreamFraming), and our own Via and Connection. `keep_alive` is about the
// connection to the client; it is impossible with kUntilClose.
std::string SerializeResponseHead(const ResponseHead& head,
                                  const BodyFraming& framing, bool keep_alive);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_
