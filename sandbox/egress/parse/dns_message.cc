#include "sandbox/egress/parse/dns_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kMaxLabel = 63;      // RFC 1035, section 2.3.4
constexpr size_t kMaxWireName = 255;  // the same
constexpr uint16_t kClassIn = 1;
constexpr uint16_t kTypeOpt = 41;    // RFC 6891
constexpr size_t kOptBytes = 11;     // without options
constexpr size_t kRecordBytes = 12;  // of an answer, without its data

// Flags in the header's third and fourth byte.
constexpr uint16_t kResponse = 0x8000;
constexpr uint16_t kTruncated = 0x0200;
constexpr uint16_t kRecursionDesired = 0x0100;
constexpr uint16_t kRecursionAvailable = 0x0080;
constexpr uint16_t kCheckingDisabled = 0x0010;

// A pointer to the question's name, which comes directly after the header.
constexpr uint16_t kNamePointer = 0xc000 | kHeaderBytes;

void AppendShort(uint16_t number, std::string& out) {
  out.push_back(static_cast<char>(number >> 8));
  out.push_back(static_cast<char>(number & 0xff));
}

bool IsLabelByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view message) : message_(message) {}

  ParsedDns Parse() {
    if (!ParseHeader()) return std::move(parsed_);
    if (ParseQuestion() && ParseAdditional() && CheckQuestion()) {
      parsed_.kind = ParsedDns::Kind::kQuery;
    }
    return std::move(parsed_);
  }

 private:
  // Returns false when there is no use in reading on.
  bool ParseHeader() {
    if (message_.size() < kHeaderBytes) {
      parsed_.words = absl::StrCat("a DNS message has ", message_.size(),
                                   " bytes; its header has ", kHeaderBytes);
      return false;
    }
    parsed_.query.id = Short();
    const uint16_t flags = Short();
    if ((flags & kResponse) != 0) {
      parsed_.words = "a DNS message is an answer; send a query";
      return false;
    }
    parsed_.query.opcode = static_cast<uint8_t>(flags >> 11 & 0xf);
    parsed_.query.recursion_desired = (flags & kRecursionDesired) != 0;
    parsed_.query.checking_disabled = (flags & kCheckingDisabled) != 0;
    const uint16_t questions = Short();
    const uint16_t answers = Short();
    const uint16_t authorities = Short();
    additional_ = Short();
    if (parsed_.query.opcode != 0) {
      return Fail(DnsCode::kNotImplemented,
                  absl::StrCat("its opcode is ", parsed_.query.opcode,
                               "; 0 alone, a query, is answered"));
    }
    if (message_.size() > kMaxDnsQueryBytes) {
      return Malformed(absl::StrCat("it has ", message_.size(),
                                    " bytes; at most ", kMaxDnsQueryBytes,
                                    " are taken"));
    }
    if (questions != 1 || answers != 0 || authorities != 0 || additional_ > 1 ||
        (flags & kTruncated) != 0) {
      return Malformed(
          "it has not one question alone and perhaps EDNS behind it");
    }
    return true;
  }

  bool ParseQuestion() {
    const size_t begin = at_;
    std::string name;
    if (!ParseName(name)) return false;
    if (Left() < 4) return Malformed("its question is cut short");
    parsed_.query.type = Short();
    class_ = Short();
    parsed_.query.name = std::move(name);
    parsed_.query.question = std::string(message_.substr(begin, at_ - begin));
    return true;
  }

  bool ParseName(std::string& name) {
    const size_t begin = at_;
    while (true) {
      if (Left() == 0) return Malformed("its name is cut short");
      const auto size = static_cast<uint8_t>(message_[at_++]);
      if (size == 0) break;
      // The two high bits are set in pointers, and here there is nothing to
      // point at.
      if (size > kMaxLabel) return Malformed("its name is compressed");
      if (Left() < size) return Malformed("its name is cut short");
      const std::string_view label = message_.substr(at_, size);
      at_ += size;
      // The length byte of the root label, which is still to come, counts too.
      if (at_ - begin + 1 > kMaxWireName) {
        return Malformed("its name has more than 255 bytes");
      }
      readable_ &= std::all_of(label.begin(), label.end(), IsLabelByte);
      if (!name.empty()) name.push_back('.');
      name += LowerAscii(label);
    }
    return true;
  }

  // The only additional record may be OPT: RFC 6891, section 6.1.2.
  bool ParseAdditional() {
    if (additional_ == 1) {
      if (Left() < kOptBytes || message_[at_] != 0) {
        return Malformed("what is behind its question is no EDNS");
      }
      ++at_;
      const uint16_t type = Short();
      Short();  // the client's limit; our answers are shorter
      const uint16_t version = Short() & 0xff;
      Short();  // flags
      const uint16_t size = Short();
      if (type != kTypeOpt || size != Left()) {
        return Malformed("what is behind its question is no EDNS");
      }
      at_ += size;
      parsed_.query.edns = true;
      if (version != 0) {
        return Fail(DnsCode::kBadVersion,
                    absl::StrCat("its version of EDNS is ", version,
                                 "; 0 alone is known"));
      }
    }
    return Left() == 0 || Malformed("it goes on behind its end");
  }

  bool CheckQuestion() {
    if (class_ != kClassIn) {
      return Fail(DnsCode::kRefused, absl::StrCat("its class is ", class_,
                                                  "; 1 alone, IN, is "
                                                  "answered"));
    }
    if (!readable_) {
      return Fail(DnsCode::kRefused,
                  absl::StrCat("its name ", Quoted(parsed_.query.name),
                               " has bytes that no host name has"));
    }
    return true;
  }

  size_t Left() const { return message_.size() - at_; }
  uint16_t Short() {
    const auto high = static_cast<uint8_t>(message_[at_]);
    const auto low = static_cast<uint8_t>(message_[at_ + 1]);
    at_ += 2;
    return static_cast<uint16_t>(high << 8 | low);
  }

  bool Malformed(const std::string& words) {
    return Fail(DnsCode::kFormatError, words);
  }
  bool Fail(DnsCode code, const std::string& words) {
    parsed_.kind = ParsedDns::Kind::kError;
    parsed_.code = code;
    parsed_.words = absl::StrCat("a DNS query can't be answered: ", words);
    return false;
  }

  std::string_view message_;
  size_t at_ = 0;
  uint16_t additional_ = 0;
  uint16_t class_ = 0;
  bool readable_ = true;
  ParsedDns parsed_;
};

