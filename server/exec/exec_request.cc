#include "server/exec/exec_request.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "policy/language/placeholders.h"
#include "policy/limits/limit_fields.h"
#include "sandbox/wire/jail_layout.h"
#include "server/base/digest.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/job/job.h"
#include "server/job/job_builder.h"
#include "server/job/request_checks.h"
#include "server/run/validate.h"

namespace sandglass::server {
namespace {

constexpr uint32_t kMaxCells = 65535;  // of a terminal, in each direction
constexpr uint16_t kDefaultRows = 24;
constexpr uint16_t kDefaultColumns = 80;

// Equal specs have the same fingerprint, whatever the order of their maps.
std::string Fingerprint(const v1::ExecSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    spec.SerializeToCodedStream(&coded);
  }
  return Sha256(bytes);
}

void CheckExecId(const std::string& id, Violations& violations) {
  if (id.size() > kMaxExecIdBytes ||
      !std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
               c == '_' || c == '-';
      })) {
    violations.push_back(
        {"exec_id", absl::StrCat("is not of the form [A-Za-z0-9._-]{1,",
                                 kMaxExecIdBytes, "}")});
  }
}

void CheckText(const std::string& text, const std::string& field,
               Violations& violations) {
  if (text.size() > kMaxCommandBytes) {
    violations.push_back({field, TooLarge(text.size(), kMaxCommandBytes)});
  } else if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    violations.push_back(
        {field, absl::StrCat("has a NUL byte at offset ", nul)});
  }
}

std::vector<std::string> CheckCommand(const v1::ExecSpec& spec,
                                      Violations& violations) {
  if (!spec.command().empty() && spec.argv_size() > 0) {
    violations.push_back({"command", "and argv exclude each other"});
    return {};
  }
  if (!spec.command().empty()) {
    CheckText(spec.command(), "command", violations);
    return {"/bin/sh", "-c", spec.command()};
  }
  if (spec.argv_size() == 0) {
    violations.push_back(
        {"command", "and argv are empty; there is nothing to run"});
    return {};
  }
  if (spec.argv_size() > static_cast<int>(kMaxArgs)) {
    violations.push_back({"argv", TooMany(spec.argv_size(), kMaxArgs)});
    return {};
  }
  if (spec.argv(0).empty()) {
    violations.push_back({"argv[0]", "is empty; it names the program"});
  }
  for (int i = 0; i < spec.argv_size(); ++i) {
    CheckText(spec.argv(i), Indexed("argv", i), violations);
  }
  return {spec.argv().begin(), spec.argv().end()};
}

// Accepts only plain paths, whose text says where they lead: they have no ".."
// and are not in /proc, whose links lead to what processes have open. Links in
// the workspace are dealt with where the path is opened
// (sandbox/jailed/program.cc).
std::string CheckDirectory(const std::string& directory,
                           Violations& violations) {
  const bool too_large = directory.size() > kMaxDirectoryBytes;
  if (too_large || HasNul(directory)) {
    violations.push_back(
        {"directory", too_large ? TooLarge(directory.size(), kMaxDirectoryBytes)
                                : "has a NUL byte"});
    return sandbox::kWorkspace;
  }
  if (directory.empty()) return sandbox::kWorkspace;
  std::string path = directory[0] == '/'
                         ? directory
                         : absl::StrCat(kWorkspacePrefix, directory);
  const std::vector<absl::string_view> plain = absl::StrSplit(
      path, '/',
      [](absl::string_view name) { return !name.empty() && name != "."; });
  if (std::find(plain.begin(), plain.end(), "..") != plain.end()) {
    violations.push_back(
        {"directory", absl::StrCat(Quoted(directory),
                                   " has \"..\" in it; name the directory "
                                   "that it leads to")});
  } else if (!plain.empty() && plain.front() == "proc") {
    violations.push_back(
        {"directory", absl::StrCat(Quoted(directory),
                                   " is in /proc, where no command is started; "
                                   "name a directory of the workspace, or "
                                   "another absolute path")});
  }
  return path;
}

