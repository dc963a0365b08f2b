#include "sandbox/egress/parse/http_head.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

constexpr std::string_view kHttp = "http://";

bool IsHostByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '.' || c == '_';
}

bool IsAddressByte(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == ':' ||
         c == '.';
}

// Returns 0 for an invalid port: an empty text, one that has other characters
// than digits, 0 itself, leading zeros, or too large a number.
// The end of the host in an authority; 0 when there is no host.
uint16_t ParsePort(std::string_view text) {
  if (text.empty() || text.size() > 5 || text[0] == '0') return 0;
  uint32_t port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    port = port * 10 + static_cast<uint32_t>(c - '0');
  }
  return port <= 0xffff ? static_cast<uint16_t>(port) : 0;
}

// Where the host of an authority ends; 0 when it has none.
size_t HostEnd(std::string_view text) {
  if (text.empty() || text[0] != '[') {
    return std::min(text.find(':'), text.size());
  }
  const size_t bracket = text.find(']');
  const bool inside =
      bracket != std::string_view::npos && bracket > 1 &&
      std::all_of(text.begin() + 1, text.begin() + bracket, IsAddressByte);
  return inside ? bracket + 1 : 0;
}

// Accepts printable ASCII but no "#", because what follows that is never sent.
// This is less strict than RFC 3986, as browsers are: the other characters have
// no meaning before a space.
bool IsPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '#';
  });
}

bool IsVersion(std::string_view text) {
  return text.size() == 8 && text.substr(0, 5) == "HTTP/" &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[5])) &&
         text[6] == '.' &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[7]));
}

}  // namespace

std::string ParseAuthority(std::string_view text, HostAndPort& authority) {
  if (text.find('@') != std::string_view::npos) {
    return absl::StrCat("the host ", Quoted(text),
                        " has a user name; send it in Authorization");
  }
  const size_t end = HostEnd(text);
  const std::string_view host = text.substr(0, end);
  const bool literal = !host.empty() && host[0] == '[';
  if (host.empty() || host.size() > kMaxHostBytes ||
      (!literal && !std::all_of(host.begin(), host.end(), IsHostByte))) {
    return absl::StrCat("the host ", Quoted(text),
                        " is none; write a name of letters, digits, \"-\", "
                        "\".\" and \"_\", or an address");
  }
  std::string_view rest = text.substr(end);
  uint16_t port = 0;
  if (!rest.empty()) {
    if (rest[0] == ':') port = ParsePort(rest.substr(1));
    if (port == 0) {
      return absl::StrCat("the host ", Quoted(text),
                          " has no port behind it; ports are 1 to 65535");
    }
  }
  authority = {LowerAscii(host), port};
  return "";
}

RequestHeadParser::RequestHeadParser(RequestRules rules) : rules_(rules) {}

HeadState RequestHeadParser::Feed(std::string_view& data) {
  while (state_ == HeadState::kNeedMore && lines_.Next(data)) {
    if (!ParseLine(lines_.line())) break;
  }
  if (state_ == HeadState::kNeedMore) RefuseBytes();
  return state_;
}

// Returns false when the head has ended, whether valid or not.
bool RequestHeadParser::ParseLine(const std::string& line) {
  if (!started_ && line.empty() && !skipped_empty_) {
    return skipped_empty_ = true;
  }
  if (!started_) return started_ = ParseStartLine(line);
  if (line.empty()) {
    if (Finish()) state_ = HeadState::kComplete;
    return false;
  }
  if (head_.fields.size() == kMaxFields) {
    return Refuse(431,
                  absl::StrCat("the head has more than ", kMaxFields,
                               " header lines; no more of them are taken"));
  }
  std::string words =
      ParseFieldLine(line, SpaceBeforeColon::kRefused, head_.fields);
  return words.empty() || Refuse(400, std::move(words));
}

bool RequestHeadParser::ParseStartLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return Refuse(400, absl::StrCat("the request line ", Quoted(line),
                                    " is none; write \"METHOD target "
                                    "HTTP/1.1\", with one space between"));
  }
  const std::string_view method = line.substr(0, first);
  if (!IsToken(method)) {
    return Refuse(400, absl::StrCat("the method ", Quoted(method),
                                    " is no token; write one such as \"GET\""));
  }
  if (method.size() > kMaxMethodBytes) {
    return Refuse(
        501, absl::StrCat("the method ", Quoted(method), " has ", method.size(),
                          " letters; at most ", kMaxMethodBytes, " are taken"));
  }
  head_.method = std::string(method);
  return ParseVersion(line.substr(last + 1)) &&
         ParseTarget(line.substr(first + 1, last - first - 1));
}

