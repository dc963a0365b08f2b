#include "tests/security/posture/posture_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/support/calls/idle_jails.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/calls/warm.h"
#include "tests/support/host/process.h"
#include "tests/support/matchers.h"
#include "tests/support/posture/posture_scene.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(60);

// Of the grandchild. What it tries when it is told to is for Landlock, see
// posture_test.cc.
constexpr char kShell[] =
    "mkfifo /tmp/go /tmp/end; echo ready; read x </tmp/go; "
    "cp /var/empty/a /tmp/a; cp /run/a /tmp/b; echo tried; read x </tmp/end";

constexpr char kPython[] = R"(
import os, sys, threading, time
if os.fork() == 0:
    if os.fork() == 0:
        os.execv('/bin/sh', ['sh', '-c', 'SHELL', sys.argv[1]])
    os.wait()
threading.Thread(target=time.sleep, args=(60,)).start()
)";

constexpr char kPythonCell[] = R"(
import os
if os.fork() == 0:
    if os.fork() == 0:
        os.execv('/bin/sh', ['sh', '-c', 'SHELL', 'MARKER'])
    os.wait()
os.wait()
)";

constexpr char kRuby[] = R"(
fork do
  fork { exec 'sh', '-c', 'SHELL', ARGV[0] }
  Process.wait
end
Thread.new { sleep 60 }.join
)";

// Their own threads are enough.
constexpr char kNode[] = R"(
require('child_process').spawn(
    'sh', ['-c', 'sh -c "$0" "$1"; true', 'SHELL', process.argv[2]],
    {stdio: 'inherit'});
setTimeout(() => {}, 60000);
)";

constexpr char kJava[] = R"(
class Main {
  public static void main(String[] args) throws Exception {
    new ProcessBuilder("sh", "-c", "sh -c \"$0\" \"$1\"; true", "SHELL", args[0])
        .inheritIO().start().waitFor();
  }
}
)";

bool HasLanguage(Client& client, const std::string& id) {
  v1::GetServerInfoResponse info;
  if (!client.Info(&info).ok()) return false;
  for (const auto& language : info.languages()) {
    if (language.id() == id) return language.available();
  }
  return false;
}

using Change = std::function<void(v1::RunCodeRequest&)>;

std::function<LiveJail(Daemon&)> StartsProgram(const std::string& language,
                                               const std::string& code,
                                               const Change& change = {}) {
  return [=](Daemon& daemon) {
    LiveJail jail;
    jail.marker = MakeMarker();
    v1::RunCodeRequest request =
        Program(language, absl::StrReplaceAll(code, {{"SHELL", kShell}}));
    if (change) change(request);
    request.add_args(jail.marker);
    jail.call = std::make_unique<StreamCall>(daemon.client().stub(), request);
    EXPECT_TRUE(jail.call->ReadUntil("ready"));
    return jail;
  };
}

// Until a run of it had a runner.
std::function<bool(Client&)> WarmsUp(const std::string& language,
                                     const std::string& code) {
  return [=](Client& client) {
    if (PoolIsOff()) return true;
    return WaitUntil(
        [&] { return HadRunner(client.Run(Program(language, code))); },
        kSettle);
  };
}

// Whether each of its threads has stopped, and which line each has of `key`.
bool HasStopped(pid_t pid, absl::string_view key,
                std::vector<std::string>& lines) {
  lines.clear();
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/task"), error)) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (absl::StartsWith(line, "State:") && !absl::StrContains(line, "T (")) {
        return false;
      }
      if (absl::StartsWith(line, key)) lines.push_back(line);
    }
  }
  return true;
}

bool HasOpen(pid_t pid, const std::string& path) {
  std::error_code error;
  for (const auto& fd : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/fd"), error)) {
    if (std::filesystem::read_symlink(fd.path(), error) == path) return true;
  }
  return false;
}

// Also false, and all goes on, where that came just as a thread of `one` began
// or ended: it has all signals blocked then (glibc's pthread_create.c); or
// while `one` was reading the file `read_first`.
bool StopAll(const Daemon& daemon, const Process& one,
             const std::string& read_first = "") {
  const std::string pids = NamespacesOf(one.pid)["pid"];
  std::vector<Process> stopped;
  for (const Process& process : daemon.Processes()) {
    if (NamespacesOf(process.pid)["pid"] != pids ||
        NameOf(process.pid) == "sandglass-init") {
      continue;
    }
    Kill(process, SIGSTOP);
    stopped.push_back(process);
  }
  std::vector<std::string> blocked;
  if (!WaitUntil([&] { return HasStopped(one.pid, "SigBlk:", blocked); },
                 kSettle)) {
    return false;
  }
  const auto all = [](const std::string& line) {
    return absl::EndsWith(line, "fffffffffffbfeff");  // but KILL and STOP
  };
  if (std::none_of(blocked.begin(), blocked.end(), all) &&
      !HasOpen(one.pid, read_first)) {
    return IsAlive(one);
  }
  for (const Process& process : stopped) Kill(process, SIGCONT);
  return false;
}