std::vector<std::string> Environment(const SessionSpec& session,
                                     const v1::ExecSpec& spec,
                                     const sandbox::ProcessSpec& process) {
  policy::StringPairs env = SessionEnvironment(session);
  Overlay({{"PWD", process.directory}}, env);
  if (process.stdio == sandbox::ProcessSpec::Stdio::kTerminal &&
      std::ranges::none_of(
          env, [](const auto& pair) { return pair.first == "TERM"; })) {
    env.emplace_back("TERM", "xterm-256color");
  }
  policy::StringPairs wished(spec.env().begin(), spec.env().end());
  std::sort(wished.begin(), wished.end());
  Overlay(wished, env);
  std::vector<std::string> entries;
  for (const auto& [name, value] : env) {
    entries.push_back(absl::StrCat(name, "=", value));
  }
  return entries;
}

// What the session's language has such commands started by.
policy::Command StarterOf(const SessionSpec& session,
                          const std::string& program) {
  if (session.language == nullptr) return {};
  const policy::Language& language = *session.language;
  const std::string name = program.substr(program.rfind('/') + 1);
  if (name != "sh" && name != "bash" && name != language.id) return {};
  return policy::ExpandCommand(language.session_command,
                               {.prepared = language.prepared_dir,
                                .limits = session.limits,
                                .heap_percent = language.heap_percent});
}

void CheckStartBytes(const sandbox::ProcessSpec& process,
                     Violations& violations) {
  size_t bytes = 0;
  for (const auto* texts : {&process.argv, &process.env}) {
    // Each text takes a few bytes more in the packet.
    for (const std::string& text : *texts) bytes += text.size() + 8;
  }
  if (bytes > kMaxStartBytes) {
    violations.push_back(
        {"argv", absl::StrCat("with the whole environment ",
                              TooLarge(bytes, kMaxStartBytes))});
  }
}

void RefuseSessionLimits(policy::LimitRequest& wishes, Violations& violations) {
  const auto refuse = [&](auto& wish, const char* field) {
    if (wish.has_value()) {
      violations.push_back({absl::StrCat("limits.", field),
                            "is the whole session's; it was set by "
                            "CreateSession"});
    }
    wish.reset();
  };
  refuse(wishes.memory_bytes, "memory_bytes");
  refuse(wishes.max_processes, "max_processes");
  refuse(wishes.cpu_millis, "cpu_millis");
  refuse(wishes.tmp_bytes, "tmp_bytes");
  refuse(wishes.workspace_bytes, "workspace_bytes");
  refuse(wishes.max_files, "max_files");
}

// The session's limits, lowered as the request wishes. Where nobody waits for
// the command's end, or a person works in it, time and the total output have no
// limits unless the request sets them.
policy::Limits ExecLimits(const PolicySet& policy, const SessionSpec& session,
                          const v1::ExecSpec& spec, bool endless,
                          Violations& violations) {
  policy::LimitRequest wishes =
      LimitWishes(spec.limits(), "limits", violations);
  RefuseSessionLimits(wishes, violations);
  policy::Profile bounds = *session.profile;
  bounds.limits = bounds.maximum = session.limits;
  if (endless) {
    for (const policy::LimitKind kind :
         {policy::LimitKind::kWallTime, policy::LimitKind::kCpuTime,
          policy::LimitKind::kOutputTotalBytes}) {
      const policy::LimitField& field = policy::FieldOf(kind);
      field.set(bounds.limits, field.max);
      field.set(bounds.maximum, field.max);
    }
  }
  policy::Limits limits = ApplyWishes(policy, bounds, session.language, {},
                                      wishes, "limits", violations);
  if (endless && !wishes.wall_time) limits.wall_time = absl::InfiniteDuration();
  if (endless && !wishes.cpu_time) limits.cpu_time = absl::InfiniteDuration();
  if (endless && !wishes.output_total_bytes) {
    limits.output_total_bytes = kNoByteLimit;
  }
  return limits;
}

