#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the heads of requests and of responses have in common (RFC 9110, RFC
// 9112). These are pure functions: nothing here reads a socket or a clock.
namespace sandglass::egress {

// The most bytes of a head, with its line ends. Common servers accept 8 to 64
// KiB; a program may make us hold one such buffer for each connection.
inline constexpr size_t kMaxHeadBytes = size_t{64} << 10;
// The most bytes of the first line. RFC 9112, section 3, asks for at least
// 8000.
inline constexpr size_t kMaxStartLineBytes = size_t{8} << 10;
// The most field lines of a head. Browsers send about 30; Apache accepts 100.
inline constexpr size_t kMaxFields = 200;
// The longest method of IANA's registry has 17 letters.
inline constexpr size_t kMaxMethodBytes = 32;
// The largest length that is accepted: file offsets end there too.
inline constexpr uint64_t kMaxContentLength = (uint64_t{1} << 63) - 1;

// Says that a head isn't accepted. Nothing after it may be read, because it
// isn't known where the next one begins.
struct HttpRefusal {
  int status = 0;     // for the answer: 400 to 599
  std::string words;  // one printable line: what was wrong, what to do
};

struct HttpField {
  std::string name;   // as written; a token
  std::string value;  // without the white space around it; perhaps empty
};

// Where a body ends (RFC 9112, section 6.3).
struct BodyFraming {
  enum class Kind : uint8_t { kNone, kLength, kChunked, kUntilClose };
  Kind kind = Kind::kNone;
  uint64_t length = 0;  // kLength, in bytes; at most kMaxContentLength

  bool operator==(const BodyFraming&) const = default;
};

enum class HeadState : uint8_t { kNeedMore, kComplete, kRefused };

// Whether all of `text` is a token of RFC 9110, section 5.6.2. "" isn't one.
bool IsToken(std::string_view text);
// Whether `text` can be a field's value (RFC 9110, section 5.5): it has no
// control characters except tabs inside, and no white space around it. For code
// that adds fields to a head which is to be serialised.
bool IsFieldValue(std::string_view text);

// Splits a head into lines, byte by byte, and refuses bytes that no head may
// contain: NUL and other control characters, CR without LF and, by default, LF
// without CR (RFC 9112, section 2.2).
class HeadLines {
 public:
  enum class BareLf : uint8_t { kRefused, kEndsLine };
  enum class Problem : uint8_t { kNone, kBadByte, kLongStart, kLongHead };

  explicit HeadLines(BareLf bare_lf) : bare_lf_(bare_lf) {}

  // Consumes bytes from the front of `data`, at most up to the end of a line.
  // Returns true when a line has ended; it is in line() until the next call.
  // False means that more is needed, with everything consumed, or that there is
  // a problem.
  bool Next(std::string_view& data);

  const std::string& line() const { return line_; }
  Problem problem() const { return problem_; }
  // With kBadByte: what it is.
  const std::string& words() const { return words_; }

 private:
  bool AppendByte(char c);
  bool CheckSize();

  BareLf bare_lf_;
  Problem problem_ = Problem::kNone;
  bool after_cr_ = false;
  bool line_ended_ = false;
  bool first_line_ = true;
  size_t head_bytes_ = 0;
  std::string line_;
  std::string words_;
};

// The facts in a head's fields that concern the connection and the body.
struct FieldFacts {
  std::vector<std::string> hosts;           // values of Host
  std::vector<std::string> content_length;  // values of Content-Length
  std::vector<std::string> transfer_encoding;
  std::vector<std::string> expect;
  std::vector<std::string> connection;  // its options, in lower case
  bool upgrade = false;                 // there is an Upgrade field

  bool Lists(std::string_view option) const;
};

enum class SpaceBeforeColon : uint8_t { kRefused, kDropped };

// Reads one field line. Returns "" when the field was accepted and appended to
// `fields`.
std::string ParseFieldLine(std::string_view line, SpaceBeforeColon space,
                           std::vector<HttpField>& fields);

// Reads the facts from all fields of a head. Returns "" when `facts` is filled.
// It refuses a Connection field that isn't a list of tokens or lists a field
// that says where a message ends or goes to, and names that some servers take
// for such a field ("Content_Length").
std::string CollectFacts(const std::vector<HttpField>& fields,
                         FieldFacts& facts);

// Accepts only digits, and at most kMaxContentLength.
std::optional<uint64_t> ParseContentLength(std::string_view text);

// Whether a field concerns one connection only and isn't passed on: Connection
// and the fields that it lists, those of RFC 9110, section 7.6.1, what proxies
// say about themselves, and Trailer, since trailers are dropped.
bool IsHopByHop(std::string_view name,
                const std::vector<std::string>& connection);
// True for Content-Length and Transfer-Encoding, which are written anew.
bool IsFramingField(std::string_view name);

// Appends "Name: value" and a line end.
void AppendField(std::string_view name, std::string_view value,
                 std::string& out);
// Appends the field for this framing; nothing for kNone and kUntilClose.
void AppendFraming(const BodyFraming& framing, std::string& out);
// Appends what a proxy says about itself (RFC 9110, section 7.6.3), with the
// version in which the message came.
void AppendVia(int minor_version, std::string& out);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_
