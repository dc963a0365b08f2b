#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/egress/parse/http_fields.h"

// Heads of responses (RFC 9112). As strict as those of requests, but for what
// servers are known to do and what is safe, since all that goes on is written
// anew:
//   a line that ends with LF alone (RFC 9112, section 2.2, allows to take it);
//   no space and no reason behind the status (older servers leave out both);
//   white space before a field's colon, which section 5.1 has proxies remove;
//   Content-Length several times with one value (section 6.3 allows it);
//   statuses above 599 (RFC 9110, section 15: as if they were 5xx).
namespace sandglass::egress {

struct ResponseHead {
  int status = 0;                       // 100 to 999
  std::string reason;                   // as written; perhaps empty
  int minor_version = 1;                // of HTTP/1: 0 or 1
  BodyFraming framing;                  // of the body that follows here
  std::vector<HttpField> fields;        // all, in their order
  std::vector<std::string> connection;  // what Connection lists, small letters
  // Of a response to HEAD, and of 304: what the body would have. In bytes.
  std::optional<uint64_t> length_elsewhere;
  // Whether the server takes another request on its connection, once the body
  // is read. Of an interim response it says nothing.
  bool keep_alive = false;

  // 1xx: another head follows. 101 is never taken, since Upgrade isn't asked.
  bool interim() const { return status < 200; }
};

// Reads one head, however it is cut. Refusals have status 502. They are:
// framing that can't be trusted (a Transfer-Encoding but "chunked", or with a
// Content-Length, or with HTTP/1.0; Content-Lengths that differ), folded lines,
// control characters, 101, and what is no HTTP/1.0 or 1.1.
class ResponseHeadParser {
 public:
  // Of the request that it answers: how long a body is depends on it.
  explicit ResponseHeadParser(std::string_view method) : method_(method) {}

  // Takes the head's bytes from the front of `data`, and none that are behind
  // it. Each byte is to be given once. After kComplete or kRefused it takes
  // nothing more and gives the same answer; for the head behind an interim
  // response make a new parser.
  HeadState Feed(std::string_view& data);

  // With kComplete. May be moved from.
  ResponseHead& head() { return head_; }
  // With kRefused.
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  bool TakeLine(const std::string& line);
  bool TakeStatusLine(std::string_view line);
  bool Finish();
  bool TakeFraming(const FieldFacts& facts);
  bool TakeLength(const std::vector<std::string>& values,
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

// How the body goes on to a client with that version of HTTP/1: as it came, but
// clients of 1.0 know no chunks and read until the connection is closed.
BodyFraming DownstreamFraming(const ResponseHead& head,
                              int client_minor_version);

// The head for the client, in HTTP/1.1: fields that are not of the server's
// connection alone (IsHopByHop) in their order, `framing` (DownstreamFraming),
// our own Via and Connection. `keep_alive` is about the connection to the
// client; with kUntilClose it can't be.
std::string SerializeResponseHead(const ResponseHead& head,
                                  const BodyFraming& framing, bool keep_alive);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_RESPONSE_HEAD_H_