void ReadTerminal(const v1::ExecSpec& spec, sandbox::ProcessSpec& process,
                  Violations& violations) {
  const v1::TerminalSize& size = spec.terminal();
  if (size.rows() > kMaxCells || size.columns() > kMaxCells) {
    violations.push_back(
        {"terminal",
         absl::StrCat("has ", size.rows(), " rows and ", size.columns(),
                      " columns; at most ", kMaxCells, " are possible")});
    return;
  }
  process.stdio = sandbox::ProcessSpec::Stdio::kTerminal;
  process.rows =
      size.rows() == 0 ? kDefaultRows : static_cast<uint16_t>(size.rows());
  process.columns = size.columns() == 0 ? kDefaultColumns
                                        : static_cast<uint16_t>(size.columns());
}

}  // namespace

absl::StatusOr<ExecPlan> CheckExecSpec(const PolicySet& policy,
                                       const SessionSpec& session,
                                       const v1::ExecSpec& spec,
                                       const std::string& prefix) {
  Violations violations;
  ExecPlan plan;
  sandbox::ProcessSpec& process = plan.process;
  CheckExecId(spec.exec_id(), violations);
  process.argv = CheckCommand(spec, violations);
  process.directory = CheckDirectory(spec.directory(), violations);
  CheckEnv(spec.env(), violations);
  if (spec.merged_output()) {
    process.stdio = sandbox::ProcessSpec::Stdio::kMergedPipes;
  }
  if (spec.has_terminal()) ReadTerminal(spec, process, violations);
  if (spec.stdin().size() > kMaxStdinBytes) {
    violations.push_back(
        {"stdin", TooLarge(spec.stdin().size(), kMaxStdinBytes)});
  }
  plan.limits =
      ExecLimits(policy, session, spec,
                 spec.background() || spec.has_terminal(), violations);
  if (violations.empty()) {
    process.env = Environment(session, spec, process);
    CheckStartBytes(process, violations);
  }
  if (!violations.empty()) {
    return InvalidRequest(WithPrefix(prefix, std::move(violations)));
  }
  plan.starter = StarterOf(session, process.argv.front());
  process.with_stdin = spec.open_stdin() || !spec.stdin().empty();
  process.open_files = plan.limits.open_files;
  process.file_size_bytes = plan.limits.file_size_bytes;
  process.cpu_time = plan.limits.cpu_time;
  plan.exec_id = spec.exec_id();
  plan.named = !spec.exec_id().empty();
  plan.fingerprint = Fingerprint(spec);
  plan.stdin_data = spec.stdin();
  plan.open_stdin = spec.open_stdin() || plan.on_terminal();
  plan.background = spec.background();
  plan.redactor = session.profile->redactor;
  plan.has_network = session.profile->network != nullptr;
  plan.library_offer = OfferTo(session.language, *session.profile);
  return plan;
}

absl::Status CheckSignal(int32_t signal, const std::string& field) {
  if (signal >= 1 && signal < NSIG) return absl::OkStatus();
  return InvalidRequest(
      {{field,
        absl::StrCat(signal, " is no signal; there are 1 to ", NSIG - 1)}});
}

absl::StatusOr<TerminalRoom> CheckTerminalSize(const v1::TerminalSize& size,
                                               const std::string& field) {
  v1::ExecSpec spec;
  *spec.mutable_terminal() = size;
  sandbox::ProcessSpec process;
  Violations violations;
  ReadTerminal(spec, process, violations);
  if (violations.empty()) return TerminalRoom{process.rows, process.columns};
  violations.front().field = field;
  return InvalidRequest(violations);
}

absl::StatusOr<absl::Duration> CheckWait(const google::protobuf::Duration& wait,
                                         const std::string& field,
                                         absl::Duration max) {
  Violations violations;
  const std::optional<absl::Duration> time = TimeWish(wait, field, violations);
  if (time.has_value() && *time > max) {
    violations.push_back({field, absl::StrCat(absl::FormatDuration(*time),
                                              " is above the most, ",
                                              absl::FormatDuration(max))});
  }
  if (!violations.empty()) return InvalidRequest(violations);
  return *time;
}

}  // namespace sandglass::server
