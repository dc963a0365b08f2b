#include "gateway/ports/port_heads.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;

// Cookies of programs have this before their names in browsers, which then see
// to it that they are this host's alone (RFC 6265bis, 4.1.3.2). Without it a
// page could set one for the whole domain.
constexpr absl::string_view kHostPrefix = "__Host-";

// RFC 9110, 7.6.1, and what proxies have for themselves.
constexpr std::array kOfTheConnection = {
    "connection",         "keep-alive", "proxy-connection",
    "proxy-authenticate", "te",         "proxy-authorization",
    "transfer-encoding",  "trailer",    "upgrade",
    "http2-settings",     "expect",     "content-length"};
// What the gateway says itself.
constexpr std::array kOfTheGateway = {"host",
                                      "origin",
                                      "cookie",
                                      "forwarded",
                                      "x-forwarded-for",
                                      "x-forwarded-host",
                                      "x-forwarded-proto",
                                      "x-forwarded-prefix",
                                      "sandglass-token"};
// What browsers remember of a whole origin, which is the gateway's.
constexpr std::array kOfTheOrigin = {"set-cookie",
                                     "clear-site-data",
                                     "strict-transport-security",
                                     "alt-svc",
                                     "service-worker-allowed",
                                     "public-key-pins",
                                     "nel",
                                     "report-to",
                                     "reporting-endpoints",
                                     "origin-agent-cluster"};

// Pages on the gateway's own origin are of no origin: they read nothing of it,
// and have no cookies.
constexpr char kSandbox[] =
    "sandbox allow-downloads allow-forms allow-modals allow-popups "
    "allow-scripts";

template <typename Names>
bool IsOneOf(const Names& names, absl::string_view name) {
  return std::ranges::any_of(names, [name](const char* each) {
    return absl::EqualsIgnoreCase(each, name);
  });
}

absl::string_view ValueOf(const HttpHead& head, absl::string_view name) {
  for (const HeaderField& field : head.headers) {
    if (absl::EqualsIgnoreCase(field.name, name)) return field.value;
  }
  return {};
}

// The headers that "connection" names are of the connection, too.
std::set<std::string> NamedByConnection(const HeaderFields& headers) {
  std::set<std::string> names;
  for (const HeaderField& field : headers) {
    if (!absl::EqualsIgnoreCase(field.name, "connection")) continue;
    for (const absl::string_view name : absl::StrSplit(field.value, ',')) {
      names.insert(absl::AsciiStrToLower(absl::StripAsciiWhitespace(name)));
    }
  }
  return names;
}

std::vector<absl::string_view> Cookies(const HttpHead& request) {
  std::vector<absl::string_view> cookies;
  for (const HeaderField& field : request.headers) {
    if (!absl::EqualsIgnoreCase(field.name, "cookie")) continue;
    for (absl::string_view cookie : absl::StrSplit(field.value, ';')) {
      cookie = absl::StripAsciiWhitespace(cookie);
      if (!cookie.empty()) cookies.push_back(cookie);
    }
  }
  return cookies;
}

// Those that browsers vouch for as this host's own, by their own names.
std::string CookiesForProgram(const HttpHead& request) {
  std::vector<absl::string_view> own;
  for (absl::string_view cookie : Cookies(request)) {
    if (!absl::StartsWith(cookie, absl::StrCat(kLinkCookie, "=")) &&
        absl::ConsumePrefix(&cookie, kHostPrefix)) {
      own.push_back(cookie);
    }
  }
  return absl::StrJoin(own, "; ");
}

