#include "server/daemon/config.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "policy/text/names.h"
#include "server/admission/admission_config.h"
#include "server/base/accounts.h"
#include "server/base/random_id.h"
#include "server/base/strings.h"
#include "server/daemon/listen_config.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalledPolicy[] = "/usr/share/sandglass/policy";
constexpr char kInstalled[] = "/usr/libexec/sandglass/";
constexpr uint64_t kMaxPool = 1000;
constexpr uint64_t kMaxSessions = 1000;
constexpr uint64_t kMinMessageBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxMessageBytes = uint64_t{64} << 20;
// Below this range are the accounts of the system and of people; above it there
// is no room for the slices.
constexpr uint64_t kMinUidBase = 100'001;
constexpr uint64_t kMaxUidBase = 4'000'000'000;

std::string ExecutableDirectory() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : self.parent_path().string();
}

// In the build tree (<repository>/build/bin) if the daemon is run there, else
// under the prefix where it is installed, else where packages put it.
std::string DefaultPolicyDirectory(const std::string& exe_dir) {
  if (exe_dir.empty()) return kInstalledPolicy;
  std::error_code error;
  for (const char* beside :
       {"../../policy/data", "../share/sandglass/policy"}) {
    const fs::path found = fs::path(exe_dir) / beside;
    if (fs::is_directory(found, error)) {
      return fs::weakly_canonical(found, error).string();
    }
  }
  return kInstalledPolicy;
}

// The path of a program that the daemon starts.
std::string DefaultHelper(const std::string& exe_dir, const std::string& name) {
  std::string installed = kInstalled + name;
  if (exe_dir.empty()) return installed;
  std::error_code error;
  for (const std::string& beside : {name, "../libexec/sandglass/" + name}) {
    const fs::path found = fs::path(exe_dir) / beside;
    if (fs::exists(found, error)) {
      return fs::weakly_canonical(found, error).string();
    }
  }
  return installed;
}

// How many more beyond sessions.max, for callers that have few.
uint32_t SessionReserve(uint32_t max_sessions) {
  return max_sessions == 0 ? 0 : std::max(4u, max_sessions / 4);
}

mode_t ParseMode(policy::JsonObject& socket, const std::string& fallback) {
  const std::string text = socket.String("mode", fallback);
  mode_t mode = 0;
  bool valid = text.size() == 4 && text[0] == '0';
  for (const char c : text) {
    valid = valid && c >= '0' && c <= '7';
    mode = mode * 8 + static_cast<mode_t>(c - '0');
  }
  if (!valid) {
    socket.AddError("mode", absl::StrCat(Quoted(text),
                                         " is not of the form \"0660\" (four "
                                         "octal digits, the first 0)"));
    return 0;
  }
  return mode;
}

template <typename T>
struct Named {
  const char* name;
  T value;
};

constexpr Named<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                          {"info", LogLevel::kInfo},
                                          {"warning", LogLevel::kWarning},
                                          {"error", LogLevel::kError}};
constexpr Named<LogFormat> kLogFormats[] = {{"text", LogFormat::kText},
                                            {"json", LogFormat::kJson}};
constexpr Named<AuditFsync> kAuditFsyncs[] = {
    {"off", AuditFsync::kOff},
    {"interval", AuditFsync::kInterval},
    {"always", AuditFsync::kAlways}};
constexpr Named<AuditFailure> kAuditFailures[] = {
    {"refuse", AuditFailure::kRefuse}, {"continue", AuditFailure::kContinue}};

// Reads the name of one of `choices` into `value`.
template <typename T, size_t count>
void ReadChoice(policy::JsonObject& object, const char* key, T& value,
                const Named<T> (&choices)[count]) {
  if (!object.Has(key)) return;
  const std::string text = object.String(key);
  std::string listed;
  for (const Named<T>& choice : choices) {
    if (choice.name == text) {
      value = choice.value;
      return;
    }
    absl::StrAppend(&listed, listed.empty() ? "" : ", ", choice.name);
  }
  object.AddError(key, absl::StrCat(Quoted(text), " is none of ", listed));
}