// What takes long enough to be seen at it, in C++ and within a class of Java's.
// It includes nothing: a compiler would have headers open, now and then.
std::string Functions() {
  std::string functions;
  for (int i = 0; i < 4000; ++i) {
    absl::StrAppend(&functions, " int f", i, "(int a) { return a * ", i,
                    "; }\n");
  }
  return functions;
}

// It opens what it writes once it has set up its signals.
bool WritesItsOutput(const Process& compiler) {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", compiler.pid, "/fd"), error)) {
    const std::string target =
        std::filesystem::read_symlink(file.path(), error).string();
    if (absl::StartsWith(target, "/tmp/cc")) return true;
  }
  return false;
}

LiveJail StartCompiler(Daemon& daemon) {
  LiveJail jail;
  jail.call = std::make_unique<StreamCall>(
      daemon.client().stub(), Program("cpp", Functions() + "int main() {}"));
  EXPECT_TRUE(WaitUntil(
      [&] {
        for (const Process& each : daemon.Processes()) {
          if (NameOf(each.pid) != "cc1plus" || !WritesItsOutput(each)) continue;
          jail.inside = each.pid;
          return StopAll(daemon, each);
        }
        return false;
      },
      kSettle));
  return jail;
}

// The compiler that waited, once it has its job.
LiveJail StartJavac(Daemon& daemon) {
  EXPECT_TRUE(AwaitIdle(daemon.client(), kJavac));
  LiveJail jail;
  std::vector<Process> waiting;
  const Scene scene(daemon.pid(), "", 0);
  for (const Member* each : scene.WithRole("waiting-javac", "")) {
    waiting.push_back(FindProcess(each->pid).value_or(Process()));
  }
  jail.call = std::make_unique<StreamCall>(
      daemon.client().stub(),
      Program("java", absl::StrCat(
                          "class Main { public static void main(String[] a) {}",
                          Functions(), "}")));
  const auto has_job = [](const Process& process) {
    return !absl::StrContains(ReadProc(process.pid, "limits"),
                              "Max cpu time              18446744073709551614");
  };
  EXPECT_TRUE(WaitUntil(
      [&] {
        for (const Process& each : waiting) {
          if (!has_job(each)) continue;
          jail.inside = each.pid;
          return StopAll(daemon, each, "/workspace/Main.java");
        }
        return false;
      },
      kSettle));
  return jail;
}

// All that there is in a session's jail: the kernel that waited in it, one that
// init started with its child and grandchild, and the file agent.
LiveJail StartSession(Daemon& daemon) {
  LiveJail jail;
  jail.marker = MakeMarker();
  Client& client = daemon.client();
  jail.session = std::make_unique<TestSession>(client);
  EXPECT_THAT(jail.session->status(), IsOk());
  EXPECT_THAT(jail.session->Run("1"), OutcomeIs(v1::OUTCOME_OK));
  v1::StatFileRequest request;
  request.set_session_id(jail.session->id());
  request.set_path(".");
  v1::StatFileResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  EXPECT_THAT(client.files().StatFile(&context, request, &response), IsOk());
  jail.call = std::make_unique<StreamCall>(
      client.stub(),
      jail.session->Cell(
          absl::StrReplaceAll(kPythonCell,
                              {{"SHELL", kShell}, {"MARKER", jail.marker}}),
          "second"));
  EXPECT_TRUE(jail.call->ReadUntil("ready"));
  return jail;
}

// Of every kind whose programs run by themselves.
std::vector<std::pair<std::string, std::string>> Roles(
    const std::string& base,
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::pair<std::string, std::string>> roles = {
      {"spawner", base.empty() ? "" : base + "/spawner"},
      {"init", base.empty() ? "" : base + "/init"},
      {"program", base.empty() ? "" : base + "/program"},
      {"child", "program"},
      {"grandchild", "child"}};
  roles.insert(roles.end(), more.begin(), more.end());
  return roles;
}