// A cookie of a program as one of its host alone.
std::string HostCookie(absl::string_view value) {
  std::vector<std::string> parts;
  for (const absl::string_view part : absl::StrSplit(value, ';')) {
    const absl::string_view text = absl::StripAsciiWhitespace(part);
    if (parts.empty()) {
      const bool has = absl::StartsWith(text, kHostPrefix);
      parts.push_back(absl::StrCat(has ? "" : kHostPrefix, text));
      continue;
    }
    const std::string name = absl::AsciiStrToLower(
        text.substr(0, std::min(text.find('='), text.size())));
    if (name == "max-age" || name == "expires" || name == "httponly" ||
        name == "samesite") {
      parts.push_back(std::string(text));
    }
  }
  parts.push_back("Secure");
  parts.push_back("Path=/");
  return absl::StrJoin(parts, "; ");
}

std::string LocalHost(const PortTarget& target) {
  return absl::StrCat("localhost:", target.port);
}

// A place that the program names as the client finds it.
std::string LocationFor(const PortTarget& target, absl::string_view place) {
  for (const absl::string_view scheme : {"http://", "https://"}) {
    absl::string_view rest = place;
    if (absl::ConsumePrefix(&rest, scheme) &&
        absl::ConsumePrefix(&rest, LocalHost(target)) &&
        (rest.empty() || rest.front() == '/' || rest.front() == '?')) {
      place = rest;
      if (rest.empty() || rest.front() != '/') {
        return absl::StrCat(target.prefix, "/", rest);
      }
      break;
    }
  }
  // "//" begins another host.
  if (absl::StartsWith(place, "/") && !absl::StartsWith(place, "//")) {
    return absl::StrCat(target.prefix, place);
  }
  return std::string(place);
}

}  // namespace

PortProof ProofOf(const PortTarget& target, const HttpHead& request) {
  PortProof proof;
  proof.token = std::string(ValueOf(request, kTokenHeader));
  if (!proof.token.empty()) return proof;
  proof.link = target.link;
  if (!proof.link.empty()) return proof;
  if (target.own_origin) {
    const size_t query = target.target.find('?');
    if (query != std::string::npos) {
      for (absl::string_view part :
           absl::StrSplit(target.target.substr(query + 1), '&')) {
        if (absl::ConsumePrefix(&part, absl::StrCat(kLinkParameter, "="))) {
          proof.link = std::string(part);
          return proof;
        }
      }
    }
    for (absl::string_view cookie : Cookies(request)) {
      if (absl::ConsumePrefix(&cookie, absl::StrCat(kLinkCookie, "="))) {
        proof.link = std::string(cookie);
        proof.by_cookie = true;
        return proof;
      }
    }
  }
  absl::string_view authorization = ValueOf(request, "authorization");
  constexpr absl::string_view kBearer = "bearer ";
  if (absl::StartsWithIgnoreCase(authorization, kBearer)) {
    proof.token = std::string(authorization.substr(kBearer.size()));
    proof.by_authorization = true;
  }
  return proof;
}

bool ComesFromElsewhere(const HttpHead& request) {
  const absl::string_view site = ValueOf(request, "sec-fetch-site");
  const absl::string_view mode = ValueOf(request, "sec-fetch-mode");
  const bool looks = request.method == "GET" || request.method == "HEAD";
  if (!site.empty() && site != "same-origin" && site != "none" &&
      !(looks && mode == "navigate" &&
        ValueOf(request, "sec-fetch-dest") == "document")) {
    return true;
  }
  const absl::string_view origin = ValueOf(request, "origin");
  return !origin.empty() &&
         !absl::EqualsIgnoreCase(
             origin, absl::StrCat("https://", ValueOf(request, "host")));
}

bool WantsWebSocket(const HttpHead& request) {
  return request.method == "GET" &&
         NamedByConnection(request.headers).contains("upgrade") &&
         absl::EqualsIgnoreCase(ValueOf(request, "upgrade"), "websocket");
}