template <typename T, size_t count>
std::string NameOf(T value, const Named<T> (&choices)[count]) {
  for (const Named<T>& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return "";
}

uint32_t Count(policy::JsonObject& object, const char* key,
               policy::UnsignedRange range, uint32_t fallback) {
  return static_cast<uint32_t>(object.Unsigned(key, range, fallback));
}

enum class Empty { kWrong, kAllowed };

// Reads an absolute path.
void ReadPath(policy::JsonObject& object, const char* key, std::string& path,
              Empty empty = Empty::kWrong) {
  path = object.String(key, path);
  if (path.empty() ? empty == Empty::kAllowed : path.front() == '/') return;
  object.AddError(key, absl::StrCat(Quoted(path), " is not an absolute path"));
}

void ReadSocket(policy::JsonObject& root, Config& config) {
  std::optional<policy::JsonObject> socket = root.OptionalObject("socket");
  if (!socket.has_value()) return;
  config.socket_mode = ParseMode(*socket, "0660");
  config.socket_group = socket->String("group", config.socket_group);
}

void ReadPool(policy::JsonObject& root, Config& config) {
  PoolOptions& options = config.pool;
  std::optional<policy::JsonObject> object = root.OptionalObject("pool");
  if (!object.has_value()) return;
  const auto count = [&](const char* key, uint64_t min, uint32_t fallback) {
    return Count(*object, key, {.min = min, .max = kMaxPool}, fallback);
  };
  options.floor = count("floor", 0, options.floor);
  options.ceiling =
      count("ceiling", 1, std::max(options.floor, options.ceiling));
  options.max_idle =
      count("most_idle", 1, std::max(options.ceiling, options.max_idle));
  options.idle_age = object->Duration(
      "idle_age", {.min = absl::Seconds(1), .max = absl::Hours(24)},
      options.idle_age);
  options.memory_budget_bytes =
      object->ByteSize("memory_budget", {}, options.memory_budget_bytes);
  config.zygote_runs = Count(*object, "zygote_runs",
                             {.min = 1, .max = 1'000'000}, config.zygote_runs);
  config.spawners = Count(*object, "spawners", {.min = 1, .max = kMaxSpawners},
                          config.spawners);
}

void ReadRetention(policy::JsonObject& root, RetentionOptions& options) {
  std::optional<policy::JsonObject> object = root.OptionalObject("retention");
  if (!object.has_value()) return;
  options.time =
      object->Duration("time", {.max = absl::Hours(24)}, options.time);
  options.max_runs =
      object->Unsigned("max_runs", {.max = 1'000'000}, options.max_runs);
  options.max_bytes = object->ByteSize("max_bytes", {}, options.max_bytes);
}

void ReadSessions(policy::JsonObject& root, SessionOptions& options) {
  std::optional<policy::JsonObject> object = root.OptionalObject("sessions");
  if (!object.has_value()) return;
  options.max_sessions =
      Count(*object, "max", {.max = kMaxSessions}, options.max_sessions);
  options.reserve = Count(*object, "reserve", {.max = kMaxSessions},
                          SessionReserve(options.max_sessions));
  options.max_per_caller =
      Count(*object, "max_per_caller", {.min = 1, .max = kMaxSessions},
            std::max(1u, options.max_sessions));
  const auto time = [&](const char* key, absl::Duration fallback) {
    return object->Duration(
        key, {.min = absl::Seconds(1), .max = absl::Hours(24 * 30)}, fallback);
  };
  options.idle_timeout = time("idle_timeout", options.idle_timeout);
  options.max_age = time("max_age", options.max_age);
  options.remember = object->Duration("remember", {.max = absl::Hours(24 * 30)},
                                      options.remember);
  options.memory_bytes = object->ByteSize("memory", {.min = uint64_t{1} << 20},
                                          options.memory_bytes);
  ReadPath(*object, "durable_dir", options.durable_dir, Empty::kAllowed);
  options.durable_bytes = object->ByteSize(
      "durable_bytes", {.min = uint64_t{1} << 20, .max = uint64_t{1} << 50},
      options.durable_bytes);
  options.fork_bytes = object->ByteSize(
      "fork_bytes", {.min = uint64_t{1} << 20, .max = uint64_t{1} << 40},
      options.fork_bytes);
}

void ReadCompileCache(policy::JsonObject& root, CompileCacheOptions& options) {
  std::optional<policy::JsonObject> object =
      root.OptionalObject("compile_cache");
  if (!object.has_value()) return;
  options.max_bytes = object->ByteSize("max_bytes", {.max = uint64_t{1} << 40},
                                       options.max_bytes);
  options.max_memory_bytes = object->ByteSize(
      "max_memory_bytes", {.max = uint64_t{1} << 40}, options.max_memory_bytes);
}

void ReadAudit(policy::JsonObject& root, AuditConfig& audit) {
  std::optional<policy::JsonObject> object = root.OptionalObject("audit");
  if (!object.has_value()) return;
  ReadPath(*object, "dir", audit.dir, Empty::kAllowed);
  ReadChoice(*object, "fsync", audit.log.fsync, kAuditFsyncs);
  audit.log.fsync_interval = object->Duration(
      "fsync_interval", {.min = absl::Milliseconds(10), .max = absl::Hours(1)},
      audit.log.fsync_interval);
  audit.log.max_file_bytes = object->ByteSize(
      "max_file_bytes", {.min = uint64_t{64} << 10, .max = uint64_t{1} << 40},
      audit.log.max_file_bytes);
  audit.log.max_files =
      Count(*object, "max_files", {.max = 1'000'000}, audit.log.max_files);
  audit.trail.code = object->Bool("code", audit.trail.code);
  ReadChoice(*object, "on_failure", audit.trail.on_failure, kAuditFailures);
}

void ReadLog(policy::JsonObject& root, Config& config) {
  std::optional<policy::JsonObject> object = root.OptionalObject("log");
  if (!object.has_value()) return;
  ReadChoice(*object, "level", config.log_level, kLogLevels);
  ReadChoice(*object, "format", config.log_format, kLogFormats);
}

void ReadImages(policy::JsonObject& root, Config& config) {
  for (const auto& [name, directory] :
       root.StringMap("images", policy::JsonObject::StringPairs())) {
    const std::string pointer = absl::StrCat("/images/", name);
    // In the yard, the place of the host's image is named "default".
    if (!policy::IsPolicyName(name) || name == policy::kHostImage ||
        name == "default") {
      root.AddErrorAt(pointer,
                      "expected an image's name, [a-z][a-z0-9-]*, that is "
                      "neither \"host\" nor \"default\"");
    } else if (directory.empty() || directory.front() != '/') {
      root.AddErrorAt(
          pointer, absl::StrCat(Quoted(directory), " is not an absolute path"));
    } else {
      config.images.push_back(
          {name, directory.substr(0, directory.find_last_not_of('/') + 1)});
    }
  }
}

void ReadHostEtc(policy::JsonObject& root, Config& config) {
  config.host_etc = root.Strings("host_etc", config.host_etc);
  for (size_t i = 0; i < config.host_etc.size(); ++i) {
    const std::filesystem::path name(config.host_etc[i]);
    if (!name.empty() && name.is_relative() &&
        name == name.lexically_normal() && *name.begin() != ".." &&
        name.has_filename() && name != ".") {
      continue;
    }
    root.AddErrorAt(absl::StrCat("/host_etc/", i),
                    absl::StrCat(Quoted(config.host_etc[i]),
                                 " is not a path below /etc, such as \"R\" or "
                                 "\"php/8.2\""));
  }
}

nlohmann::json ImagesToJson(const std::vector<policy::Image>& images) {
  nlohmann::json json = nlohmann::json::object();
  for (const policy::Image& image : images) json[image.name] = image.root;
  return json;
}

void ReadApprovers(policy::JsonObject& root, Config& config) {
  config.approvers = root.Strings("approvers", config.approvers);
  for (size_t i = 0; i < config.approvers.size(); ++i) {
    const absl::StatusOr<uid_t> uid = ResolveUser(config.approvers[i]);
    if (uid.ok()) {
      config.identity.accounts.approvers.insert(*uid);
    } else {
      root.AddErrorAt(absl::StrCat("/approvers/", i),
                      std::string(uid.status().message()));
    }
  }
}

absl::Status ReadFile(const std::string& path, Config& config,
                      std::vector<std::string>& listen) {
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  policy::JsonObject root = document->root();
  ReadPath(root, "state_dir", config.state_dir);
  ReadPath(root, "cache_dir", config.cache_dir);
  ReadPath(root, "policy_dir", config.policy_dir);
  ReadPath(root, "tenants_dir", config.tenants_dir, Empty::kAllowed);
  ReadImages(root, config);
  ReadHostEtc(root, config);
  ReadPath(root, "spawner", config.spawner);
  ReadEgress(root, config.egress);
  ReadLibrariesConfig(root, config.libraries);
  ReadMetricsConfig(root, config.metrics);
  ReadIdentityConfig(root, config.identity);
  ReadListen(root, listen);
  ReadTlsConfig(root, config.tls);
  config.user = root.String("user", config.user);
  config.uid_base =
      Count(root, "uid_base", {.min = kMinUidBase, .max = kMaxUidBase},
            config.uid_base);
  ReadSocket(root, config);
  config.cgroup_parent = root.String("cgroup_parent", config.cgroup_parent);
  ReadAdmission(root, config.admission);
  ReadPool(root, config);
  ReadRetention(root, config.retention);
  ReadSessions(root, config.sessions);
  ReadCompileCache(root, config.compile_cache);
  ReadAudit(root, config.audit);
  config.drain_timeout = root.Duration("drain_timeout", {.max = absl::Hours(1)},
                                       config.drain_timeout);
  config.max_message_bytes = root.ByteSize(
      "max_message_bytes", {.min = kMinMessageBytes, .max = kMaxMessageBytes},
      config.max_message_bytes);
  ReadLog(root, config);
  config.excuse_missing = root.Strings("excuse_missing", config.excuse_missing);
  config.node_name = root.String("node_name", "");
  if (!config.node_name.empty() && !IsNodeName(config.node_name)) {
    root.AddError("node_name",
                  absl::StrCat(Quoted(config.node_name),
                               " is not at most 32 of a-z, 0-9 and "
                               "\"-\""));
  }
  ReadApprovers(root, config);
  config.canaries = root.Bool("canaries", config.canaries);
  return document->Finish();
}

absl::Status ApplyPathFlag(const std::optional<std::string>& flag,
                           const char* name, std::string& value) {
  if (!flag.has_value()) return absl::OkStatus();
  std::error_code error;
  const fs::path path = fs::absolute(*flag, error);
  if (flag->empty() || error) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", Quoted(*flag), " is not a path"));
  }
  value = path.lexically_normal().string();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const ConfigFlags& flags) {
  const std::string exe_dir = ExecutableDirectory();
  Config config;
  config.policy_dir = DefaultPolicyDirectory(exe_dir);
  config.spawner = DefaultHelper(exe_dir, "sandglass-spawner");
  config.egress.path = DefaultHelper(exe_dir, "sandglass-egress");
  config.admission = DefaultAdmission();
  config.sessions.reserve = SessionReserve(config.sessions.max_sessions);
  std::vector<std::string> listen;
  if (!flags.config_file.empty()) {
    if (absl::Status read = ReadFile(flags.config_file, config, listen);
        !read.ok()) {
      return read;
    }
  }
  for (const absl::Status& applied :
       {ApplyPathFlag(flags.state_dir, "--state-dir", config.state_dir),
        ApplyPathFlag(flags.cache_dir, "--cache-dir", config.cache_dir),
        ApplyPathFlag(flags.policy_dir, "--policy-dir", config.policy_dir),
        ApplyPathFlag(flags.spawner, "--spawner", config.spawner)}) {
    if (!applied.ok()) return applied;
  }
  if (config.libraries.dir.empty()) {
    config.libraries.dir = config.cache_dir + "/libraries";
  }
  absl::Status metrics = ApplyMetricsFlag(flags.metrics, config.metrics);
  if (!metrics.ok()) return metrics;
  if (flags.socket_group) config.socket_group = *flags.socket_group;
  if (flags.log_limit_mib) {
    config.log_limit = uint64_t{*flags.log_limit_mib} << 20;
  }
  if (flags.end_when_idle &&
      (!absl::ParseDuration(*flags.end_when_idle, &config.end_when_idle) ||
       config.end_when_idle < absl::Seconds(1))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--end-when-idle ", Quoted(*flags.end_when_idle, 64),
                     " is no time of a second or more; write for example 10m"));
  }
  if (!flags.listen.empty()) listen = flags.listen;
  if (absl::Status used = UseAddresses(listen, config); !used.ok()) {
    return used;
  }
  if (absl::Status possible = CheckTlsAddresses(config); !possible.ok()) {
    return possible;
  }
  config.trace_syscalls = flags.trace_syscalls;
  config.excuse_missing.insert(config.excuse_missing.end(),
                               flags.excuse_missing.begin(),
                               flags.excuse_missing.end());
  return config;
}

