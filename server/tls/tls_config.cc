#include "server/tls/tls_config.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kOptional[] = "optional";
constexpr char kRequired[] = "required";

void ReadPath(policy::JsonObject& object, const char* key, std::string& path) {
  path = object.String(key, path);
  if (path.empty() || path.front() == '/') return;
  object.AddError(key, absl::StrCat(Quoted(path), " is not an absolute path"));
}

}  // namespace

void ReadTlsConfig(policy::JsonObject& root, TlsConfig& config) {
  std::optional<policy::JsonObject> object = root.OptionalObject("tls");
  if (!object.has_value()) return;
  ReadPath(*object, "certificate", config.certificate);
  ReadPath(*object, "key", config.key);
  ReadPath(*object, "client_ca", config.client_ca);
  ReadPath(*object, "crl", config.crl);
  if (config.certificate.empty() != config.key.empty()) {
    object->AddError("", "\"certificate\" and \"key\" belong together");
  }
  const std::string asked = object->String("client_certificates", kOptional);
  config.client_required = asked == kRequired;
  if (asked != kOptional && asked != kRequired) {
    object->AddError(
        "client_certificates",
        absl::StrCat(Quoted(asked), " is neither optional nor required"));
  }
  if (config.client_ca.empty() &&
      (config.client_required || !config.crl.empty())) {
    object->AddError("client_ca",
                     "is missing: it says who signs clients' certificates");
  }
}

nlohmann::ordered_json TlsToJson(const TlsConfig& config) {
  return {
      {"certificate", config.certificate},
      {"key", config.key},
      {"client_ca", config.client_ca},
      {"client_certificates", config.client_required ? kRequired : kOptional},
      {"crl", config.crl}};
}

}  // namespace sandglass::server
