#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_DNS_MESSAGE_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_DNS_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// DNS queries and the answers to them (RFC 1035), for a resolver that knows the
// addresses of a few names and nothing else.
namespace sandglass::egress {

// The most bytes of a query. With the longest name it has 275 bytes, and in
// addition what EDNS carries, which is at most padding to 128 (RFC 8467). It is
// also the size that we announce in EDNS: what gets through everywhere without
// fragments.
inline constexpr size_t kMaxDnsQueryBytes = 1232;
// The most bytes of an answer: RFC 1035, section 4.2.1. All of ours fit, so TC
// is never set.
inline constexpr size_t kMaxDnsAnswerBytes = 512;
// In seconds: RFC 2181, section 8.
inline constexpr uint32_t kMaxDnsTtl = 0x7fffffff;

// Types of records (RFC 1035, section 3.2.2; RFC 3596). Other types are handled
// as numbers.
inline constexpr uint16_t kDnsTypeA = 1;
inline constexpr uint16_t kDnsTypeAaaa = 28;

// RFC 1035, section 4.1.1; kBadVersion: RFC 6891, section 9.
enum class DnsCode : uint16_t {
  kNoError = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNameError = 3,  // NXDOMAIN
  kNotImplemented = 4,
  kRefused = 5,
  kBadVersion = 16,
};

struct DnsQuery {
  uint16_t id = 0;
  uint8_t opcode = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;  // RFC 4035, section 3.2.2
  bool edns = false;               // an OPT record: an answer needs one too
  // In lower case, without the final dot; "" is the root. Letters, digits, "-"
  // and "_" between dots; at most 253 bytes.
  std::string name;
  uint16_t type = 0;
  // The question as it was sent, for the answer: some clients check its upper
  // and lower case. Empty when it couldn't be read.
  std::string question;
};

struct ParsedDns {
  enum class Kind : uint8_t {
    kQuery,  // answer it
    kError,  // answer it with `code`
    kDrop,   // not a query: an answer could start a loop
  };
  Kind kind = Kind::kDrop;
  DnsQuery query;
  DnsCode code = DnsCode::kNoError;
  std::string words;  // for kError and kDrop: one line, what was wrong
};

// Reads one datagram, or one message of a stream. A valid query has one
// question, of class IN and without compression, and perhaps one OPT record of
// EDNS 0.
ParsedDns ParseDnsQuery(std::string_view message);

// Makes an answer without records. With kNoError it says that there are none of
// that type (NODATA). It has no SOA record, so that nobody caches it (RFC 2308,
// section 5).
std::string BuildDnsAnswer(const DnsQuery& query, DnsCode code);

// Makes an answer with addresses, of 4 or 16 bytes each in network order. It
// contains those of the query's type, as many as fit but at least 8; without
// any it is NODATA. `ttl` is in seconds; at most kMaxDnsTtl is sent.
std::string BuildDnsAddresses(const DnsQuery& query,
                              const std::vector<std::string>& addresses,
                              uint32_t ttl);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_DNS_MESSAGE_H_
