#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/agent/agent_command_line.h"
#include "client/audit/audit_command_line.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/cert/cert_command_line.h"
#include "client/cli/completion.h"
#include "client/cli/mcp_command_line.h"
#include "client/cli/usage_words.h"
#include "client/flags/flag_values.h"
#include "client/flags/library_lock.h"
#include "client/identity/identity_command_line.h"
#include "client/layers/layer_command_line.h"
#include "client/operator/operator_command_line.h"
#include "client/policy/policy_command_line.h"
#include "client/service/service_command_line.h"
#include "client/session/session_command_line.h"

namespace sandglass::client {
namespace {

constexpr char kRunExamples[] = R"(  sandglass run hello.py
  sandglass run -l python -c 'print(1 + 1)'
  echo 'echo hi' | sandglass run -l bash -
  sandglass run sort.py --stdin words.txt --timeout 5s --memory 128M -- -r
  sandglass run plot.py --file data.csv --fetch '*.png' --fetch-dir out
  sandglass run -c 'print(1)' -l py --repeat 100 --json-summary
  sandglass run --rich -l python -c '20 + 1'
  sandglass run -l python --library six -c 'import six; print(six.__version__)'
)";
constexpr char kOtherExamples[] = R"(  sandglass up
  sandglass session create python
  sandglass ps
  sandglass kill RUN_ID
  sandglass policy test strict main.py
  sandglass approvals
  sandglass status
  sandglass doctor
  sandglass mcp
  sandglass cert init --dir certs
  sandglass audit verify /var/log/sandglass/audit
)";

absl::StatusOr<Pairs::value_type> SplitFile(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string local =
      equals == std::string::npos ? text : text.substr(equals + 1);
  std::string remote = equals == std::string::npos
                           ? local.substr(local.rfind('/') + 1)
                           : text.substr(0, equals);
  if (local.empty() || remote.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--file '", VisibleText(text), "': write LOCAL or REMOTE=LOCAL"));
  }
  return Pairs::value_type(std::move(remote), local);
}

// The options of `run`.
class RunFlags {
 public:
  explicit RunFlags(CLI::App& app) : app_(app) {
    file_ = Add("FILE", "The program; - reads it from standard input");
    code_ = Add("-c,--code", "The program's text", "CODE");
    language_ = Add("-l,--lang",
                    "Language id or alias; else by the file's extension or "
                    "its #! line",
                    "LANG");
    stdin_ = Add("--stdin", "What the program reads; - passes ours on", "FILE");
    args_ = AddMany("--arg", "An argument for the program", "ARG");
    env_ = AddMany("--env", "An environment variable", "K=V");
    files_ = AddMany("--file",
                     "Put a file into /workspace, by default under its own "
                     "base name",
                     "[REMOTE=]LOCAL");
    fetch_ = AddMany("--fetch", "Bring files back from /workspace", "GLOB");
    fetch_dir_ = Add("--fetch-dir",
                     "Where to write them, over files that are there (default: "
                     ". where no file is replaced; with --json only when "
                     "given)",
                     "DIR");
    libraries_ = AddMany("--library",
                         "A library for the program, as the language's tool "
                         "names it: six==1.16.0, lodash@^4",
                         "NAME");
    library_lock_ = AddLibraryLock(app);
    limits_.emplace(app);
    compile_timeout_ = Add("--compile-timeout",
                           "Wall time limit of the compile phase", "TIME");
    compile_memory_ =
        Add("--compile-memory", "Memory limit of the compile phase", "SIZE");
    profile_ = Add("--profile", "Profile (default: default)", "NAME");
    labels_ = AddMany("--label", "A mark that ps shows", "K=V");
    request_id_ =
        Add("--request-id",
            "A repeat within 10 minutes returns the first answer", "ID");
    approval_ =
        Add("--approval",
            "The approval that an earlier try of this run was given", "ID");
    repeat_ = Add("--repeat",
                  "Run it N times one after another over one channel and "
                  "print times instead of output",
                  "N");
    results_ = Add("--results",
                   "With --rich: where to save figures and other results that "
                   "are no text, under new names (default: "
                   "./sandglass-results, made at need)",
                   "DIR");
    app.add_flag("--rich", options_.rich,
                 "Show also the value of the last expression and what the "
                 "program displays; pictures where the terminal can, which "
                 "$SANDGLASS_IMAGES says if it isn't recognised: auto, kitty, "
                 "iterm, none");
    app.add_flag("--batch", options_.batch,
                 "Nobody waits for it: start it where other runs leave room");
    app.add_flag("--json-summary", options_.json_summary,
                 "With --repeat: one JSON object (n, p50_ms, p99_ms, "
                 "min_ms, max_ms, runs_per_s, outcomes); every run counts, "
                 "the first too");
    app.add_flag("--json", options_.json,
                 "Print the response as proto JSON (lowerCamelCase; output, "
                 "file paths and contents are base64, and again as text where "
                 "they are UTF-8) and nothing else");
    app.add_flag("--no-stream", no_stream_,
                 "Print the output at the end instead of live");
    app.add_flag("-q,--quiet", options_.quiet,
                 "No verdict line when the outcome is OK");
    app.add_flag("-v,--verbose", options_.verbose,
                 "Also where the time went, and the trace that it was part of");
  }