bool RequestHeadParser::ParseVersion(std::string_view version) {
  if (!IsVersion(version)) {
    return Refuse(400,
                  absl::StrCat("the request line ends with ", Quoted(version),
                               "; it ends with \"HTTP/1.1\""));
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Refuse(505, absl::StrCat("the version is ", AbslView(version),
                                    "; HTTP/1.1 and HTTP/1.0 are spoken here"));
  }
  head_.minor_version = version.back() - '0';
  return true;
}

bool RequestHeadParser::ParseTarget(std::string_view target) {
  // There can't be spaces before the first "/" either, because IsHostByte
  // excludes them.
  if (head_.method == "CONNECT") return ParseAuthorityForm(target);
  const bool origin = target == "*" || target.substr(0, 1) == "/";
  return origin ? ParseOriginForm(target) : ParseAbsoluteForm(target);
}

bool RequestHeadParser::ParseAuthorityForm(std::string_view target) {
  if (!rules_.proxy_forms) {
    return Refuse(405, "CONNECT is for connections to the proxy itself");
  }
  HostAndPort authority;
  std::string words = ParseAuthority(target, authority);
  if (words.empty() && authority.port == 0) {
    words = absl::StrCat("CONNECT names ", Quoted(target),
                         " without a port; write \"host:port\"");
  }
  if (!words.empty()) return Refuse(400, std::move(words));
  head_.form = TargetForm::kAuthority;
  head_.host = std::move(authority.host);
  head_.port = authority.port;
  return true;
}

bool RequestHeadParser::ParseAbsoluteForm(std::string_view target) {
  if (EqualsIgnoreCase(target.substr(0, 8), "https://")) {
    return Refuse(400, absl::StrCat("the target ", Quoted(target),
                                    " is for TLS; open a tunnel to its host "
                                    "with CONNECT"));
  }
  if (!EqualsIgnoreCase(target.substr(0, kHttp.size()), kHttp)) {
    return Refuse(400, absl::StrCat("the target ", Quoted(target),
                                    " is none; write \"http://host/path\""));
  }
  if (!rules_.proxy_forms) {
    return Refuse(400, absl::StrCat("the target ", Quoted(target),
                                    " is for proxies; write \"/path\", and "
                                    "the host in Host"));
  }
  target.remove_prefix(kHttp.size());
  const size_t end = std::min(target.find_first_of("/?#"), target.size());
  HostAndPort authority;
  std::string words = ParseAuthority(target.substr(0, end), authority);
  if (!words.empty()) return Refuse(400, std::move(words));
  const std::string_view path = target.substr(end);
  if (!IsPath(path)) {
    return Refuse(400, absl::StrCat("the path ", Quoted(path),
                                    " has a \"#\" or bytes outside printable "
                                    "ASCII; write them as %HH"));
  }
  head_.form = TargetForm::kAbsolute;
  head_.default_port = 80;
  head_.host = std::move(authority.host);
  head_.port = authority.port == 0 ? head_.default_port : authority.port;
  head_.path = std::string(path);
  if (path.empty()) {
    // RFC 9112, section 3.2.4.
    head_.path = head_.method == "OPTIONS" ? "*" : "/";
  } else if (path[0] == '?') {
    head_.path.insert(0, "/");
  }
  return true;
}

// In this form the host comes from Host.
bool RequestHeadParser::ParseOriginForm(std::string_view target) {
  if (!rules_.origin_form) {
    return Refuse(400, absl::StrCat("the target ", Quoted(target),
                                    " has no host; to a proxy write "
                                    "\"http://host/path\", or CONNECT"));
  }
  if (!IsPath(target) || (target == "*" && head_.method != "OPTIONS")) {
    return Refuse(400, absl::StrCat("the path ", Quoted(target),
                                    " is none; it begins with \"/\" and has "
                                    "printable ASCII without \"#\""));
  }
  head_.form = TargetForm::kOrigin;
  head_.default_port = rules_.default_port;
  head_.path = std::string(target);
  return true;
}

bool RequestHeadParser::Finish() {
  FieldFacts facts;
  std::string words = CollectFacts(head_.fields, facts);
  if (!words.empty()) return Refuse(400, std::move(words));
  if (!ParseHost(facts) || !ParseFraming(facts) || !ParseExpect(facts)) {
    return false;
  }
  head_.keep_alive = head_.minor_version == 1 && !facts.Lists("close");
  head_.upgrade = facts.upgrade && facts.Lists("upgrade");
  head_.connection = std::move(facts.connection);
  return true;
}

