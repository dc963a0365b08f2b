#include "policy/network/hosts.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

constexpr std::string_view kStar = "*.";
constexpr std::string_view kLocal[] = {"localhost", "local", "internal",
                                       "home.arpa", "onion"};

absl::Status RefuseHost(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the host ", Quoted(text), " ", why));
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool IsBelow(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() + 1 &&
         name.substr(name.size() - suffix.size()) == suffix &&
         name[name.size() - suffix.size() - 1] == '.';
}

bool IsLabelByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '_';
}

std::string_view LastLabel(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

// Whether the end of a host is what the WHATWG's URL Standard regards as a
// number in any base; `name` is in lower case.
bool EndsInNumber(std::string_view name) {
  const std::string_view last = LastLabel(name);
  if (last.empty()) return false;
  if (last.find_first_not_of("0123456789") == std::string_view::npos) {
    return true;
  }
  return StartsWith(last, "0x") &&
         last.find_first_not_of("0123456789abcdef", 2) ==
             std::string_view::npos;
}

// Refuses bytes that no host can contain, however it is written.
absl::Status CheckBytes(std::string_view text) {
  if (text.empty()) {
    return RefuseHost(text, "is empty; write a name or an address");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      return RefuseHost(
          text, absl::StrCat("has a character outside ASCII at byte ", i,
                             "; write it in punycode, xn--…"));
    }
    if (byte <= ' ' || byte == 0x7f) {
      return RefuseHost(text,
                        absl::StrCat("has white space or a control character "
                                     "at byte ",
                                     i, "; leave it out"));
    }
  }
  const bool escaped = text.find('%') != std::string_view::npos;
  if (escaped && text.find(':') == std::string_view::npos) {
    return RefuseHost(text, "has a percent sign; write characters unescaped");
  }
  return absl::OkStatus();
}

// Errors show `text`; `label` is one of its labels.
absl::Status CheckLabel(std::string_view text, std::string_view label,
                        bool is_last) {
  if (label.empty()) {
    return RefuseHost(
        text,
        "has an empty label (two dots, or one at its start); write "
        "one dot between labels");
  }
  if (label.size() > kMaxHostLabel) {
    return RefuseHost(
        text, absl::StrCat("has a label of ", label.size(),
                           " bytes; labels have at most ", kMaxHostLabel));
  }
  const auto* const bad =
      std::find_if_not(label.begin(), label.end(), IsLabelByte);
  if (bad != label.end()) {
    return RefuseHost(text, absl::StrCat("has ", Quoted({bad, 1}),
                                         "; names have letters, digits, \"-\", "
                                         "\"_\" and dots"));
  }
  if (label.front() == '-' || label.back() == '-') {
    return RefuseHost(text,
                      "has a label that begins or ends with \"-\" (RFC 1123 "
                      "section 2.1); write it without");
  }
  if (is_last && label.find('_') != std::string_view::npos) {
    return RefuseHost(text,
                      "has \"_\" in its last label; write the name with its "
                      "domain");
  }
  return absl::OkStatus();
}

// Converts a name to its normal form.
absl::StatusOr<std::string> NormalName(std::string_view text) {
  std::string name(text);
  absl::AsciiStrToLower(&name);
  if (!name.empty() && name.back() == '.') name.pop_back();
  if (name.size() > kMaxHostName) {
    return RefuseHost(
        text, absl::StrCat("has ", name.size(), " bytes; names have at most ",
                           kMaxHostName));
  }
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('.', start), name.size());
    const auto label = std::string_view(name).substr(start, end - start);
    start = end + 1;
    absl::Status status = CheckLabel(text, label, end == name.size());
    if (!status.ok()) return status;
  }
  if (EndsInNumber(name)) {
    return RefuseHost(
        text,
        "ends in a number, so programs could take it for an address, "
        "each for another; write an address in its usual form, four "
        "decimal numbers without leading zeros (192.0.2.1)");
  }
  return name;
}

std::optional<IpAddress> AsV4(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return std::nullopt;
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(text);
  if (!address.ok()) return std::nullopt;
  return *address;
}

absl::StatusOr<IpAddress> ParseV6(std::string_view text,
                                  std::string_view inside) {
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(inside);
  if (!address.ok() || address->is_v4()) {
    return RefuseHost(text,
                      inside.find('%') == std::string_view::npos
                          ? "is no IPv6 address; write one as 2001:db8::1"
                          : "has a zone (\"%\"), which only means something "
                            "on one machine; write the address without it");
  }
  return *address;
}

// The host in a text that looks like a URL or like a host with a port.
std::string_view HostWithin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  const size_t at = text.rfind('@');
  if (at != std::string_view::npos) text.remove_prefix(at + 1);
  if (!text.empty() && text[0] == '[') {
    return text.substr(1, text.find(']') - 1);
  }
  return text.substr(0, text.find(':'));
}

// Refuses what people often write around a host.
absl::Status RefuseSurroundings(std::string_view text) {
  const std::string_view host = HostWithin(text);
  const std::string only =
      host.empty() ? "write the host only"
                   : absl::StrCat("write the host only, ", Quoted(host));
  if (text.find_first_of("/?#@") != std::string_view::npos) {
    return RefuseHost(text, absl::StrCat("looks like a URL; ", only));
  }
  const size_t colons =
      static_cast<size_t>(std::count(text.begin(), text.end(), ':'));
  if (colons == 1 || text.find("]:") != std::string_view::npos) {
    return RefuseHost(text, absl::StrCat("has a port; ", only,
                                         ", and the port in \"ports\""));
  }
  if (text.find_first_of("[]") != std::string_view::npos) {
    return RefuseHost(text, absl::StrCat("has brackets; ", only));
  }
  return absl::OkStatus();
}

