#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_OPTIONS_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "policy/audit/audit_chain.h"

namespace sandglass::client {

struct AuditVerifyOptions {
  std::vector<std::string> paths;  // a directory, or files; at least one
  std::optional<policy::AuditHead> head;
  bool json = false;
};

struct AuditHeadOptions {
  std::string path;
  bool json = false;
};

// Selects lines; a filter that isn't set accepts all.
struct AuditShowOptions {
  std::vector<std::string> paths;
  std::optional<absl::Time> since;  // at this time or later
  std::optional<absl::Time> until;  // before it
  std::string caller;
  std::string event;
  std::string outcome;  // in any case
  std::string language;
  std::string run_id;  // or a command's
  std::string session_id;
  bool json = false;
  std::optional<uint32_t> last;  // only this many, the last ones
};

using AuditOptions =
    std::variant<AuditVerifyOptions, AuditHeadOptions, AuditShowOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_OPTIONS_H_
