#include "policy/network/network_profile.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr char kOnePort[] =
    "a port from 1 to 65535, or several as \"8000-8999\"";

std::optional<uint32_t> ParsePort(absl::string_view text) {
  uint32_t port = 0;
  // SimpleAtoi also accepts signs and white space.
  if (text.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(text, &port) || port > kMaxPort) {
    return std::nullopt;
  }
  return port;
}

// Parses a range such as "8000-8999".
std::optional<PortRange> ParseRange(const std::string& text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  if (ends.size() != 2) return std::nullopt;
  const auto first = ParsePort(ends[0]);
  const auto last = ParsePort(ends[1]);
  if (!first || !last) return std::nullopt;
  return PortRange{*first, *last};
}

std::optional<PortRange> ParsePorts(const JsonItem& item) {
  if (const auto text = item.String()) return ParseRange(*text);
  const auto number = item.Unsigned();
  if (!number || *number > kMaxPort) return std::nullopt;
  const auto port = static_cast<uint32_t>(*number);
  return PortRange{port, port};
}

std::vector<PortRange> ReadPorts(JsonObject& object) {
  std::vector<PortRange> ports;
  for (JsonItem& item : object.Items("ports")) {
    if (const auto range = ParsePorts(item)) {
      ports.push_back(*range);
    } else {
      item.Refuse(kOnePort);
    }
  }
  return ports;
}

// Returns nothing after an error.
std::optional<HostPattern> ReadPattern(JsonObject& profile,
                                       const std::string& text,
                                       const std::string& pointer) {
  absl::StatusOr<HostPattern> pattern = HostPattern::Parse(text);
  if (pattern.ok()) return *std::move(pattern);
  const absl::string_view message = pattern.status().message();
  profile.AddErrorAt(pointer, StdView(message));
  return std::nullopt;
}

std::vector<std::string> ReadMethods(JsonObject& object) {
  std::vector<std::string> methods =
      object.Strings("methods", std::vector<std::string>());
  // An empty list could be understood as allowing no methods.
  const std::optional<JsonItem> item = object.OptionalItem("methods");
  if (item && item->IsEmptyList()) {
    object.AddError("methods", "is empty; leave it out to mean all methods");
  }
  return methods;
}

// Reads {"host": …, "ports": …}.
std::optional<AllowedHost> ReadRule(JsonObject& object) {
  const std::string text = object.String("host");
  const std::optional<JsonItem> item = object.OptionalItem("host");
  std::optional<HostPattern> host;
  // Otherwise the error has been reported already.
  if (item && item->String()) host = ReadPattern(object, text, item->pointer());
  // All keys are asked for even after an error, so that none counts as unknown.
  std::vector<PortRange> ports;
  const bool has_ports = object.OptionalItem("ports").has_value();
  if (has_ports) ports = ReadPorts(object);
  const bool inspect = object.Bool("inspect", false);
  std::vector<std::string> methods = ReadMethods(object);
  std::vector<std::string> secrets =
      object.Strings("secrets", std::vector<std::string>());
  if (!host) return std::nullopt;
  AllowedHost rule = {.host = *std::move(host)};
  if (has_ports) rule.ports = std::move(ports);
  rule.inspect = inspect;
  rule.methods = std::move(methods);
  rule.secrets = std::move(secrets);
  return rule;
}

std::optional<AllowedHost> ReadHost(JsonObject& network, JsonItem& item) {
  if (const auto text = item.String()) {
    std::optional<HostPattern> host =
        ReadPattern(network, *text, item.pointer());
    if (!host) return std::nullopt;
    return AllowedHost{.host = *std::move(host)};
  }
  if (auto object = item.Object()) return ReadRule(*object);
  item.Refuse("a host such as \"example.org\", or an object with \"host\"");
  return std::nullopt;
}

NetworkLimits ReadNetworkLimits(JsonObject& object) {
  constexpr DurationRange kTimes = {kShortestNetworkTime, kLongestNetworkTime};
  NetworkLimits limits;
  limits.connections_at_once = static_cast<uint32_t>(
      object.Unsigned("connections_at_once", {1, kMaxConnectionsAtOnce},
                      limits.connections_at_once));
  limits.connections =
      object.Unsigned("connections", {1, kMaxConnections}, limits.connections);
  limits.bytes = object.ByteSize("bytes", {1, kMaxNetworkBytes}, limits.bytes);
  limits.to_connect =
      object.Duration("connect_time", kTimes, limits.to_connect);
  limits.to_speak = object.Duration("speak_time", kTimes, limits.to_speak);
  limits.idle = object.Duration("idle_time", kTimes, limits.idle);
  return limits;
}

// The place in the file for a pointer from Check: if a rule is only a string,
// its "/host" is the rule itself.
std::string PlaceInFile(JsonObject& profile, const std::string& pointer) {
  for (const JsonItem& item : profile.Object("network").Items("hosts")) {
    if (pointer == absl::StrCat(item.pointer(), "/host") && item.String()) {
      return item.pointer();
    }
  }
  return pointer;
}

}  // namespace

std::shared_ptr<const NetworkPolicy> ReadNetwork(
    JsonObject& profile, const std::string& profile_name) {
  std::optional<JsonItem> item = profile.OptionalItem("network");
  if (!item || item->String() == "none") return nullptr;
  std::optional<JsonObject> object = item->Object();
  if (!object) {
    item->Refuse("\"none\", or an object with \"hosts\"");
    return nullptr;
  }
  auto network = std::make_shared<NetworkPolicy>();
  network->profile = profile_name;
  for (JsonItem& each : object->Items("hosts")) {
    if (auto host = ReadHost(*object, each)) {
      network->hosts.push_back(*std::move(host));
    }
  }
  if (auto limits = object->OptionalObject("limits")) {
    network->limits = ReadNetworkLimits(*limits);
  }
  return network;
}

void CheckNetwork(const NetworkPolicy& network, JsonObject& profile) {
  const absl::Status status = Check(network);
  if (status.ok()) return;
  // "/network/hosts/0: what is wrong"
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(status.message(), absl::MaxSplits(": ", 1));
  profile.AddErrorAt(PlaceInFile(profile, parts.first), parts.second);
}

}  // namespace sandglass::policy