// `text` begins with "*.".
absl::StatusOr<std::string> ParseSuffix(std::string_view text) {
  const std::string_view suffix = text.substr(kStar.size());
  if (AsV4(suffix) || suffix.find(':') != std::string_view::npos) {
    return RefuseHost(text,
                      "has an address behind \"*.\"; write a range as "
                      "192.0.2.0/24");
  }
  absl::StatusOr<std::string> name = NormalName(suffix);
  if (!name.ok()) return name.status();
  if (name->find('.') == name->npos) {
    return RefuseHost(text, absl::StrCat("would be all of \"", *name,
                                         "\"; name two labels or more, such as "
                                         "\"*.example.",
                                         *name, "\""));
  }
  if (IsLocalName(*name)) {
    return RefuseHost(
        text,
        "stands for local names, which have to be named one by one, "
        "without \"*\"");
  }
  return name;
}

absl::Status RefuseStar(std::string_view text) {
  if (text == "*") {
    return RefuseHost(text,
                      "would be every host; name hosts, or a suffix such as "
                      "\"*.example.org\"");
  }
  return RefuseHost(text,
                    "has \"*\" elsewhere than as its whole first label; write "
                    "\"*.example.org\" for all names below \"example.org\"");
}

}  // namespace

bool IsLocalName(std::string_view name) {
  return name.find('.') == std::string_view::npos ||
         std::any_of(std::begin(kLocal), std::end(kLocal),
                     [&](std::string_view local) {
                       return name == local || IsBelow(name, local);
                     });
}

std::string RequestedHost::ToString() const {
  return address_ ? address_->ToString() : name_;
}

absl::StatusOr<RequestedHost> ParseRequestedHost(std::string_view text,
                                                 HostSyntax syntax) {
  if (absl::Status status = CheckBytes(text); !status.ok()) return status;
  const bool brackets = text.front() == '[' && text.back() == ']';
  if (brackets && syntax == HostSyntax::kAuthority) {
    const auto address = ParseV6(text, text.substr(1, text.size() - 2));
    if (!address.ok()) return address.status();
    return RequestedHost(*address);
  }
  if (text.find(':') != std::string_view::npos) {
    if (brackets) {
      return RefuseHost(text, "has brackets; write it without them");
    }
    if (syntax == HostSyntax::kAuthority) {
      return RefuseHost(
          text,
          "has a colon; write an IPv6 address in brackets, such as "
          "[2001:db8::1]");
    }
    const auto address = ParseV6(text, text);
    if (!address.ok()) return address.status();
    return RequestedHost(*address);
  }
  if (const auto address = AsV4(text)) return RequestedHost(*address);
  absl::StatusOr<std::string> name = NormalName(text);
  if (!name.ok()) return name.status();
  return RequestedHost(*std::move(name));
}

absl::StatusOr<HostPattern> HostPattern::Parse(std::string_view text) {
  if (absl::Status status = CheckBytes(text); !status.ok()) return status;
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos &&
      IpAddress::Parse(text.substr(0, slash)).ok()) {
    const absl::StatusOr<AddressRange> range = AddressRange::Parse(text);
    if (!range.ok()) return range.status();
    return HostPattern(*range);
  }
  absl::Status status = RefuseSurroundings(text);
  if (!status.ok()) return status;
  if (StartsWith(text, kStar) && text.find('*', 1) == std::string_view::npos) {
    absl::StatusOr<std::string> suffix = ParseSuffix(text);
    if (!suffix.ok()) return suffix.status();
    return HostPattern(Kind::kSuffix, *std::move(suffix));
  }
  if (text.find('*') != std::string_view::npos) return RefuseStar(text);
  if (text.find(':') != std::string_view::npos) {
    const absl::StatusOr<IpAddress> address = ParseV6(text, text);
    if (!address.ok()) return address.status();
    if (address->Unmapped() != *address) {
      return RefuseHost(text, absl::StrCat("is an IPv4 address; write it as ",
                                           address->Unmapped().ToString()));
    }
    return HostPattern(AddressRange(*address));
  }
  if (const auto address = AsV4(text)) {
    return HostPattern(AddressRange(*address));
  }
  absl::StatusOr<std::string> name = NormalName(text);
  if (!name.ok()) return name.status();
  return HostPattern(Kind::kName, *std::move(name));
}

bool HostPattern::Matches(const RequestedHost& host) const {
  if (range_) return host.address() && range_->Contains(*host.address());
  return kind_ == Kind::kName ? host.name() == name_
                              : IsBelow(host.name(), name_);
}

size_t HostPattern::Narrowness() const {
  if (range_) return range_->prefix();
  return kind_ == Kind::kName ? std::numeric_limits<size_t>::max()
                              : name_.size();
}

std::string HostPattern::ToString() const {
  if (kind_ == Kind::kAddress) return range_->first().ToString();
  if (kind_ == Kind::kRange) return range_->ToString();
  return kind_ == Kind::kSuffix ? absl::StrCat("*.", name_) : name_;
}

}  // namespace sandglass::policy
