#include "client/session/session_command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/flags/flag_values.h"
#include "client/flags/library_lock.h"
#include "client/session/session_flags.h"

namespace sandglass::client {
namespace {

constexpr char kExamples[] = R"(
Examples:
  id=$(sandglass session create python)
  sandglass session run "$id" -c 'x = 20'
  sandglass session run "$id" -c 'x + 1'
  sandglass session run "$id" plot.py --results figures
  sandglass session put "$id" sales.csv data/
  sandglass session exec "$id" -- ls -l data
  sandglass session shell "$id"
  sandglass session get "$id" data .
  sandglass session create python --get --label task=42
  sandglass session list
  sandglass session rm "$id"
)";

constexpr char kNoWords[] =
    "-- has a meaning for run, session exec and session shell only";

CLI::Option* AddContext(CLI::App& app) {
  return AddValue(app, "--context",
                  "One of several kernels, each with a state of its own "
                  "(default: the one without a name)",
                  "NAME");
}

// The options of `session run`.
class CellFlags {
 public:
  explicit CellFlags(CLI::App& app)
      : id_(AddSessionId(app)),
        file_(
            AddValue(app, "FILE", "The code; - reads it from standard input")),
        code_(AddValue(app, "-c,--code", "The code's text", "CODE")),
        language_(AddValue(app, "-l,--lang",
                           "Another language than the session's, with a state "
                           "of its own",
                           "LANG")),
        context_(AddContext(app)),
        stdin_(AddValue(app, "--stdin", "What the code reads; - passes ours on",
                        "FILE")),
        timeout_(
            AddValue(app, "--timeout", "Wall time limit, such as 5s", "TIME")),
        cpu_time_(AddValue(app, "--cpu-time",
                           "Processor time limit, such as 2s", "TIME")),
        results_(AddValue(
            app, "--results",
            "Where to save figures and other results that are no text, under "
            "new names (default: ./sandglass-results, made at need)",
            "DIR")),
        labels_(AddValues(app, "--label", "A mark that ps shows", "K=V")),
        request_id_(AddValue(
            app, "--request-id",
            "A repeat within 10 minutes returns the first answer", "ID")) {
    app.add_flag("--batch", options_.batch,
                 "Nobody waits for it: start it where other runs leave room");
    app.add_flag("--json", options_.json,
                 "Print the response as proto JSON (lowerCamelCase; output and "
                 "results are base64, and again as text where they are UTF-8) "
                 "and nothing else");
    app.add_flag("--no-stream", no_stream_,
                 "Print the output at the end instead of live");
    app.add_flag("-q,--quiet", options_.quiet,
                 "No verdict line when the outcome is OK");
    app.add_flag("-v,--verbose", options_.verbose,
                 "Also where the time went, and the trace that it was part of");
  }

  absl::StatusOr<SessionOptions> Collect() const {
    RunOptions options = options_;
    options.session_id = ValueOf(id_).value_or("");
    options.file = ValueOf(file_);
    options.code = ValueOf(code_);
    options.language = ValueOf(language_).value_or("");
    options.context = ValueOf(context_).value_or("");
    options.stdin_file = ValueOf(stdin_);
    options.results_dir = ValueOf(results_);
    options.request_id = ValueOf(request_id_).value_or("");
    options.stream = !no_stream_;
    absl::StatusOr<Pairs> labels = PairsOf(labels_);
    if (!labels.ok()) return labels.status();
    options.labels = *std::move(labels);
    absl::Status status = ParseTimeSpanFlag(timeout_, options.limits.timeout);
    status.Update(ParseTimeSpanFlag(cpu_time_, options.limits.cpu_time));
    status.Update(CheckTogether(options));
    if (!status.ok()) return status;
    return SessionRunOptions{std::move(options)};
  }

 private:
  static absl::Status CheckTogether(const RunOptions& o) {
    if (!o.file && !o.code) return Wrong("give a FILE, - or -c CODE");
    if (o.file && o.code) return Wrong("FILE and -c exclude each other");
    if (o.file == "-" && o.stdin_file == "-") {
      return Wrong("the code and --stdin cannot both be standard input");
    }
    if (o.json && o.results_dir) {
      return Wrong("--json excludes --results: the results are in the JSON");
    }
    return absl::OkStatus();
  }

  RunOptions options_;
  bool no_stream_ = false;
  CLI::Option *id_, *file_, *code_, *language_, *context_, *stdin_, *timeout_,
      *cpu_time_, *results_, *labels_, *request_id_;
};

// The options of `session create`.
class CreateFlags {
 public:
  explicit CreateFlags(CLI::App& app)
      : language_(
            AddValue(app, "LANGUAGE",
                     "Id or alias of the language that runs are in; none: "
                     "no kernel, only files and processes")),
        profile_(
            AddValue(app, "--profile", "Profile (default: default)", "NAME")),
        limits_(app),
        env_(AddEnv(app)),
        labels_(AddValues(app, "--label", "A mark that list shows", "K=V")),
        libraries_(AddValues(app, "--library",
                             "A library for its programs, as the language's "
                             "tool names it: six==1.16.0, lodash@^4",
                             "NAME")),
        lock_(AddLibraryLock(app)),
        idle_timeout_(AddIdleTimeout(app)),
        max_age_(AddMaxAge(app)) {
    app.add_flag("--get", options_.get,
                 "Take the session with all of these labels if there is one");
    app.add_flag("--json", options_.json,
                 "Print the answer as proto JSON instead of the id");
    app.footer(
        "Memory, processes and disks are shared by all that runs in the "
        "session; the\nother limits are what each run gets that asks for "
        "nothing.\n");
  }

