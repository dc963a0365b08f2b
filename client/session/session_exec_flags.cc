// The commands of `sandglass session` that concern processes.

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/flags/flag_values.h"
#include "client/run/exec_text.h"
#include "client/session/session_command_line.h"
#include "client/session/session_flags.h"

namespace sandglass::client {
namespace {

constexpr char kExecHelp[] = R"(
Output comes as it is written, and the exit code is the command's. A pipe or
file as standard input is passed on, a terminal with -i or -t only. Ctrl-C
interrupts the command, the second time it is killed; SIGTERM and SIGHUP stop it.

Examples:
  sandglass session exec "$id" -- ls -l /workspace
  sandglass session exec "$id" -c 'sort names.txt | uniq -c'
  sandglass session exec "$id" -- wc -l < names.txt
  server=$(sandglass session exec "$id" -d -- python3 -m http.server)
  sandglass session attach "$id" "$server"
  sandglass session stop "$id" "$server"
)";

constexpr char kShellHelp[] = R"(
All keys go to the shell, Ctrl-C and Ctrl-Z too. Ctrl-] three times within a
second leaves it running: "sandglass session attach" brings you back. What it
writes reaches your terminal as it is.

Examples:
  sandglass session shell "$id"
  sandglass session shell "$id" python3
)";

// What exec and shell have in common.
struct CommandFlags {
  explicit CommandFlags(CLI::App& app)
      : id(AddSessionId(app)),
        cwd(AddValue(app, "--cwd", "Its directory (default: /workspace)",
                     "DIR")),
        env(AddValues(app, "--env", "An environment variable of it", "K=V")),
        timeout(
            AddValue(app, "--timeout", "Wall time limit, such as 5s", "TIME")),
        cpu_time(AddValue(app, "--cpu-time", "Processor time limit, such as 2s",
                          "TIME")),
        exec_id(AddValue(app, "--exec-id",
                         "A name of your own for it; a repeat comes back to "
                         "what it started, which lives on without you",
                         "EXEC")) {}

  absl::Status Collect(SessionExecOptions& options) const {
    options.session_id = ValueOf(id).value_or("");
    options.directory = ValueOf(cwd).value_or("");
    options.exec_id = ValueOf(exec_id).value_or("");
    absl::StatusOr<Pairs> pairs = PairsOf(env);
    if (!pairs.ok()) return pairs.status();
    options.env = *std::move(pairs);
    absl::Status status = ParseTimeSpanFlag(timeout, options.limits.timeout);
    status.Update(ParseTimeSpanFlag(cpu_time, options.limits.cpu_time));
    return status;
  }

  CLI::Option *id, *cwd, *env, *timeout, *cpu_time, *exec_id;
};

CLI::Option* AddExecId(CLI::App& app) {
  return AddValue(app, "EXEC", "The command, as ps shows it")->required();
}

absl::Status ParsePort(const std::string& text, uint16_t& port) {
  uint32_t number = 0;
  constexpr uint32_t kMost = 65535;
  if (!absl::SimpleAtoi(text, &number) || number == 0 || number > kMost) {
    return Wrong(absl::StrCat("'", VisibleText(text),
                              "' is no port: write a number from 1 to 65535"));
  }
  port = static_cast<uint16_t>(number);
  return absl::OkStatus();
}

}  // namespace