bool RequestHeadParser::ParseHost(const FieldFacts& facts) {
  const size_t count = facts.hosts.size();
  if (count > 1) {
    return Refuse(400, absl::StrCat("the head has ", count,
                                    " Host headers; write it once"));
  }
  if (count == 0) {
    if (head_.minor_version == 0 && head_.form != TargetForm::kOrigin) {
      return true;
    }
    return Refuse(400, "the head has no Host header; write it once");
  }
  HostAndPort authority;
  std::string words = ParseAuthority(facts.hosts[0], authority);
  if (!words.empty()) return Refuse(400, std::move(words));
  // Nothing of a CONNECT is passed on, and clients differ about the port in its
  // Host.
  if (head_.form == TargetForm::kAuthority) return true;
  if (authority.port == 0) authority.port = head_.default_port;
  if (head_.form == TargetForm::kOrigin) {
    head_.host = std::move(authority.host);
    head_.port = authority.port;
    return true;
  }
  if (authority.host == head_.host && authority.port == head_.port) return true;
  return Refuse(
      400, absl::StrCat("Host is ", Quoted(facts.hosts[0]),
                        " and the target's host is ", Quoted(HostValue(head_)),
                        "; both are to be the same"));
}

bool RequestHeadParser::ParseFraming(const FieldFacts& facts) {
  const auto& lengths = facts.content_length;
  const auto& codings = facts.transfer_encoding;
  if (lengths.size() + codings.size() > 1) {
    return Refuse(400,
                  "the head says more than once how long the body is; write "
                  "one Content-Length or one Transfer-Encoding");
  }
  if (!codings.empty()) {
    if (head_.minor_version == 0 || head_.form == TargetForm::kAuthority) {
      return Refuse(400,
                    "HTTP/1.0 and CONNECT have no Transfer-Encoding; leave "
                    "it out");
    }
    if (!EqualsIgnoreCase(codings[0], "chunked")) {
      return Refuse(400,
                    absl::StrCat("Transfer-Encoding is ", Quoted(codings[0]),
                                 "; \"chunked\" alone is taken"));
    }
    head_.framing.kind = BodyFraming::Kind::kChunked;
  }
  if (lengths.empty()) return true;
  const auto length = ParseContentLength(lengths[0]);
  if (!length) {
    return Refuse(
        400, absl::StrCat("Content-Length is ", Quoted(lengths[0]),
                          "; write one number, at most ", kMaxContentLength));
  }
  if (head_.form == TargetForm::kAuthority) {
    // A CONNECT has no body (RFC 9110, section 9.3.6), but some clients send 0.
    if (*length == 0) return true;
    return Refuse(400, "CONNECT has no body; leave out Content-Length");
  }
  head_.framing = {BodyFraming::Kind::kLength, *length};
  return true;
}

// RFC 9110, section 10.1.1.
bool RequestHeadParser::ParseExpect(const FieldFacts& facts) {
  for (const std::string& expect : facts.expect) {
    if (!EqualsIgnoreCase(expect, "100-continue")) {
      return Refuse(417, absl::StrCat("Expect is ", Quoted(expect),
                                      "; \"100-continue\" alone is known"));
    }
  }
  const bool has_body = head_.framing.kind == BodyFraming::Kind::kChunked ||
                        head_.framing.length > 0;
  head_.expect_continue =
      !facts.expect.empty() && head_.minor_version == 1 && has_body;
  return true;
}

bool RequestHeadParser::RefuseBytes() {
  switch (lines_.problem()) {
    case HeadLines::Problem::kNone:
      return true;
    case HeadLines::Problem::kBadByte:
      return Refuse(400, lines_.words());
    case HeadLines::Problem::kLongStart:
      return Refuse(
          414, absl::StrCat("the request line has more than ",
                            kMaxStartLineBytes, " bytes; shorten the target"));
    case HeadLines::Problem::kLongHead:
      return Refuse(431, absl::StrCat("the head has more than ", kMaxHeadBytes,
                                      " bytes; no more of it is taken"));
  }
  return true;
}

bool RequestHeadParser::Refuse(int status, std::string words) {
  state_ = HeadState::kRefused;
  refusal_ = {status, std::move(words)};
  return false;
}

std::string HostValue(const RequestHead& head) {
  if (head.port == head.default_port) return head.host;
  return absl::StrCat(head.host, ":", head.port);
}

std::string SerializeRequestHead(const RequestHead& head, bool keep_alive) {
  std::string out = absl::StrCat(head.method, " ", head.path, " HTTP/1.1\r\n");
  AppendField("Host", HostValue(head), out);
  for (const HttpField& field : head.fields) {
    if (EqualsIgnoreCase(field.name, "host") ||
        EqualsIgnoreCase(field.name, "expect") || IsFramingField(field.name) ||
        IsHopByHop(field.name, head.connection)) {
      continue;
    }
    AppendField(field.name, field.value, out);
  }
  if (head.expect_continue) AppendField("Expect", "100-continue", out);
  AppendFraming(head.framing, out);
  AppendVia(head.minor_version, out);
  if (!keep_alive) AppendField("Connection", "close", out);
  return out.append("\r\n");
}

}  // namespace sandglass::egress