  // `after_dashes` are the arguments after "--".
  absl::StatusOr<RunOptions> Collect(std::vector<std::string> after_dashes) {
    options_.file = ValueOf(file_);
    options_.code = ValueOf(code_);
    options_.stdin_file = ValueOf(stdin_);
    options_.fetch_dir = ValueOf(fetch_dir_);
    options_.results_dir = ValueOf(results_);
    options_.language = ValueOf(language_).value_or("");
    options_.profile = ValueOf(profile_).value_or("");
    options_.request_id = ValueOf(request_id_).value_or("");
    options_.approval_id = ValueOf(approval_).value_or("");
    options_.args = args_->results();
    options_.fetch = fetch_->results();
    options_.libraries = libraries_->results();
    options_.library_lock = ValueOf(library_lock_);
    options_.stream = !no_stream_;
    for (std::string& argument : after_dashes) {
      options_.args.push_back(std::move(argument));
    }
    absl::Status status = ParsePairs();
    if (status.ok()) status = ParseNumbers();
    if (status.ok()) status = CheckTogether();
    if (!status.ok()) return status;
    return std::move(options_);
  }

 private:
  CLI::Option* Add(const std::string& name, const std::string& help,
                   const std::string& type = "") {
    return AddValue(app_, name, help, type);
  }

  CLI::Option* AddMany(const std::string& name, const std::string& help,
                       const std::string& type) {
    return AddValues(app_, name, help, type);
  }

  absl::Status ParsePairs() {
    absl::StatusOr<Pairs> env = PairsOf(env_);
    if (!env.ok()) return env.status();
    options_.env = *std::move(env);
    absl::StatusOr<Pairs> labels = PairsOf(labels_);
    if (!labels.ok()) return labels.status();
    options_.labels = *std::move(labels);
    for (const std::string& text : files_->results()) {
      absl::StatusOr<Pairs::value_type> file = SplitFile(text);
      if (!file.ok()) return file.status();
      options_.files.push_back(*std::move(file));
    }
    return absl::OkStatus();
  }

  absl::Status ParseNumbers() {
    absl::Status status = limits_->Collect(options_.limits);
    status.Update(
        ParseTimeSpanFlag(compile_timeout_, options_.compile_timeout));
    status.Update(
        ParseByteSizeFlag(compile_memory_, options_.compile_memory_bytes));
    std::optional<uint32_t> repeat;
    status.Update(ParseCountFlag(repeat_, repeat));
    options_.repeat = repeat.value_or(0);
    return status;
  }

  absl::Status CheckTogether() const {
    const RunOptions& o = options_;
    const char* problem = nullptr;
    if (!o.file && !o.code) problem = "give a FILE, - or -c CODE";
    if (o.file && o.code) {
      problem =
          "FILE and -c exclude each other (program arguments go after --)";
    }
    if (o.file == "-" && o.stdin_file == "-") {
      problem = "the program and --stdin cannot both be standard input";
    }
    if (o.library_lock == "-" && (o.file == "-" || o.stdin_file == "-")) {
      problem = "--library-lock and another file cannot both be standard input";
    }
    if (o.json_summary && o.repeat == 0) {
      problem = "--json-summary needs --repeat";
    }
    if (o.repeat > 0 && o.json) problem = "--repeat excludes --json";
    if (o.repeat > 0 && !o.fetch.empty()) problem = "--repeat excludes --fetch";
    if (o.repeat > 0 && !o.request_id.empty()) {
      problem = "--repeat excludes --request-id: each run would be the first";
    }
    if (o.repeat > 0 && !o.approval_id.empty()) {
      problem = "--repeat excludes --approval, which is good for one run";
    }
    if (o.results_dir && !o.rich) problem = "--results needs --rich";
    if (o.results_dir && o.json) {
      problem = "--json excludes --results: the results are in the JSON";
    }
    return problem == nullptr ? absl::OkStatus()
                              : absl::InvalidArgumentError(problem);
  }

