#include "client/cert/cert_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/text_table.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

constexpr char kUtcSeconds[] = "%Y-%m-%dT%H:%M:%SZ";

std::string UtcText(absl::Time time) {
  return absl::FormatTime(kUtcSeconds, time, absl::UTCTimeZone());
}

std::string WhenText(const CertificateFacts& facts, absl::Time now) {
  if (facts.until <= now) return " (expired)";
  const int64_t days = (facts.until - now) / absl::Hours(24);
  return facts.from > now ? " (not valid yet)"
                          : absl::StrCat(" (", days, " days left)");
}

}  // namespace

std::string CertificateText(const std::string& file,
                            const CertificateFacts& facts, absl::Time now) {
  return TextTable(
      {{"file", file},
       {"for", facts.subject},
       {"names", facts.names.empty() ? "-" : absl::StrJoin(facts.names, ", ")},
       {"use", facts.use},
       {"signed by", facts.issuer},
       {"serial", facts.serial},
       {"valid from", UtcText(facts.from)},
       {"valid until",
        absl::StrCat(UtcText(facts.until), WhenText(facts, now))}},
      "");
}

std::string CertificateJson(const std::string& file,
                            const CertificateFacts& facts) {
  const nlohmann::ordered_json json = {{"file", file},
                                       {"subject", facts.subject},
                                       {"names", facts.names},
                                       {"use", facts.use},
                                       {"issuer", facts.issuer},
                                       {"serial", facts.serial},
                                       {"not_before", UtcText(facts.from)},
                                       {"not_after", UtcText(facts.until)}};
  return absl::StrCat(
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      "\n");
}

}  // namespace sandglass::client