std::string RequestHead(const PortRequest& from) {
  const HttpHead& request = from.request;
  const PortTarget& target = from.target;
  const bool socket = WantsWebSocket(request);
  const std::set<std::string> named = NamedByConnection(request.headers);
  std::string head =
      absl::StrCat(request.method, " ", target.target,
                   " HTTP/1.1\r\nhost: ", LocalHost(target), "\r\n");
  for (const HeaderField& field : request.headers) {
    const std::string name = absl::AsciiStrToLower(field.name);
    if (IsOneOf(kOfTheConnection, name) || IsOneOf(kOfTheGateway, name) ||
        named.contains(name) ||
        (name == "authorization" && from.proof.by_authorization)) {
      continue;
    }
    absl::StrAppend(&head, field.name, ": ", field.value, "\r\n");
  }
  const absl::string_view origin = ValueOf(request, "origin");
  const absl::string_view host = ValueOf(request, "host");
  if (!origin.empty()) {
    const bool own =
        target.own_origin &&
        absl::EqualsIgnoreCase(origin, absl::StrCat("https://", host));
    absl::StrAppend(
        &head, "origin: ",
        own ? absl::StrCat("http://", LocalHost(target)) : std::string(origin),
        "\r\n");
  }
  if (target.own_origin) {
    if (const std::string cookies = CookiesForProgram(request);
        !cookies.empty()) {
      absl::StrAppend(&head, "cookie: ", cookies, "\r\n");
    }
  }
  absl::StrAppend(&head, "x-forwarded-for: ", AbslView(from.address),
                  "\r\nx-forwarded-proto: https\r\nx-forwarded-host: ", host,
                  "\r\n");
  if (!target.prefix.empty()) {
    absl::StrAppend(&head, "x-forwarded-prefix: ", target.prefix, "\r\n");
  }
  if (socket) {
    absl::StrAppend(&head, "connection: upgrade\r\nupgrade: websocket\r\n");
  } else {
    absl::StrAppend(&head, "connection: close\r\n");
  }
  if (from.length.has_value()) {
    absl::StrAppend(&head, "content-length: ", *from.length, "\r\n");
  } else if (from.has_body) {
    absl::StrAppend(&head, "transfer-encoding: chunked\r\n");
  }
  return absl::StrCat(head, "\r\n");
}

HeaderFields ResponseHeaders(const PortTarget& target, uint64_t status,
                             const HeaderFields& headers) {
  constexpr uint64_t kSwitching = 101;
  const std::set<std::string> named = NamedByConnection(headers);
  HeaderFields out;
  for (const HeaderField& field : headers) {
    const std::string name = absl::AsciiStrToLower(field.name);
    const bool of_connection =
        IsOneOf(kOfTheConnection, name) || named.contains(name);
    if (of_connection && !(status == kSwitching && name == "upgrade")) {
      continue;
    }
    if (!target.own_origin && IsOneOf(kOfTheOrigin, name)) continue;
    if (name == "set-cookie") {
      out.push_back({"set-cookie", HostCookie(field.value)});
    } else if (name == "location") {
      out.push_back({"location", LocationFor(target, field.value)});
    } else {
      out.push_back({name, field.value});
    }
  }
  if (!target.own_origin) {
    out.push_back({"content-security-policy", kSandbox});
    out.push_back({"referrer-policy", "no-referrer"});
  }
  return out;
}

std::optional<std::string> TargetWithoutLink(const PortTarget& target) {
  const size_t query = target.target.find('?');
  if (query == std::string::npos) return std::nullopt;
  // Browsers take two slashes, also backward ones, for another host.
  if (absl::StartsWith(target.target, "//") ||
      target.target.find('\\') < query) {
    return std::nullopt;
  }
  std::vector<absl::string_view> kept;
  const std::string parameters = target.target.substr(query + 1);
  for (const absl::string_view part : absl::StrSplit(parameters, '&')) {
    if (!absl::StartsWith(part, absl::StrCat(kLinkParameter, "="))) {
      kept.push_back(part);
    }
  }
  const std::string rest = absl::StrJoin(kept, "&");
  return absl::StrCat(target.target.substr(0, query), rest.empty() ? "" : "?",
                      rest);
}

}  // namespace sandglass::gateway