  absl::StatusOr<SessionOptions> Collect() const {
    SessionCreateOptions options = options_;
    options.language = ValueOf(language_).value_or("");
    options.profile = ValueOf(profile_).value_or("");
    absl::StatusOr<Pairs> env = PairsOf(env_);
    if (!env.ok()) return env.status();
    options.env = *std::move(env);
    absl::StatusOr<Pairs> labels = PairsOf(labels_);
    if (!labels.ok()) return labels.status();
    options.labels = *std::move(labels);
    options.libraries = libraries_->results();
    options.lock_file = ValueOf(lock_);
    absl::Status status = limits_.Collect(options.limits);
    status.Update(ParseTimeSpanFlag(idle_timeout_, options.idle_timeout));
    status.Update(ParseTimeSpanFlag(max_age_, options.max_age));
    if (!status.ok()) return status;
    if (options.get && options.labels.empty()) {
      return Wrong("--get needs a --label to look for");
    }
    return options;
  }

 private:
  SessionCreateOptions options_;
  CLI::Option *language_, *profile_;
  LimitFlags limits_;
  CLI::Option *env_, *labels_, *libraries_, *lock_, *idle_timeout_, *max_age_;
};

}  // namespace

CLI::Option* AddSessionId(CLI::App& app) {
  return AddValue(app, "ID", "The session, as create and list show it")
      ->required();
}

CLI::Option* AddIdleTimeout(CLI::App& app) {
  return AddValue(app, "--idle-timeout",
                  "It ends after so long without use, such as 30m", "TIME");
}

CLI::Option* AddMaxAge(CLI::App& app) {
  return AddValue(app, "--max-age",
                  "It ends at this age however it is used, such as 8h", "TIME");
}

CLI::Option* AddEnv(CLI::App& app) {
  return AddValues(app, "--env",
                   "An environment variable of all that runs in it", "K=V");
}

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

SessionCommandLine::SessionCommandLine(CLI::App& app)
    : session_(app.add_subcommand(
          "session", "Keep a jail with its files and state between runs")) {
  session_->require_subcommand(0, 1);
  AddCreate();
  AddList();
  AddInfo();
  AddRun();
  AddExec();
  AddShell();
  AddPs();
  AddAttach();
  AddStop();
  AddForward();
  AddLink();
  AddPut();
  AddGet();
  AddLs();
  AddCat();
  AddKernelVerb(KernelVerb::kInterrupt, "interrupt",
                "Interrupt what runs in a kernel, as Ctrl-C does; its state "
                "stays");
  AddKernelVerb(KernelVerb::kRestart, "restart",
                "End a kernel; the next run starts another, without its "
                "state");
  AddVerb(SessionVerb::kPause, "pause",
          "Stop all its processes until it is resumed or used");
  AddVerb(SessionVerb::kResume, "resume", "Let a paused session go on");
  AddFork();
  AddSnapshot();
  AddRestore();
  AddUpdate();
  AddDelete();
  // Set only now, because a subcommand would inherit it.
  session_->footer(kExamples);
}

bool SessionCommandLine::parsed() const { return session_->parsed(); }

absl::StatusOr<SessionOptions> SessionCommandLine::Collect(
    std::optional<std::vector<std::string>> words) {
  std::vector<std::string> names;
  for (const Command& command : commands_) {
    names.push_back(command.app->get_name());
    if (!command.app->parsed()) continue;
    if (words && !command.has_words) return Wrong(kNoWords);
    if (words) words_ = *std::move(words);
    return command.take();
  }
  const std::string last = names.back();
  names.pop_back();
  return Wrong(absl::StrCat(
      "give a command of session: ", absl::StrJoin(names, ", "), " or ", last));
}

CLI::App& SessionCommandLine::Add(const std::string& name,
                                  const std::string& help) {
  CLI::App* app = session_->add_subcommand(name, help);
  commands_.push_back({app, nullptr, false});
  return *app;
}

void SessionCommandLine::AddCreate() {
  CLI::App& app = Add("create", "Make a session and print its id");
  const auto flags = std::make_shared<CreateFlags>(app);
  commands_.back().take = [flags] { return flags->Collect(); };
}