void SessionCommandLine::AddExec() {
  CLI::App& app = Add("exec", "Run a command in a session; it follows --");
  const auto options = std::make_shared<SessionExecOptions>();
  const auto flags = std::make_shared<CommandFlags>(app);
  CLI::Option* command =
      AddValue(app, "-c,--command", "A text for /bin/sh instead", "TEXT");
  app.add_flag("-i,--interactive", options->interactive,
               "Pass standard input on, a terminal too; with -d: leave the "
               "command's open");
  app.add_flag("-n,--no-stdin", options->no_stdin, "Pass no standard input on");
  app.add_flag("-t,--tty", options->terminal,
               "Run it on a terminal of its own");
  app.add_flag("-d,--background", options->background,
               "Print its id and let it run");
  app.add_flag("--merged", options->merged,
               "Its standard error in standard output");
  app.footer(absl::StrCat(kExecHelp, "\n", ExitCodeHelp()));
  commands_.back().has_words = true;
  commands_.back().take = [=, this]() -> absl::StatusOr<SessionOptions> {
    SessionExecOptions taken = *options;
    const absl::Status status = flags->Collect(taken);
    if (!status.ok()) return status;
    taken.command = ValueOf(command).value_or("");
    taken.argv = words_;
    if (taken.command.empty() == taken.argv.empty()) {
      return Wrong(taken.argv.empty()
                       ? "give a command: session exec ID -- CMD, or -c TEXT"
                       : "-c and a command after -- exclude each other");
    }
    if (taken.interactive && taken.no_stdin) {
      return Wrong("-i and -n exclude each other");
    }
    return taken;
  };
}

void SessionCommandLine::AddShell() {
  CLI::App& app = Add("shell", "Work in a session on a terminal");
  const auto flags = std::make_shared<CommandFlags>(app);
  CLI::Option* command =
      AddValue(app, "CMD", "A text for /bin/sh instead of the best shell");
  app.footer(absl::StrCat(kShellHelp, "\n", ExitCodeHelp()));
  commands_.back().has_words = true;
  commands_.back().take = [=, this]() -> absl::StatusOr<SessionOptions> {
    SessionExecOptions taken;
    taken.shell = true;
    taken.terminal = true;
    taken.interactive = true;
    const absl::Status status = flags->Collect(taken);
    if (!status.ok()) return status;
    taken.command = ValueOf(command).value_or("");
    taken.argv = words_;
    if (!taken.command.empty() && !taken.argv.empty()) {
      return Wrong("CMD and a command after -- exclude each other");
    }
    return taken;
  };
}

void SessionCommandLine::AddAttach() {
  CLI::App& app = Add("attach", "Come back to a command in a session");
  const auto options = std::make_shared<SessionAttachOptions>();
  CLI::Option* id = AddSessionId(app);
  CLI::Option* exec_id = AddExecId(app);
  app.add_flag("-i,--interactive", options->interactive,
               "Pass standard input on; done anyway where it has a terminal");
  app.footer(absl::StrCat(
      "\nShows what is kept of its output and what comes. Ctrl-C leaves it "
      "running; on a\nterminal Ctrl-] three times does.\n\n",
      ExitCodeHelp()));
  commands_.back().take = [=] {
    SessionAttachOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    taken.exec_id = ValueOf(exec_id).value_or("");
    return taken;
  };
}

void SessionCommandLine::AddPs() {
  CLI::App& app = Add("ps", "Show the commands in a session");
  const auto options = std::make_shared<SessionPsOptions>();
  CLI::Option* id = AddSessionId(app);
  app.add_flag("--json", options->json, "As proto JSON (ListExecsResponse)");
  commands_.back().take = [=] {
    SessionPsOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    return taken;
  };
}

void SessionCommandLine::AddStop() {
  CLI::App& app = Add("stop", "Stop commands in a session");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* exec_ids =
      AddWords(app, "EXEC", "The commands, as ps shows", "")->required();
  CLI::Option* signal = AddValue(
      app, "-s,--signal", "What it gets first (default: TERM)", "SIGNAL");
  CLI::Option* grace =
      AddValue(app, "--grace",
               "How long it has until it is killed (default: 5s)", "TIME");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json,
               "As proto JSON (StopExecResponse), a line for each");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionStopOptions taken;
    taken.session_id = ValueOf(id).value_or("");
    taken.exec_ids = exec_ids->results();
    taken.json = *json;
    if (const std::optional<std::string> text = ValueOf(signal)) {
      absl::StatusOr<int> number = ParseSignal(*text);
      if (!number.ok()) {
        return Wrong(
            absl::StrCat("--signal: ", VisibleText(number.status().message())));
      }
      taken.signal = *number;
    }
    const absl::Status status = ParseTimeSpanFlag(grace, taken.grace);
    if (!status.ok()) return status;
    return taken;
  };
}

