// Errors about what tenants may have.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/errors.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using make_error::Attach;
using make_error::AttachRetry;
using make_error::Code;
using make_error::MakeWith;

// With QuotaFailure about a key of a tenant's file.
absl::Status MakeQuota(const std::string& tenant, const std::string& key,
                       const std::string& reason, const std::string& message) {
  absl::Status status = MakeWith({{"tenant", tenant}, {"key", key}},
                                 Code::kResourceExhausted, reason, message);
  google::rpc::QuotaFailure failure;
  auto* violation = failure.add_violations();
  violation->set_subject(absl::StrCat("tenant:", tenant));
  violation->set_description(message);
  Attach(failure, status);
  return status;
}

}  // namespace

absl::Status ProfileDenied(const std::string& whose, const std::string& profile,
                           const std::vector<std::string>& allowed) {
  return MakeWith({{"whose", whose}, {"profile", profile}},
                  Code::kPermissionDenied, "PROFILE_DENIED",
                  absl::StrCat(whose, " may not use profile ", Quoted(profile),
                               "; it may use: ", absl::StrJoin(allowed, ", ")));
}

absl::Status TenantCeiling(const std::string& tenant, std::string_view ceiling,
                           uint64_t has, uint64_t most,
                           absl::Duration retry_after) {
  const std::string key = absl::StrCat("ceilings.", AbslView(ceiling));
  absl::Status status = MakeQuota(
      tenant, key, "TENANT_CEILING",
      absl::StrCat("tenant ", tenant, " has ", has, " of at most ", most, " (",
                   key, " in its file); try again when it has fewer"));
  if (retry_after != absl::InfiniteDuration()) AttachRetry(retry_after, status);
  return status;
}

absl::Status TenantCeilingTooLow(const std::string& tenant,
                                 std::string_view ceiling, uint64_t wanted,
                                 uint64_t most) {
  const std::string key = absl::StrCat("ceilings.", AbslView(ceiling));
  return MakeQuota(
      tenant, key, "TENANT_CEILING",
      absl::StrCat("this needs ", wanted, " and all of tenant ", tenant,
                   " together may have ", most, " (", key,
                   " in its file); ask for less, or have it raised"));
}

absl::Status TenantBudgetSpent(const std::string& tenant,
                               const policy::BudgetSpent& spent) {
  const std::string key =
      absl::StrCat("budgets.", AbslView(policy::BudgetSpanName(spent.span)),
                   ".", AbslView(policy::ResourceName(spent.resource)));
  // Rounded up: a moment earlier there would be no room yet.
  const absl::Duration after =
      absl::Ceil(spent.room_after, absl::Milliseconds(1));
  absl::Status status = MakeQuota(
      tenant, key, "TENANT_BUDGET_SPENT",
      absl::StrFormat("tenant %s has used %.0f of %.0f (%s in its file); there "
                      "is room again in %s",
                      tenant, spent.used, spent.most, key,
                      make_error::Seconds(after)));
  AttachRetry(after, status);
  return status;
}

}  // namespace sandglass::server