void SessionCommandLine::AddList() {
  CLI::App& app = Add("list", "Show your sessions, as root everybody's");
  const auto options = std::make_shared<SessionListOptions>();
  CLI::Option* labels =
      AddValues(app, "--label", "Only sessions with this mark", "K=V");
  CLI::Option* state = AddValue(app, "--state", "Only sessions in this state",
                                "active|paused|dormant");
  app.add_flag("--json", options->json, "As proto JSON (ListSessionsResponse)");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionListOptions taken = *options;
    absl::StatusOr<Pairs> pairs = PairsOf(labels);
    if (!pairs.ok()) return pairs.status();
    taken.labels = *std::move(pairs);
    taken.state = ValueOf(state).value_or("");
    if (state->count() > 0 && taken.state != "active" &&
        taken.state != "paused" && taken.state != "dormant") {
      return Wrong(absl::StrCat("--state '", VisibleText(taken.state),
                                "': write active, paused or dormant"));
    }
    return taken;
  };
}

void SessionCommandLine::AddInfo() {
  CLI::App& app = Add("info", "Show one session with its kernels and limits");
  const auto options = std::make_shared<SessionInfoOptions>();
  CLI::Option* id = AddSessionId(app);
  app.add_flag("--json", options->json, "As proto JSON (GetSessionResponse)");
  commands_.back().take = [=] {
    SessionInfoOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    return taken;
  };
}

void SessionCommandLine::AddRun() {
  CLI::App& app = Add("run", "Run code in a session's kernel");
  app.footer(absl::StrCat(
      "\nThe code's state stays for the next run. The value of its last "
      "expression is\nprinted as text; figures and other results are saved, "
      "and their paths printed.\nCtrl-C interrupts the code.\n",
      kExamples, "\n", ExitCodeHelp()));
  const auto flags = std::make_shared<CellFlags>(app);
  commands_.back().take = [flags] { return flags->Collect(); };
}

void SessionCommandLine::AddUpdate() {
  CLI::App& app = Add("update", "Change how long a session lives or its marks");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* idle_timeout = AddIdleTimeout(app);
  CLI::Option* max_age = AddMaxAge(app);
  CLI::Option* labels =
      AddValues(app, "--label", "A mark; these replace all it has", "K=V");
  const auto no_labels = std::make_shared<bool>(false);
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "As proto JSON (UpdateSessionResponse)");
  app.add_flag("--no-labels", *no_labels, "Take all its marks away");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionUpdateOptions taken;
    taken.session_id = ValueOf(id).value_or("");
    taken.json = *json;
    absl::Status status = ParseTimeSpanFlag(idle_timeout, taken.idle_timeout);
    status.Update(ParseTimeSpanFlag(max_age, taken.max_age));
    absl::StatusOr<Pairs> pairs = PairsOf(labels);
    status.Update(pairs.status());
    if (!status.ok()) return status;
    if (*no_labels && !pairs->empty()) {
      return Wrong("--label and --no-labels exclude each other");
    }
    if (*no_labels || !pairs->empty()) taken.labels = *std::move(pairs);
    if (!taken.idle_timeout && !taken.max_age && !taken.labels) {
      return Wrong("say what to change: --idle-timeout, --max-age or --label");
    }
    return taken;
  };
}

void SessionCommandLine::AddVerb(SessionVerb verb, const std::string& name,
                                 const std::string& help) {
  CLI::App& app = Add(name, help);
  CLI::Option* id = AddSessionId(app);
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "The session as proto JSON");
  commands_.back().take = [=] {
    return SessionVerbOptions{verb, ValueOf(id).value_or(""), *json};
  };
}

void SessionCommandLine::AddKernelVerb(KernelVerb verb, const std::string& name,
                                       const std::string& help) {
  CLI::App& app = Add(name, help);
  CLI::Option* id = AddSessionId(app);
  CLI::Option* context = AddContext(app);
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "The answer as proto JSON");
  commands_.back().take = [=] {
    return KernelVerbOptions{verb, ValueOf(id).value_or(""),
                             ValueOf(context).value_or(""), *json};
  };
}

void SessionCommandLine::AddDelete() {
  CLI::App& app = Add("rm", "End sessions, with all that runs in them");
  CLI::Option* ids = AddWords(app, "ID", "The sessions", "");
  const auto all = std::make_shared<bool>(false);
  app.add_flag("--all", *all,
               "All your sessions, as root everybody's; asks nothing");
  CLI::Option* labels =
      AddValues(app, "--label", "With --all: only those with this mark", "K=V");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionDeleteOptions taken;
    taken.session_ids = ids->results();
    taken.all = *all;
    absl::StatusOr<Pairs> pairs = PairsOf(labels);
    if (!pairs.ok()) return pairs.status();
    taken.labels = *std::move(pairs);
    if (taken.session_ids.empty() && !taken.all) {
      return Wrong("give the ID of a session, or --all");
    }
    if (!taken.session_ids.empty() && taken.all) {
      return Wrong("an ID and --all exclude each other");
    }
    if (!taken.labels.empty() && !taken.all) {
      return Wrong("--label chooses among --all");
    }
    return taken;
  };
}

}  // namespace sandglass::client