std::string ConfigToJson(const Config& config) {
  nlohmann::ordered_json json = {
      {"listen", AddressesToJson(config)},
      {"tls", TlsToJson(config.tls)},
      {"state_dir", config.state_dir},
      {"cache_dir", config.cache_dir},
      {"policy_dir", config.policy_dir},
      {"tenants_dir", config.tenants_dir},
      {"images", ImagesToJson(config.images)},
      {"host_etc", config.host_etc},
      {"spawner", config.spawner},
      {"egress", EgressToJson(config.egress)},
      {"libraries", LibrariesToJson(config.libraries)},
      {"user", config.user},
      {"uid_base", config.uid_base},
      {"socket",
       {{"mode", absl::StrFormat("%04o", config.socket_mode)},
        {"group", config.socket_group}}},
      {"cgroup_parent", config.cgroup_parent},
      {"admission", AdmissionToJson(config.admission)},
      {"pool",
       {{"floor", config.pool.floor},
        {"ceiling", config.pool.ceiling},
        {"most_idle", config.pool.max_idle},
        {"idle_age", absl::FormatDuration(config.pool.idle_age)},
        {"memory_budget", config.pool.memory_budget_bytes},
        {"zygote_runs", config.zygote_runs},
        {"spawners", config.spawners}}},
      {"retention",
       {{"time", absl::FormatDuration(config.retention.time)},
        {"max_runs", config.retention.max_runs},
        {"max_bytes", config.retention.max_bytes}}},
      {"sessions",
       {{"max", config.sessions.max_sessions},
        {"reserve", config.sessions.reserve},
        {"max_per_caller", config.sessions.max_per_caller},
        {"idle_timeout", absl::FormatDuration(config.sessions.idle_timeout)},
        {"max_age", absl::FormatDuration(config.sessions.max_age)},
        {"remember", absl::FormatDuration(config.sessions.remember)},
        {"durable_dir", config.sessions.durable_dir},
        {"durable_bytes", config.sessions.durable_bytes},
        {"fork_bytes", config.sessions.fork_bytes}}},
      {"compile_cache",
       {{"max_bytes", config.compile_cache.max_bytes},
        {"max_memory_bytes", config.compile_cache.max_memory_bytes}}},
      {"audit",
       {{"dir", config.audit.dir},
        {"fsync", NameOf(config.audit.log.fsync, kAuditFsyncs)},
        {"fsync_interval",
         absl::FormatDuration(config.audit.log.fsync_interval)},
        {"max_file_bytes", config.audit.log.max_file_bytes},
        {"max_files", config.audit.log.max_files},
        {"code", config.audit.trail.code},
        {"on_failure", NameOf(config.audit.trail.on_failure, kAuditFailures)}}},
      {"metrics", MetricsToJson(config.metrics)},
      {"drain_timeout", absl::FormatDuration(config.drain_timeout)},
      {"max_message_bytes", config.max_message_bytes},
      {"log",
       {{"level", NameOf(config.log_level, kLogLevels)},
        {"format", NameOf(config.log_format, kLogFormats)}}},
      {"excuse_missing", config.excuse_missing},
      {"node_name", config.node_name},
      {"approvers", config.approvers},
      {"identity", IdentityToJson(config.identity)},
      {"canaries", config.canaries}};
  if (config.sessions.memory_bytes != SessionOptions().memory_bytes) {
    json["sessions"]["memory"] = config.sessions.memory_bytes;
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sandglass::server
