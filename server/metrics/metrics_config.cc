#include "server/metrics/metrics_config.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "policy/network/address.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// Splits an address into host and port; both are empty when it doesn't have
// that form.
std::pair<std::string_view, std::string_view> Split(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = text.substr(0, colon);
  const bool bracketed =
      host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = policy::IpAddress::Parse(host);
  if (!address.ok() || address->is_v4() == bracketed) return {};
  return {host, text.substr(colon + 1)};
}

}  // namespace

absl::StatusOr<std::string> MetricsAddress(const std::string& text) {
  if (text.empty()) return text;
  const bool port_only =
      text.find_first_not_of("0123456789") == std::string::npos;
  std::string address = port_only ? absl::StrCat("127.0.0.1:", text) : text;
  const auto [host, port] = Split(address);
  uint32_t number = 0;
  if (host.empty() || !absl::SimpleAtoi(AbslView(port), &number) ||
      number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text),
                     " is no address for metrics; write \"127.0.0.1:9464\", "
                     "its port alone, \"[::1]:9464\", or \"\" for none"));
  }
  return address;
}

bool IsOpenToOthers(const std::string& address) {
  const std::string_view host = Split(address).first;
  return !(absl::StartsWith(AbslView(host), "127.") || host == "::1");
}

void ReadMetricsConfig(policy::JsonObject& root, MetricsConfig& metrics) {
  std::optional<policy::JsonObject> object = root.OptionalObject("metrics");
  if (!object.has_value()) return;
  absl::StatusOr<std::string> address =
      MetricsAddress(object->String("listen", metrics.listen));
  if (!address.ok()) {
    object->AddError("listen", StdView(address.status().message()));
    return;
  }
  metrics.listen = *std::move(address);
}

absl::Status ApplyMetricsFlag(const std::optional<std::string>& listen,
                              MetricsConfig& metrics) {
  if (!listen.has_value()) return absl::OkStatus();
  absl::StatusOr<std::string> address = MetricsAddress(*listen);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: ", address.status().message()));
  }
  metrics.listen = *std::move(address);
  return absl::OkStatus();
}

nlohmann::ordered_json MetricsToJson(const MetricsConfig& metrics) {
  return {{"listen", metrics.listen}};
}

}  // namespace sandglass::server
