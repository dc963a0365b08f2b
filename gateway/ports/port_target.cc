#include "gateway/ports/port_target.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;

constexpr uint32_t kMaxPort = 65535;
constexpr size_t kMaxSession = 63;
constexpr size_t kMaxLink = 1024;

// 0: it is none.
uint32_t PortOf(absl::string_view text) {
  uint32_t port = 0;
  constexpr size_t kMostDigits = 5;
  if (text.empty() || text.size() > kMostDigits || text.front() == '0' ||
      !std::ranges::all_of(
          text, [](unsigned char c) { return absl::ascii_isdigit(c); }) ||
      !absl::SimpleAtoi(text, &port) || port > kMaxPort) {
    return 0;
  }
  return port;
}

std::string WithQuery(absl::string_view path, std::string_view query) {
  if (query.empty()) return std::string(path);
  return absl::StrCat(path, "?", AbslView(query));
}

// "8000-ses-1"
PortTarget OfLabel(absl::string_view label) {
  PortTarget target{.own_origin = true};
  const size_t dash = label.find('-');
  if (dash == absl::string_view::npos) return target;
  const absl::string_view session = label.substr(dash + 1);
  if (!IsSessionId({session.data(), session.size()})) return target;
  target.session = std::string(session);
  target.port = PortOf(label.substr(0, dash));
  return target;
}

// The part of a path up to its next slash, which is taken off with it. False:
// there is no slash.
bool TakePart(absl::string_view& path, absl::string_view& part) {
  const size_t slash = path.find('/');
  if (slash == absl::string_view::npos) return false;
  part = path.substr(0, slash);
  path.remove_prefix(slash);
  return true;
}

PortTarget OfPath(absl::string_view rest, std::string_view query) {
  PortTarget target;
  absl::string_view session;
  absl::string_view port;
  if (!TakePart(rest, session) ||
      !IsSessionId({session.data(), session.size()}) ||
      !absl::ConsumePrefix(&rest, "/") || !TakePart(rest, port)) {
    return target;
  }
  target.session = std::string(session);
  target.port = PortOf(port);
  target.prefix = absl::StrCat("/ports/", session, "/", port);
  target.target = WithQuery(rest, query);
  return target;
}

PortTarget OfLink(absl::string_view rest, std::string_view query) {
  PortTarget target;
  absl::string_view link;
  if (!TakePart(rest, link) || link.empty() || link.size() > kMaxLink) {
    return target;
  }
  target.link = std::string(link);
  target.port = kMaxPort;  // the link says which
  target.prefix = absl::StrCat("/links/", link);
  target.target = WithQuery(rest, query);
  return target;
}

}  // namespace

bool IsSessionId(std::string_view text) {
  return absl::StartsWith(AbslView(text), "ses-") &&
         text.size() <= kMaxSession &&
         std::ranges::all_of(text, [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

std::string HostOf(std::string_view session, uint32_t port,
                   std::string_view domain) {
  return absl::StrCat(port, "-", AbslView(session), ".", AbslView(domain));
}

std::optional<PortTarget> PortTargetOf(std::string_view domain,
                                       std::string_view host,
                                       std::string_view path,
                                       std::string_view query) {
  if (!domain.empty()) {
    std::string name = absl::AsciiStrToLower(AbslView(host));
    // The port, and the dot at the end of a whole name.
    name.resize(std::min(name.find(':'), name.size()));
    absl::string_view label = absl::StripSuffix(name, ".");
    if (absl::ConsumeSuffix(&label, absl::StrCat(".", AbslView(domain)))) {
      PortTarget target = OfLabel(label);
      target.target = WithQuery(AbslView(path), query);
      return target;
    }
  }
  absl::string_view rest = AbslView(path);
  if (absl::ConsumePrefix(&rest, "/ports/")) return OfPath(rest, query);
  if (absl::ConsumePrefix(&rest, "/links/")) return OfLink(rest, query);
  return std::nullopt;
}

}  // namespace sandglass::gateway
