#include "policy/tenant/tenant.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/text/json_reader.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kMaxWeight = 1000;
constexpr uint64_t kMaxBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxCount = 1'000'000;
// Larger numbers would not be exact in a double.
constexpr uint64_t kMaxBudget = uint64_t{1} << 53;

Priority ReadPriority(JsonObject& root) {
  const std::string text = root.String("priority", "interactive");
  for (const Priority priority : {Priority::kInteractive, Priority::kBatch}) {
    if (text == PriorityName(priority)) return priority;
  }
  root.AddError("priority", "expected \"interactive\" or \"batch\"");
  return Priority::kInteractive;
}

TenantCeilings ReadCeilings(JsonObject& root) {
  TenantCeilings ceilings;
  std::optional<JsonObject> object = root.OptionalObject("ceilings");
  if (!object) return ceilings;
  const auto count = [&](const char* key) {
    return object->Unsigned(key, {.min = 1, .max = kMaxCount}, kNoCeiling);
  };
  const auto bytes = [&](const char* key) {
    return object->ByteSize(key, {.min = uint64_t{1} << 20, .max = kMaxBytes},
                            kNoCeiling);
  };
  ceilings.running = count("running");
  ceilings.queued = count("queued");
  ceilings.memory_bytes = bytes("memory");
  ceilings.cpu_millis = count("cpu_millis");
  ceilings.sessions =
      object->Unsigned("sessions", {.max = kMaxCount}, kNoCeiling);
  ceilings.session_memory_bytes = bytes("session_memory");
  ceilings.durable_bytes = bytes("durable_bytes");
  ceilings.execs = count("execs");
  ceilings.installs =
      object->Unsigned("installs", {.max = kMaxCount}, kNoCeiling);
  ceilings.streams = count("streams");
  ceilings.message_bytes =
      object->ByteSize("message_bytes", {.min = 1024}, kNoCeiling);
  return ceilings;
}

Budget ReadBudget(JsonObject& budgets, const char* span) {
  Budget budget;
  std::optional<JsonObject> object = budgets.OptionalObject(span);
  if (!object) return budget;
  for (const Resource resource :
       {Resource::kRuns, Resource::kCpuSeconds, Resource::kGbSeconds}) {
    const std::string_view name = ResourceName(resource);
    if (!object->Has(name)) continue;
    budget.most[resource] = static_cast<double>(
        object->Unsigned(name, {.min = 1, .max = kMaxBudget}));
  }
  const std::string_view egress = ResourceName(Resource::kEgressBytes);
  if (object->Has(egress)) {
    budget.most[Resource::kEgressBytes] = static_cast<double>(
        object->ByteSize(egress, {.min = 1, .max = kMaxBudget}));
  }
  return budget;
}

void ReadProfiles(JsonObject& root, const std::set<std::string>& known,
                  Tenant& tenant) {
  const auto check = [&](const std::string& pointer, const std::string& name) {
    if (known.count(name) != 0) return;
    root.AddErrorAt(pointer,
                    absl::StrCat("there is no profile ", Quoted(name),
                                 "; there are: ", absl::StrJoin(known, ", ")));
  };
  tenant.profiles = root.Strings("profiles", std::vector<std::string>());
  for (size_t i = 0; i < tenant.profiles.size(); ++i) {
    check(absl::StrCat("/profiles/", i), tenant.profiles[i]);
  }
  tenant.default_profile = root.String("default_profile", "default");
  if (root.Has("default_profile")) {
    check("/default_profile", tenant.default_profile);
  }
  if (!AllowsProfile(tenant, tenant.default_profile)) {
    root.AddErrorAt("/default_profile",
                    absl::StrCat("is ", Quoted(tenant.default_profile),
                                 ", which is none of /profiles; say which of "
                                 "them requests get that name none"));
  }
}

// Whether the tenant has one of its own.
bool ReadOwn(JsonObject& root, const char* key) {
  const std::string text = root.String(key, "shared");
  if (text != "shared" && text != "own") {
    root.AddError(key, "expected \"shared\" or \"own\"");
  }
  return text == "own";
}

absl::StatusOr<Tenant> ReadTenant(const std::string& name,
                                  absl::StatusOr<JsonDocument> document,
                                  const std::set<std::string>& profiles,
                                  std::string& canonical) {
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  absl::StrAppend(&canonical, name, " ", document->Canonical(), "\n");
  Tenant tenant;
  tenant.name = name;
  if (!IsTenantFileName(name)) {
    root.AddError("",
                  "the file's name is the tenant's and has to be at most 63 of "
                  "a-z, 0-9 and \"-\", not beginning with \"-\"");
  }
  tenant.weight = static_cast<uint32_t>(
      root.Unsigned("weight", {.min = 1, .max = kMaxWeight}, tenant.weight));
  tenant.priority = ReadPriority(root);
  ReadProfiles(root, profiles, tenant);
  tenant.ceilings = ReadCeilings(root);
  if (std::optional<JsonObject> budgets = root.OptionalObject("budgets")) {
    tenant.budgets.hour = ReadBudget(*budgets, "hour");
    tenant.budgets.day = ReadBudget(*budgets, "day");
  }
  tenant.shares = root.Bool("shares", tenant.shares);
  tenant.own_compile_cache = ReadOwn(root, "compile_cache");
  tenant.own_libraries = ReadOwn(root, "libraries");
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return tenant;
}

}  // namespace

std::string_view PriorityName(Priority priority) {
  return priority == Priority::kBatch ? "batch" : "interactive";
}

bool AllowsProfile(const Tenant& tenant, std::string_view profile) {
  return tenant.profiles.empty() ||
         std::find(tenant.profiles.begin(), tenant.profiles.end(), profile) !=
             tenant.profiles.end();
}

bool IsTenantFileName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

TenantTable::TenantTable(std::vector<Tenant> tenants) {
  for (Tenant& tenant : tenants) {
    std::string name = tenant.name;
    tenants_.emplace(std::move(name), std::move(tenant));
  }
}

absl::StatusOr<TenantTable> TenantTable::Load(
    const std::string& directory, const std::set<std::string>& profiles) {
  const auto files = ListJsonFiles(directory);
  if (!files.ok()) return files.status();
  std::vector<Tenant> tenants;
  std::vector<std::string> errors;
  std::string canonical;
  for (const auto& [name, path] : *files) {
    absl::StatusOr<Tenant> tenant =
        ReadTenant(name, JsonDocument::ReadFile(path), profiles, canonical);
    if (tenant.ok()) {
      tenants.push_back(*std::move(tenant));
    } else {
      errors.emplace_back(tenant.status().message());
    }
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  TenantTable table(std::move(tenants));
  table.canonical_ = std::move(canonical);
  return table;
}

const Tenant* TenantTable::Find(std::string_view name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? nullptr : &found->second;
}

Tenant TenantTable::Get(std::string_view name) const {
  if (const Tenant* found = Find(name)) return *found;
  return Tenant{.name = std::string(name)};
}

absl::StatusOr<Tenant> ParseTenant(const std::string& name,
                                   std::string_view text,
                                   const std::set<std::string>& profiles) {
  std::string canonical;
  return ReadTenant(name, JsonDocument::Parse(text, name + ".json"), profiles,
                    canonical);
}

}  // namespace sandglass::policy
