// Checks whether a profile's list of hosts makes sense as it is.

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "policy/network/network.h"
#include "policy/text/names.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxMethod = 32;  // bytes
// The characters of tokens besides letters and digits (RFC 9110 section 5.6.2).
constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";

absl::Status RefuseEntry(const std::string& pointer, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(pointer, ": ", why));
}

bool Overlap(const PortRange& a, const PortRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

absl::Status CheckPorts(const AllowedHost& rule, const std::string& pointer) {
  if (rule.ports.empty()) {
    return RefuseEntry(pointer, "is empty; leave it out for 80 and 443");
  }
  if (rule.ports.size() > kMaxPortRanges) {
    return RefuseEntry(
        pointer, absl::StrCat("has ", rule.ports.size(), " entries; at most ",
                              kMaxPortRanges, " are taken, ranges count once"));
  }
  for (size_t i = 0; i < rule.ports.size(); ++i) {
    const PortRange& range = rule.ports[i];
    const std::string entry = absl::StrCat(pointer, "/", i);
    for (const uint32_t port : {range.first, range.last}) {
      if (port == 0 || port > kMaxPort) {
        return RefuseEntry(
            entry,
            absl::StrCat(port, " is no port; ports are 1 to ", kMaxPort));
      }
    }
    if (range.first > range.last) {
      return RefuseEntry(
          entry, absl::StrCat("begins with ", range.first, " and ends with ",
                              range.last, "; write the lower port first"));
    }
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(rule.ports[j], range)) {
        return RefuseEntry(entry, absl::StrCat("has ports of ", pointer, "/", j,
                                               " again; name each port once"));
      }
    }
  }
  return absl::OkStatus();
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kMarks.find(c) != std::string_view::npos;
  });
}

absl::Status CheckMethod(const std::string& method,
                         const std::string& pointer) {
  if (!IsToken(method) || method.size() > kMaxMethod) {
    return RefuseEntry(pointer, absl::StrCat(Quoted(method),
                                             " is no method; write one as "
                                             "\"GET\", of at most ",
                                             kMaxMethod, " bytes"));
  }
  const std::string upper = absl::AsciiStrToUpper(method);
  if (upper != method) {
    return RefuseEntry(pointer,
                       absl::StrCat(Quoted(method),
                                    " has small letters, and methods are "
                                    "told apart by them; write ",
                                    Quoted(upper)));
  }
  if (method == "CONNECT") {
    return RefuseEntry(pointer,
                       "CONNECT asks for a tunnel and is no request to a host; "
                       "leave it out");
  }
  return absl::OkStatus();
}

// Only the two ends of a tunnel can see what goes through it, so the proxy has
// to be one of them or there must be no tunnels: on port 80 it only accepts
// plain HTTP. The message begins with `what`.
absl::Status CheckNoTunnel(const AllowedHost& rule, std::string_view what,
                           const std::string& pointer) {
  if (rule.inspect) return absl::OkStatus();
  for (const PortRange& range : rule.ports) {
    if (range == PortRange{kHttpPort, kHttpPort}) continue;
    return RefuseEntry(
        pointer,
        absl::StrCat(AbslView(what), " in tunnels (", PortWords({range}),
                     "); set \"inspect\", or write \"ports\": [", kHttpPort,
                     "] for plain HTTP alone"));
  }
  return absl::OkStatus();
}

absl::Status CheckMethods(const AllowedHost& rule, const std::string& pointer) {
  if (rule.methods.size() > kMaxMethods) {
    return RefuseEntry(
        pointer, absl::StrCat("has ", rule.methods.size(), " entries; at most ",
                              kMaxMethods, " are taken"));
  }
  for (auto each = rule.methods.begin(); each != rule.methods.end(); ++each) {
    const std::string entry =
        absl::StrCat(pointer, "/", each - rule.methods.begin());
    absl::Status status = CheckMethod(*each, entry);
    if (!status.ok()) return status;
    if (std::find(rule.methods.begin(), each, *each) != each) {
      return RefuseEntry(entry, absl::StrCat(Quoted(*each),
                                             " is there twice; name it "
                                             "once"));
    }
  }
  if (rule.methods.empty()) return absl::OkStatus();
  return CheckNoTunnel(rule, "can't be told apart", pointer);
}

absl::Status CheckSecrets(const AllowedHost& rule, const std::string& pointer) {
  if (rule.secrets.size() > kMaxSecrets) {
    return RefuseEntry(
        pointer, absl::StrCat("has ", rule.secrets.size(), " entries; at most ",
                              kMaxSecrets, " are taken"));
  }
  for (auto each = rule.secrets.begin(); each != rule.secrets.end(); ++each) {
    const std::string entry =
        absl::StrCat(pointer, "/", each - rule.secrets.begin());
    // Not shown: by mistake, it may be the secret itself.
    if (!IsSecretName(*each)) {
      return RefuseEntry(
          entry, absl::StrCat("is no secret's name; write the name that the "
                              "daemon knows it by, [A-Z][A-Z0-9_]*, of at "
                              "most ",
                              kMaxSecretName, " bytes"));
    }
    if (std::find(rule.secrets.begin(), each, *each) != each) {
      return RefuseEntry(
          entry, absl::StrCat(Quoted(*each), " is there twice; name it once"));
    }
  }
  if (rule.secrets.empty()) return absl::OkStatus();
  return CheckNoTunnel(rule, "can't be put in their place", pointer);
}