PostureKind Warm(const std::string& kind, const std::string& language,
                 const std::string& first, const std::string& code) {
  const std::string base = kind == "python-lean" ? "exec" : "python-lean";
  PostureKind made;
  made.name = kind;
  made.yard = "yard-" + kind;
  made.roles =
      Roles(base, {{"waiting-init", base + "/waiting-init"},
                   {"zygote", base == "exec" ? "" : base + "/zygote"}});
  // The pool keeps none with large libraries for long.
  if (kind != "python-science") {
    made.roles.emplace_back("runner", "program");
    made.roles.emplace_back("runners-init", "init");
  }
  made.language = language;
  made.prepare = WarmsUp(language, first);
  made.start = StartsProgram(language, code);
  return made;
}

PostureKind Prestarted(const std::string& kind, const std::string& language,
                       const std::string& process, const std::string& code) {
  PostureKind made;
  made.name = kind;
  made.yard = "yard";
  made.roles = Roles("exec", {{"waiting-" + process, "program"},
                              {process + "s-init", "init"}});
  made.language = language;
  made.prepare = [=](Client& client) {
    if (PoolIsOff()) return true;
    if (language == "java") WarmUp(client);
    return AwaitIdle(client, kind);
  };
  made.start = StartsProgram(language, code);
  return made;
}

std::vector<PostureKind> MakeKinds() {
  std::vector<PostureKind> kinds(1);
  kinds[0].name = "exec";
  kinds[0].yard = "yard";
  kinds[0].roles =
      Roles("", {{"waiting-init", "init"}, {"pooled-init", "init"}});
  // Jails are raised in the shape that was asked for last.
  kinds[0].prepare = [](Client& client) {
    for (int i = 0; i < 6; ++i) (void)client.Run(Bash("true"));
    return true;
  };
  kinds[0].start =
      StartsProgram("python", kPython, [](v1::RunCodeRequest& request) {
        // Acts as the interpreter starts, so it takes a fresh one.
        (*request.mutable_env())["PYTHONHASHSEED"] = "0";
      });
  kinds.push_back(Warm("python-lean", "python", "print(1)", kPython));
  PostureKind session;
  session.name = "session";
  session.yard = "yard-python-lean";
  session.roles = {
      {"init", "python-lean/init"}, {"program", "python-lean/program"},
      {"spawned", "exec/program"},  {"file-agent", "exec/program"},
      {"child", "spawned"},         {"grandchild", "child"}};
  session.language = "python";
  session.of_pool = true;
  session.prepare = WarmsUp("python", "print(1)");
  session.start = StartSession;
  kinds.push_back(session);
  kinds.push_back(Warm("python-science", "python", "import numpy",
                       absl::StrCat("import numpy\n", kPython)));
  kinds.push_back(Warm("ruby-lean", "ruby", "print 1", kRuby));
  kinds.push_back(Prestarted("javascript-run", "javascript", "node", kNode));
  kinds.push_back(Prestarted("java-run", "java", "java", kJava));
  PostureKind compiler;
  compiler.name = "compile";
  compiler.yard = "yard";
  compiler.roles = {
      {"init", "exec/init"}, {"program", "exec/program"}, {"child", "program"}};
  compiler.language = "cpp";
  compiler.prepare = [](Client&) { return true; };
  compiler.start = StartCompiler;
  kinds.push_back(compiler);
  compiler.name = "java-compile";
  compiler.roles = {{"init", "exec/init"},
                    {"program", "java-run/program"},
                    {"waiting-javac", "program"},
                    {"javacs-init", "init"}};
  compiler.language = "java";
  compiler.of_pool = true;
  compiler.prepare = [](Client& client) {
    WarmUp(client);
    return true;
  };
  compiler.start = StartJavac;
  kinds.push_back(compiler);
  for (PostureKind& kind : kinds) {
    kind.test_name = absl::StrReplaceAll(kind.name, {{"-", "_"}});
  }
  return kinds;
}

}  // namespace

const std::vector<PostureKind>& PostureKinds() {
  static const auto* const kKinds = new std::vector<PostureKind>(MakeKinds());
  return *kKinds;
}

const std::set<std::string> kRolesOfThePool = {
    "waiting-init",  "pooled-init", "runner",       "runners-init",
    "waiting-node",  "nodes-init",  "waiting-java", "javas-init",
    "waiting-javac", "javacs-init"};

bool PoolIsOff() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* config = std::getenv("SANDGLASS_TEST_CONFIG");
  return config != nullptr && absl::StrContains(config, "\"floor\": 0");
}

bool CanBeHere(const PostureKind& kind, Client& client) {
  if (kind.of_pool && PoolIsOff()) return false;
  return kind.language.empty() || HasLanguage(client, kind.language);
}

}  // namespace sandglass::testing
