#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What heads of requests and of responses have in common (RFC 9110, RFC 9112).
// Values in, values out: nothing here reads a socket or a clock.
namespace sandglass::egress {

// Of a whole head, with its line ends. Common servers take 8 to 64 KiB; a
// program may hold one such buffer for each connection.
inline constexpr size_t kMaxHeadBytes = size_t{64} << 10;
// Of the first line. RFC 9112, section 3, wants 8000 at least.
inline constexpr size_t kMaxStartLineBytes = size_t{8} << 10;
// Field lines of a head. Browsers send about 30; Apache takes 100.
inline constexpr size_t kMaxFields = 200;
// The longest method of IANA's registry has 17 letters.
inline constexpr size_t kMaxMethodBytes = 32;
// The largest length that is taken: file offsets end there too.
inline constexpr uint64_t kMaxContentLength = (uint64_t{1} << 63) - 1;

// A head can't be taken. Nothing behind it may be read: where the next one
// begins is not known.
struct HttpRefusal {
  int status = 0;     // to be answered: 400 to 599
  std::string words;  // one line of printable text; what was wrong, what to do
};

struct HttpField {
  std::string name;   // as written; a token
  std::string value;  // without the white space around it; perhaps empty
};

// How long a body is (RFC 9112, section 6.3).
struct BodyFraming {
  enum class Kind : uint8_t { kNone, kLength, kChunked, kUntilClose };
  Kind kind = Kind::kNone;
  uint64_t length = 0;  // kLength, in bytes; at most kMaxContentLength

  bool operator==(const BodyFraming&) const = default;
};

enum class HeadState : uint8_t { kNeedMore, kComplete, kRefused };

// Whether all of `text` is a token of RFC 9110, section 5.6.2; none is empty.
bool IsToken(std::string_view text);
// Whether it can be a field's value (RFC 9110, section 5.5): no control
// characters but tabs inside, no white space around it. For whoever adds fields
// to a head that is to be serialised.
bool IsFieldValue(std::string_view text);

// The first of that name, in any case; null when there is none.
const HttpField* FindField(const std::vector<HttpField>& fields,
                           std::string_view name);

// Cuts a head into lines, a byte at a time, and refuses bytes that no head has:
// NUL and other control characters, CR without LF and, unless told otherwise,
// LF without CR (RFC 9112, section 2.2).
class HeadLines {
 public:
  enum class BareLf : uint8_t { kRefused, kEndsLine };
  enum class Problem : uint8_t { kNone, kBadByte, kLongStart, kLongHead };

  explicit HeadLines(BareLf bare_lf) : bare_lf_(bare_lf) {}

  // Takes bytes from the front of `data` up to the end of a line at most.
  // Returns whether a line has ended; it is in line() until the next call.
  // False with everything taken: more is needed; with a problem: refused.
  bool Next(std::string_view& data);

  const std::string& line() const { return line_; }
  Problem problem() const { return problem_; }
  // Of a kBadByte, what it is.
  const std::string& words() const { return words_; }

 private:
  bool TakeByte(char c);
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

// What of a head's fields is about the connection and the body.
struct FieldFacts {
  std::vector<std::string> hosts;           // values of Host
  std::vector<std::string> content_length;  // values of Content-Length
  std::vector<std::string> transfer_encoding;
  std::vector<std::string> expect;
  std::vector<std::string> connection;  // its options, in small letters
  bool upgrade = false;                 // an Upgrade field

  bool Lists(std::string_view option) const;
};

enum class SpaceBeforeColon : uint8_t { kRefused, kDropped };

// One field line. Empty words: it was taken and appended to `fields`.
std::string ParseFieldLine(std::string_view line, SpaceBeforeColon space,
                           std::vector<HttpField>& fields);

// Of all fields of a head. Empty words: `facts` is filled. Refused are a
// Connection that is no list of tokens or names a field that says where a
// message ends or goes, and names that some servers take for such a field
// ("Content_Length").
std::string CollectFacts(const std::vector<HttpField>& fields,
                         FieldFacts& facts);

// Digits only; at most kMaxContentLength.
std::optional<uint64_t> ParseContentLength(std::string_view text);

// Whether a field is of one connection and not passed on: Connection and what
// it lists, those of RFC 9110, section 7.6.1, what proxies say of themselves,
// and Trailer, since trailers are dropped.
bool IsHopByHop(std::string_view name,
                const std::vector<std::string>& connection);
// Content-Length and Transfer-Encoding, which are written anew.
bool IsFramingField(std::string_view name);

// Appends "Name: value" and a line end.
void AppendField(std::string_view name, std::string_view value,
                 std::string& out);
// Appends the field that says so; none for kNone and kUntilClose.
void AppendFraming(const BodyFraming& framing, std::string& out);
// What a proxy says of itself (RFC 9110, section 7.6.3), with the version that
// the message came in.
void AppendVia(int minor_version, std::string& out);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_HTTP_FIELDS_H_
