#include "sandbox/egress/parse/http_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

// The name under which we announce in messages that they came through a proxy:
// RFC 9110, section 7.6.3, allows a pseudonym.
constexpr std::string_view kPseudonym = "sandglass";

// The fields of RFC 9110, section 7.6.1, those with which proxies ask for
// credentials and get them (section 11.7), and HTTP2-Settings, which belongs to
// an Upgrade (RFC 7540, section 3.2.1).
constexpr std::array<std::string_view, 10> kHopByHop = {
    "connection",
    "proxy-connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-authentication-info",
    "http2-settings"};

// Fields that never concern one connection only: without them a message would
// end elsewhere or go elsewhere.
constexpr std::array<std::string_view, 3> kNeverListed = {
    "content-length", "transfer-encoding", "host"};

bool IsTokenByte(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         kMarks.find(c) != std::string_view::npos;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// Appends the elements of a list (RFC 9110, section 5.6.1.2); empty elements
// are skipped. Returns false when one isn't a token.
bool AppendTokens(std::string_view list, std::vector<std::string>& tokens) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view element = TrimBlanks(list.substr(0, comma));
    if (!element.empty()) {
      if (!IsToken(element)) return false;
      tokens.push_back(LowerAscii(element));
    }
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// Gateways that pass fields on as variables don't distinguish "_" from "-".
bool LooksLikeFraming(std::string_view name) {
  if (name.find('_') == std::string_view::npos) return false;
  std::string other(name);
  std::replace(other.begin(), other.end(), '_', '-');
  return IsFramingField(other);
}

std::string CheckConnection(const std::vector<std::string>& options) {
  for (const std::string_view name : kNeverListed) {
    if (std::find(options.begin(), options.end(), name) != options.end()) {
      return absl::StrCat("Connection lists ", AbslView(name),
                          ", which is not of one connection; leave it out");
    }
  }
  return "";
}

}  // namespace

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenByte);
}

bool IsFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), IsControl) &&
         TrimBlanks(text).size() == text.size();
}

bool HeadLines::Next(std::string_view& data) {
  if (problem_ != Problem::kNone) return false;
  if (line_ended_) {
    // An empty line before the first one doesn't count as the first; see the
    // parsers.
    first_line_ = first_line_ && line_.empty();
    line_.clear();
    line_ended_ = false;
  }
  size_t taken = 0;
  bool fits = true;
  while (taken < data.size() && !line_ended_ && fits) {
    fits = AppendByte(data[taken++]) && CheckSize();
  }
  data.remove_prefix(taken);
  return fits && line_ended_;
}

bool HeadLines::AppendByte(char c) {
  ++head_bytes_;
  if (c == '\n' && (after_cr_ || bare_lf_ == BareLf::kEndsLine)) {
    after_cr_ = false;
    line_ended_ = true;
    return true;
  }
  if (after_cr_) {
    words_ = "a CR without LF behind it; lines end with CRLF";
  } else if (c == '\n') {
    words_ = "a LF without CR before it; lines end with CRLF";
  } else if (c == '\r') {
    after_cr_ = true;
    return true;
  } else if (IsControl(c)) {
    words_ =
        absl::StrCat("a control character, ", Quoted(std::string_view(&c, 1)),
                     ", in the head; take it out");
  } else {
    line_.push_back(c);
    return true;
  }
  problem_ = Problem::kBadByte;
  return false;
}

bool HeadLines::CheckSize() {
  if (first_line_ && line_.size() > kMaxStartLineBytes) {
    problem_ = Problem::kLongStart;
  } else if (head_bytes_ > kMaxHeadBytes) {
    problem_ = Problem::kLongHead;
  }
  return problem_ == Problem::kNone;
}

bool FieldFacts::Lists(std::string_view option) const {
  return std::find(connection.begin(), connection.end(), option) !=
         connection.end();
}

std::string ParseFieldLine(std::string_view line, SpaceBeforeColon space,
                           std::vector<HttpField>& fields) {
  if (!line.empty() && IsBlank(line.front())) {
    return absl::StrCat("the header line ", Quoted(line),
                        " begins with white space; a header is one line");
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return absl::StrCat("the header line ", Quoted(line),
                        " has no colon; write \"Name: value\"");
  }
  std::string_view name = line.substr(0, colon);
  if (space == SpaceBeforeColon::kDropped) name = TrimBlanks(name);
  if (!IsToken(name)) {
    return absl::StrCat("the header name ", Quoted(name),
                        " is no token; it has letters, digits and "
                        "\"!#$%&'*+-.^_`|~\", and no space before the colon");
  }
  const std::string_view value = TrimBlanks(line.substr(colon + 1));
  fields.push_back({std::string(name), std::string(value)});
  return "";
}

std::string CollectFacts(const std::vector<HttpField>& fields,
                         FieldFacts& facts) {
  const std::pair<std::string_view, std::vector<std::string>*> values[] = {
      {"host", &facts.hosts},
      {"content-length", &facts.content_length},
      {"transfer-encoding", &facts.transfer_encoding},
      {"expect", &facts.expect}};
  for (const HttpField& field : fields) {
    for (const auto& [name, list] : values) {
      if (EqualsIgnoreCase(field.name, name)) list->push_back(field.value);
    }
    facts.upgrade |= EqualsIgnoreCase(field.name, "upgrade");
    if (EqualsIgnoreCase(field.name, "connection") &&
        !AppendTokens(field.value, facts.connection)) {
      return absl::StrCat("Connection is ", Quoted(field.value),
                          "; it takes names with commas between them");
    }
    if (LooksLikeFraming(field.name)) {
      return absl::StrCat("the header name ", Quoted(field.name),
                          " is taken for another by some servers; write \"-\" "
                          "for \"_\"");
    }
  }
  return CheckConnection(facts.connection);
}

std::optional<uint64_t> ParseContentLength(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (number > (kMaxContentLength - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number;
}

bool IsHopByHop(std::string_view name,
                const std::vector<std::string>& connection) {
  const std::string lower = LowerAscii(name);
  return std::find(kHopByHop.begin(), kHopByHop.end(), lower) !=
             kHopByHop.end() ||
         std::find(connection.begin(), connection.end(), lower) !=
             connection.end();
}

bool IsFramingField(std::string_view name) {
  return EqualsIgnoreCase(name, "content-length") ||
         EqualsIgnoreCase(name, "transfer-encoding");
}

void AppendField(std::string_view name, std::string_view value,
                 std::string& out) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void AppendFraming(const BodyFraming& framing, std::string& out) {
  if (framing.kind == BodyFraming::Kind::kLength) {
    AppendField("Content-Length", absl::StrCat(framing.length), out);
  } else if (framing.kind == BodyFraming::Kind::kChunked) {
    AppendField("Transfer-Encoding", "chunked", out);
  }
}

void AppendVia(int minor_version, std::string& out) {
  AppendField(
      "Via", absl::StrCat("1.", minor_version, " ", AbslView(kPseudonym)), out);
}

}  // namespace sandglass::egress
