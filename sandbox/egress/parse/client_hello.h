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

// Of the ClientHello without its header. Those with post-quantum keys have
// about 2 KiB; a record has no more than this (RFC 8446, section 5.1).
inline constexpr size_t kMaxClientHelloBytes = size_t{16} << 10;
// Records that it may be spread over. Most clients use one; the bound keeps
// their headers below 5 KiB.
inline constexpr size_t kMaxClientHelloRecords = 1024;
// Of a DNS name (RFC 1035, section 2.3.4, as text).
inline constexpr size_t kMaxServerNameBytes = 253;
// Bytes that a parser takes at most: what a caller keeps to pass on, plus
// whatever came behind in the same read.
inline constexpr size_t kMaxClientHelloInput =
    kMaxClientHelloBytes + 4 + kMaxClientHelloRecords * 5;

struct ClientHello {
  // Of the extension server_name (RFC 6066, section 3), in small letters:
  // letters, digits, "-", "." and "_", not checked further. Absent without the
  // extension.
  std::optional<std::string> server_name;
  // encrypted_client_hello (draft-ietf-tls-esni) is there: server_name may be a
  // cover. Browsers send it filled with noise as well; the two look alike.
  bool encrypted_client_hello = false;
  // Protocols that it offers (RFC 7301), in its order; any bytes.
  std::vector<std::string> alpn;
};

// Reads one ClientHello out of records, however they and it are cut. It keeps a
// copy; the caller passes on the bytes themselves.
class ClientHelloParser {
 public:
  enum class State : uint8_t {
    kNeedMore,
    kComplete,
    kNotTls,   // told by the first two bytes; SSL 2's hello is none either
    kRefused,  // it began as TLS and is malformed or too large
  };

  // Each byte is to be given once, in order. Whatever is behind the hello, in
  // records of their own, is not looked at. After an end the answer stays.
  State Feed(std::string_view data);

  State state() const { return state_; }
  // With kComplete. May be moved from.
  ClientHello& hello() { return hello_; }
  // With kRefused: what was wrong, one line.
  const std::string& words() const { return words_; }

 private:
  size_t TakeHeader(std::string_view data);
  size_t TakeFragment(std::string_view data);
  void CheckHeader();
  void CheckMessage();
  void Refuse(const std::string& words);

  State state_ = State::kNeedMore;
  std::string header_;  // of the record, as much as there is
  size_t left_ = 0;     // of the record's fragment
  size_t records_ = 0;
  std::string message_;  // the handshake message with its header of 4 bytes
  ClientHello hello_;
  std::string words_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_CLIENT_HELLO_H_