absl::Status CheckInspect(const AllowedHost& rule, const std::string& pointer) {
  const bool plain_alone =
      rule.ports == std::vector<PortRange>{{kHttpPort, kHttpPort}};
  if (!rule.inspect || !plain_alone) return absl::OkStatus();
  return RefuseEntry(pointer,
                     absl::StrCat("is for TLS, and port ", kHttpPort,
                                  " alone is plain HTTP, which is seen anyhow; "
                                  "leave it out"));
}

// A range is refused when all its addresses are of one such kind.
absl::Status CheckDestination(const HostPattern& host,
                              const std::string& pointer) {
  if (!host.range()) return absl::OkStatus();
  const IpAddress& first = host.range()->first();
  const AddressKind kind = KindOf(first);
  const std::optional<AddressRange> special = SpecialRangeOf(first);
  const bool whole = host.range()->is_one_address() ||
                     (special && special->prefix() <= host.range()->prefix());
  if (IsDestination(kind) || !whole) return absl::OkStatus();
  const std::string_view name = KindName(kind);
  return RefuseEntry(
      pointer, absl::StrCat(Quoted(host.ToString()), " is ", AbslView(name),
                            ", and no connection can be made to "
                            "such addresses; leave it out"));
}

// Ports for which there is a rule already.
struct Taken {
  PortRange ports;
  size_t rule;
};

// The ports of each pattern, by the first port of each range. The ranges don't
// overlap.
using Known = std::map<std::string, std::map<uint32_t, Taken>>;

// Checks that no earlier rule has the same pattern with one of these ports.
absl::Status CheckOnce(const AllowedHost& rule, size_t index, Known& known,
                       const std::string& pointer) {
  const std::string pattern = rule.host.ToString();
  std::map<uint32_t, Taken>& taken = known[pattern];
  for (const PortRange& range : rule.ports) {
    auto next = taken.upper_bound(range.last);
    if (next != taken.begin() && Overlap((--next)->second.ports, range)) {
      return RefuseEntry(
          pointer,
          absl::StrCat(Quoted(pattern), " is in /network/hosts/",
                       next->second.rule, " already, with ",
                       PortWords({next->second.ports}), "; make them one"));
    }
    taken[range.first] = {range, index};
  }
  return absl::OkStatus();
}

absl::Status CheckNumber(const char* name, uint64_t value, uint64_t max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return RefuseEntry(
      absl::StrCat("/network/limits/", name),
      absl::StrCat(value, " is out of range; it takes 1 to ", max));
}

absl::Status CheckTime(const char* name, absl::Duration value) {
  if (value >= kShortestNetworkTime && value <= kLongestNetworkTime) {
    return absl::OkStatus();
  }
  return RefuseEntry(
      absl::StrCat("/network/limits/", name),
      absl::StrCat(absl::FormatDuration(value), " is out of range; it takes ",
                   absl::FormatDuration(kShortestNetworkTime), " to ",
                   absl::FormatDuration(kLongestNetworkTime)));
}

absl::Status CheckNetworkLimits(const NetworkLimits& limits) {
  for (absl::Status status :
       {CheckNumber("connections_at_once", limits.connections_at_once,
                    kMaxConnectionsAtOnce),
        CheckNumber("connections", limits.connections, kMaxConnections),
        CheckNumber("bytes", limits.bytes, kMaxNetworkBytes),
        CheckTime("connect_time", limits.to_connect),
        CheckTime("speak_time", limits.to_speak),
        CheckTime("idle_time", limits.idle)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Check(const NetworkPolicy& policy) {
  const std::string list = "/network/hosts";
  if (policy.hosts.empty()) {
    return RefuseEntry(list,
                       "is empty, so nothing could be reached; name a host, or "
                       "leave \"network\" out");
  }
  if (policy.hosts.size() > kMaxHosts) {
    return RefuseEntry(
        list, absl::StrCat("has ", policy.hosts.size(), " entries; at most ",
                           kMaxHosts, " are taken"));
  }
  Known known;
  for (size_t i = 0; i < policy.hosts.size(); ++i) {
    const AllowedHost& rule = policy.hosts[i];
    const std::string pointer = absl::StrCat(list, "/", i);
    absl::Status status = CheckPorts(rule, pointer + "/ports");
    if (status.ok()) status = CheckInspect(rule, pointer + "/inspect");
    if (status.ok()) status = CheckMethods(rule, pointer + "/methods");
    if (status.ok()) status = CheckSecrets(rule, pointer + "/secrets");
    if (status.ok()) status = CheckDestination(rule.host, pointer + "/host");
    if (status.ok()) status = CheckOnce(rule, i, known, pointer + "/host");
    if (!status.ok()) return status;
  }
  return CheckNetworkLimits(policy.limits);
}

}  // namespace sandglass::policy