  CLI::App& app_;
  std::optional<LimitFlags> limits_;
  RunOptions options_;
  bool no_stream_ = false;
  CLI::Option *file_, *code_, *language_, *stdin_, *args_, *env_, *files_,
      *fetch_, *fetch_dir_, *compile_timeout_, *compile_memory_, *profile_,
      *labels_, *request_id_, *approval_, *repeat_, *results_, *libraries_,
      *library_lock_;
};

// `command` is the command whose help has more, such as "run ", or empty.
ParsedCommandLine UsageError(absl::string_view message,
                             absl::string_view command) {
  ParsedCommandLine parsed;
  parsed.exit_code =
      absl::StartsWith(command, "audit ") ? kExitAuditError : kExitError;
  parsed.text = absl::StrCat("sandglass: ", VisibleText(message),
                             " (see sandglass ", command, "--help)\n");
  return parsed;
}

// Whether what follows "--" is for the program or command to run. For other
// commands "--" only ends the options, so that a file's name may begin with a
// dash.
bool TakesProgramWords(const std::vector<std::string>& before_dashes) {
  const auto session =
      std::find(before_dashes.begin(), before_dashes.end(), "session");
  if (before_dashes.end() - session < 2) return true;
  static constexpr std::array<absl::string_view, 6> kOfFiles = {
      "put", "get", "ls", "cat", "snapshot", "restore"};
  return std::find(kOfFiles.begin(), kOfFiles.end(), session[1]) ==
         kOfFiles.end();
}

}  // namespace