void SessionCommandLine::AddFork() {
  CLI::App& app =
      Add("fork", "Make sessions with the same files and print their ids");
  const auto options = std::make_shared<SessionForkOptions>();
  CLI::Option* id = AddSessionId(app);
  CLI::Option* count =
      AddValue(app, "-n,--count", "How many (default: 1)", "N");
  const auto limits = std::make_shared<LimitFlags>(app);
  CLI::Option* env = AddEnv(app);
  CLI::Option* labels =
      AddValues(app, "--label", "A mark; these replace the parent's", "K=V");
  CLI::Option* idle_timeout = AddIdleTimeout(app);
  CLI::Option* max_age = AddMaxAge(app);
  app.add_flag("--json", options->json, "As proto JSON (ForkSessionResponse)");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionForkOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    std::optional<uint32_t> number;
    absl::Status status = ParseCountFlag(count, number);
    taken.count = number.value_or(1);
    status.Update(limits->Collect(taken.limits));
    status.Update(ParseTimeSpanFlag(idle_timeout, taken.idle_timeout));
    status.Update(ParseTimeSpanFlag(max_age, taken.max_age));
    absl::StatusOr<Pairs> pairs = PairsOf(env);
    status.Update(pairs.status());
    absl::StatusOr<Pairs> marks = PairsOf(labels);
    status.Update(marks.status());
    if (!status.ok()) return status;
    taken.env = *std::move(pairs);
    if (!marks->empty()) taken.labels = *std::move(marks);
    // The daemon has its own bound; this one avoids a large message in vain.
    constexpr uint32_t kMaxChildren = 64;
    if (taken.count > kMaxChildren) {
      return Wrong(absl::StrCat("-n ", taken.count, ": at most ", kMaxChildren,
                                " at a time"));
    }
    return taken;
  };
}

void SessionCommandLine::AddForward() {
  CLI::App& app =
      Add("forward", "Reach a program in a session that listens on a port");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* ports =
      AddValue(
          app, "PORT[:LOCAL]",
          "Its port, and this machine's (default: the same; 0: a free one)")
          ->required();
  app.footer(
      "\nConnections to 127.0.0.1:LOCAL go to the program, until Ctrl-C or the "
      "session's end.\n\nExamples:\n"
      "  sandglass session exec \"$id\" -d -- python3 -m http.server 8000\n"
      "  sandglass session forward \"$id\" 8000\n"
      "  sandglass session forward \"$id\" 8000:0\n");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    const std::string text = ValueOf(ports).value_or("");
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(text, absl::MaxSplits(':', 1));
    SessionForwardOptions taken{.session_id = ValueOf(id).value_or("")};
    const bool both = absl::StrContains(text, ':');
    if (absl::Status read = ParsePort(parts.first, taken.port); !read.ok()) {
      return read;
    }
    taken.local = taken.port;
    if (both && parts.second == "0") {
      taken.local = 0;
    } else if (both) {
      absl::Status read = ParsePort(parts.second, taken.local);
      if (!read.ok()) return read;
    }
    return taken;
  };
}

void SessionCommandLine::AddLink() {
  CLI::App& app = Add("link",
                      "Make a link by which a browser reaches a program in a "
                      "session through a gateway");
  const auto options = std::make_shared<SessionLinkOptions>();
  CLI::Option* id = AddSessionId(app);
  CLI::Option* port =
      AddValue(app, "PORT", "On which the program listens")->required();
  CLI::Option* duration = AddValue(
      app, "--for", "How long it holds, such as 10m (default: 1h)", "TIME");
  app.add_flag("--json", options->json, "As proto JSON (CreateLinkResponse)");
  app.footer("\nWhoever has the link reaches that port as you would.\n");
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionLinkOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    const std::string text = ValueOf(port).value_or("");
    if (absl::Status read = ParsePort(text, taken.port); !read.ok()) {
      return read;
    }
    if (absl::Status read = ParseTimeSpanFlag(duration, taken.duration);
        !read.ok()) {
      return read;
    }
    return taken;
  };
}

}  // namespace sandglass::client
