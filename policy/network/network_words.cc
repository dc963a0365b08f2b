#include "policy/network/network_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/text/units.h"

namespace sandglass::policy {
namespace {

// Joins names as in a sentence: "A", "A and B", "A, B and C".
std::string Joined(const std::vector<std::string>& names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  const std::vector<std::string> before(names.begin(), names.end() - 1);
  return absl::StrCat(absl::StrJoin(before, ", "), " and ", names.back());
}

std::string HostWords(const HostPattern& host) {
  switch (host.kind()) {
    case HostPattern::Kind::kName:
      return host.name();
    case HostPattern::Kind::kSuffix:
      return absl::StrCat("all names below ", host.name());
    case HostPattern::Kind::kAddress:
      return absl::StrCat("the address ", host.ToString());
    case HostPattern::Kind::kRange:
      return absl::StrCat("the addresses ", host.ToString());
  }
  return "";
}

std::string RuleWords(const AllowedHost& rule) {
  std::string words = absl::StrCat("Programs may reach ", HostWords(rule.host),
                                   " on ", PortWords(rule.ports));
  if (!rule.methods.empty()) {
    absl::StrAppend(&words, ", with ", Joined(rule.methods), " requests alone");
  }
  if (rule.inspect) absl::StrAppend(&words, "; the proxy looks into TLS");
  if (!rule.secrets.empty()) {
    absl::StrAppend(&words, "; headers of requests may have the ",
                    rule.secrets.size() == 1 ? "secret " : "secrets ",
                    Joined(rule.secrets));
  }
  return words + ".";
}

std::string LimitWords(const NetworkLimits& limits) {
  return absl::StrCat("Each jail may have ", limits.connections_at_once,
                      " connections at once, ", limits.connections,
                      " in all and ", FormatBytes(limits.bytes),
                      " in both directions together; a connection has ",
                      FormatTime(limits.to_connect), " to be made and ",
                      FormatTime(limits.to_speak),
                      " for each head or TLS hello, and ends after ",
                      FormatTime(limits.idle), " without a byte.");
}

}  // namespace

std::vector<std::string> DescribeNetwork(const NetworkPolicy* network) {
  if (network == nullptr) return {"Programs have no network."};
  std::vector<std::string> words;
  for (const AllowedHost& rule : network->hosts) {
    words.push_back(RuleWords(rule));
  }
  words.push_back(LimitWords(network->limits));
  return words;
}

std::string HostAndPorts(const AllowedHost& rule) {
  return absl::StrCat(rule.host.ToString(), ": ", PortWords(rule.ports));
}

}  // namespace sandglass::policy