ParsedCommandLine ParseCommandLine(std::vector<std::string> arguments) {
  // A command that stands for an option.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  // CLI11 would use the program's arguments for positionals.
  std::vector<std::string> after_dashes;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_dashes =
      dashes != arguments.end() &&
      TakesProgramWords(std::vector<std::string>(arguments.begin(), dashes));
  if (has_dashes) {
    after_dashes.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }

  CLI::App app("Runs programs in the jails of a Sandglass daemon.",
               "sandglass");
  app.require_subcommand(0, 1);
  app.set_version_flag("-V,--version", "sandglass " SANDGLASS_VERSION);
  CommandLine line;
  const EndpointCommandLine endpoint(app);
  app.fallthrough();

  CLI::App* run = app.add_subcommand(
      "run", "Run a program; what follows -- are its arguments");
  run->footer(
      absl::StrCat("\nExamples:\n", kRunExamples, "\n", RunExitCodeHelp()));
  RunFlags run_flags(*run);

  InfoOptions info_options;
  CLI::App* info = app.add_subcommand(
      "info", "Show the daemon, its profiles and layers of isolation");
  info->add_flag("--json", info_options.json, "As proto JSON");

  LanguagesOptions languages_options;
  CLI::App* languages =
      app.add_subcommand("languages", "Show the languages of the daemon");
  languages->add_flag("--json", languages_options.json, "As proto JSON");

  PsOptions ps_options;
  CLI::App* ps = app.add_subcommand(
      "ps", "Show queued and running runs and the 10 that ended last");
  ps->add_flag("-a,--all", ps_options.all, "All that the daemon remembers");
  ps->add_flag("--json", ps_options.json, "As proto JSON (ListRunsResponse)");
  CLI::Option* ps_labels =
      AddValues(*ps, "--label", "Only runs with this mark", "K=V");

  CLI::App* kill = app.add_subcommand("kill", "Stop a run");
  CLI::Option* kill_id = kill->add_option("RUN_ID", "The run, as ps shows it");
  kill_id->required()->expected(1);
  bool kill_json = false;
  kill->add_flag("--json", kill_json, "As proto JSON (CancelRunResponse)");

  DoctorOptions doctor_options;
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Try harmless attacks in the daemon's jails and show which "
      "protections hold");
  doctor->add_flag("--json", doctor_options.json, "As one JSON object");
  doctor->add_flag("-v,--verbose", doctor_options.verbose,
                   "Each attempt with what came back");
  doctor->add_flag("--quick", doctor_options.quick,
                   "Only what one run sees from inside: no limits, no other "
                   "runs");
  CLI::Option* doctor_profile = AddValue(
      *doctor, "--profile", "Profile to look at (default: default)", "NAME");
  CLI::Option* doctor_languages =
      AddValues(*doctor, "-l,--language,--lang",
                "Only programs in this language; default: all", "LANG");
  CLI::Option* doctor_environment = AddValues(
      *doctor, "--env-name",
      "A variable that your own policy gives programs, and that is no leak",
      "NAME");
  doctor->footer(DoctorExitCodeHelp());

  ServiceCommandLine service(app);
  SessionCommandLine session(app);
  PolicyCommandLine policy(app);
  LayerCommandLine layers(app);
  AuditCommandLine audit(app);
  McpCommandLine mcp(app);
  AgentCommandLine agent(app);
  OperatorCommandLine operators(app);
  IdentityCommandLine identity(app);
  CertCommandLine cert(app);
  app.add_subcommand("help", "Show the help of a command: help run");
  CLI::App* version =
      app.add_subcommand("version", "Show the version of this program");
  bool version_json = false;
  version->add_flag("--json", version_json, "As one JSON object: version");
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes commands: bash, zsh, fish");
  CLI::Option* shell = completion->add_option("SHELL", "bash, zsh or fish");
  shell->required()->expected(1);

  GroupCommands(app);
  // Set only now, because a subcommand would inherit it.
  app.footer(absl::StrCat("\nExamples:\n", kRunExamples, kOtherExamples, "\n",
                          ExitCodeHelp()));

  const std::vector<std::string> typed = arguments;
  // CLI11 expects the arguments in reverse order.
  std::reverse(arguments.begin(), arguments.end());
  const auto path = [&] { return TypedCommand(app); };
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError& error) {
    const std::string problem = UnexpectedWord(app, typed);
    return UsageError(problem.empty() ? error.what() : problem, path());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return UsageError(PlainWords(error.what()), path());
    }
    // Nobody wants the help of a command that isn't there.
    if (LacksCommand(app)) {
      return UsageError(UnexpectedWord(app, typed), path());
    }
    std::ostringstream out;
    app.exit(error, out, out);
    return {.command = std::nullopt, .exit_code = 0, .text = out.str()};
  }

  if (version->parsed()) {
    return {.command = std::nullopt,
            .exit_code = 0,
            .text = version_json ? "{\"version\":\"" SANDGLASS_VERSION "\"}\n"
                                 : "sandglass " SANDGLASS_VERSION "\n"};
  }
  if (completion->parsed()) {
    absl::StatusOr<std::string> script =
        CompletionScript(app, shell->results().back());
    if (!script.ok()) return UsageError(script.status().message(), path());
    return {
        .command = std::nullopt, .exit_code = 0, .text = *std::move(script)};
  }
  line.endpoint = endpoint.Collect();
  std::optional<ParsedCommandLine> refused;
  const auto take = [&](auto options) {
    if (options.ok()) {
      line.command = *std::move(options);
    } else {
      refused = UsageError(options.status().message(), path());
    }
  };
  if (has_dashes && !run->parsed() && !session.parsed() && !service.parsed()) {
    return UsageError("-- has a meaning for run, session exec and up only",
                      path());
  }
  if (run->parsed()) {
    take(run_flags.Collect(std::move(after_dashes)));
  } else if (info->parsed()) {
    line.command = info_options;
  } else if (languages->parsed()) {
    line.command = languages_options;
  } else if (ps->parsed()) {
    absl::StatusOr<Pairs> labels = PairsOf(ps_labels);
    if (!labels.ok()) return UsageError(labels.status().message(), path());
    ps_options.labels = *std::move(labels);
    line.command = ps_options;
  } else if (kill->parsed()) {
    line.command = KillOptions{kill_id->results().back(), kill_json};
  } else if (doctor->parsed()) {
    doctor_options.profile = ValueOf(doctor_profile).value_or("");
    doctor_options.languages = doctor_languages->results();
    doctor_options.environment = doctor_environment->results();
    line.command = doctor_options;
  } else if (service.parsed()) {
    take(service.Collect(std::move(after_dashes)));
  } else if (session.parsed()) {
    std::optional<std::vector<std::string>> words;
    if (has_dashes) words = std::move(after_dashes);
    take(session.Collect(std::move(words)));
  } else if (policy.parsed()) {
    absl::StatusOr<PolicyCommandLine::Options> options = policy.Collect();
    if (!options.ok()) return UsageError(options.status().message(), path());
    if (auto* approvals = std::get_if<ApprovalsOptions>(&*options)) {
      line.command = std::move(*approvals);
    } else {
      line.command = std::get<PolicyOptions>(*std::move(options));
    }
  } else if (layers.parsed()) {
    take(layers.Collect());
  } else if (audit.parsed()) {
    take(audit.Collect());
  } else if (mcp.parsed()) {
    take(mcp.Collect());
  } else if (agent.parsed()) {
    take(agent.Collect());
  } else if (operators.parsed()) {
    take(operators.Collect());
  } else if (identity.parsed()) {
    take(identity.Collect());
  } else if (cert.parsed()) {
    take(cert.Collect());
  } else {
    return UsageError(
        "give a command: up, run, session, agent, info, languages, ps, kill, "
        "status, top, usage, approvals, policy, layers, doctor, audit, mcp, "
        "whoami, context, token, cert, logs or down",
        path());
  }
  if (refused) return *std::move(refused);
  return {.command = std::move(line), .exit_code = 0, .text = ""};
}

}  // namespace sandglass::client