// RFC 1035, section 4.1.1.
std::string Begin(const DnsQuery& query, DnsCode code, size_t answers) {
  std::string out;
  AppendShort(query.id, out);
  const auto low = static_cast<uint16_t>(static_cast<uint16_t>(code) & 0xf);
  AppendShort(static_cast<uint16_t>(
                  kResponse | query.opcode << 11 |
                  (query.recursion_desired ? kRecursionDesired : 0) |
                  kRecursionAvailable |
                  (query.checking_disabled ? kCheckingDisabled : 0) | low),
              out);
  AppendShort(query.question.empty() ? 0 : 1, out);
  AppendShort(static_cast<uint16_t>(answers), out);
  AppendShort(0, out);
  AppendShort(query.edns ? 1 : 0, out);
  return out.append(query.question);
}

// RFC 6891, section 6.1: a query with EDNS gets an answer with EDNS.
void AppendOpt(const DnsQuery& query, DnsCode code, std::string& out) {
  if (!query.edns) return;
  out.push_back('\0');
  AppendShort(kTypeOpt, out);
  AppendShort(kMaxDnsQueryBytes, out);
  // The code's high bits, and the version, which is 0.
  AppendShort(static_cast<uint16_t>(static_cast<uint16_t>(code) >> 4 << 8),
              out);
  AppendShort(0, out);
  AppendShort(0, out);
}

void AppendAddress(const DnsQuery& query, const std::string& address,
                   uint32_t ttl, std::string& out) {
  AppendShort(kNamePointer, out);
  AppendShort(query.type, out);
  AppendShort(kClassIn, out);
  AppendShort(static_cast<uint16_t>(ttl >> 16), out);
  AppendShort(static_cast<uint16_t>(ttl & 0xffff), out);
  AppendShort(static_cast<uint16_t>(address.size()), out);
  out += address;
}

}  // namespace

ParsedDns ParseDnsQuery(std::string_view message) {
  return Parser(message).Parse();
}

std::string BuildDnsAnswer(const DnsQuery& query, DnsCode code) {
  std::string out = Begin(query, code, 0);
  AppendOpt(query, code, out);
  return out;
}

std::string BuildDnsAddresses(const DnsQuery& query,
                              const std::vector<std::string>& addresses,
                              uint32_t ttl) {
  size_t size = 0;
  if (query.type == kDnsTypeA) size = 4;
  if (query.type == kDnsTypeAaaa) size = 16;
  const size_t used =
      kHeaderBytes + query.question.size() + (query.edns ? kOptBytes : 0);
  const size_t room = (kMaxDnsAnswerBytes - used) / (kRecordBytes + size);
  std::vector<const std::string*> chosen;
  for (const std::string& address : addresses) {
    if (size != 0 && address.size() == size && chosen.size() < room) {
      chosen.push_back(&address);
    }
  }
  std::string out = Begin(query, DnsCode::kNoError, chosen.size());
  for (const std::string* address : chosen) {
    AppendAddress(query, *address, std::min(ttl, kMaxDnsTtl), out);
  }
  AppendOpt(query, DnsCode::kNoError, out);
  return out;
}

}  // namespace sandglass::egress
