#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_CLIENT_HELLO_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_CLIENT_HELLO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a TLS client says before anything is encrypted (RFC 8446, section 4.1.2;
// the same in TLS 1.0 to 1.2).
namespace sandglass::egress {

// The most bytes of a ClientHello without its header. With post-quantum keys it
// has about 2 KiB; a record can't have more than this (RFC 8446, section 5.1).
inline constexpr size_t kMaxClientHelloBytes = size_t{16} << 10;
// The most records that it may be spread over. Most clients use one; the bound
// keeps the records' headers below 5 KiB.
inline constexpr size_t kMaxClientHelloRecords = 1024;
// The longest DNS name (RFC 1035, section 2.3.4, as text).
inline constexpr size_t kMaxServerNameBytes = 253;
// The most bytes that a parser consumes: what a caller has to keep to pass on,
// in addition to whatever else came in the same read.
inline constexpr size_t kMaxClientHelloInput =
    kMaxClientHelloBytes + 4 + kMaxClientHelloRecords * 5;

struct ClientHello {
  // From the extension server_name (RFC 6066, section 3), in lower case:
  // letters, digits, "-", "." and "_", otherwise unchecked. Absent without the
  // extension.
  std::optional<std::string> server_name;
  // Whether encrypted_client_hello (draft-ietf-tls-esni) is there: server_name
  // may then be a cover. Browsers also send it filled with noise, which looks
  // the same.
  bool encrypted_client_hello = false;
  // The protocols that the client offers (RFC 7301), in its order; unchecked
  // bytes.
  std::vector<std::string> alpn;
};

// Reads one ClientHello out of records, whatever the pieces in which they and
// it arrive. It keeps a copy; the caller passes on the bytes themselves.
class ClientHelloParser {
 public:
  enum class State : uint8_t {
    kNeedMore,
    kComplete,
    kNotTls,   // shown by the first two bytes; also SSL 2
    kRefused,  // it began as TLS and is malformed or too large
  };

  // Pass each byte once, in order. Whatever comes after the hello in separate
  // records isn't examined. After an end the answer stays the same.
  State Feed(std::string_view data);

  State state() const { return state_; }
  // With kComplete. May be moved from.
  ClientHello& hello() { return hello_; }
  // With kRefused: one line that says what was wrong.
  const std::string& words() const { return words_; }

 private:
  size_t ParseHeader(std::string_view data);
  size_t ParseFragment(std::string_view data);
  void CheckHeader();
  void CheckMessage();
  void Refuse(const std::string& words);

  State state_ = State::kNeedMore;
  std::string header_;  // of the record, as much as has come
  size_t left_ = 0;     // bytes missing of the record's fragment
  size_t records_ = 0;
  std::string message_;  // the handshake message with its header of 4 bytes
  ClientHello hello_;
  std::string words_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_CLIENT_HELLO_H_
