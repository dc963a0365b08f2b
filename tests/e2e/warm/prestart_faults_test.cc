// What goes wrong with interpreters that are started ahead of their programs,
// and compilers that are.

#include <signal.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/calls/idle_jails.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/programs.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(60);

class PrestartFaults : public OwnDaemonTest {
 protected:
  std::vector<Process> Waiting() {
    std::vector<Process> found;
    for (const Process& process : daemon().Processes()) {
      const std::string command = CommandOf(process.pid);
      if (absl::StrContains(command, "--wait") ||
          absl::StrContains(command, "sandglass.Launch")) {
        found.push_back(process);
      }
    }
    return found;
  }
};

TEST_F(PrestartFaults, AnInterpreterThatDiedWaitingIsReplacedAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_NO_FATAL_FAILURE(WarmUp(client()));
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::vector<Process> waiting = Waiting();
    EXPECT_GE(waiting.size(), 3U) << Describe(waiting);
    for (const Process& process : waiting) (void)Kill(process, signal);
    // Until init has reaped them: one that is still ending, a thread of which
    // holds the pipes, can't be told from one that waits.
    EXPECT_TRUE(WaitUntil(
        [&] {
          return std::none_of(waiting.begin(), waiting.end(),
                              [](const Process& process) {
                                return FindProcess(process.pid) == process;
                              });
        },
        kSettle));
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(client().Run(Node("console.log(1)")),
                  OutcomeIs(v1::OUTCOME_OK));
    }
    EXPECT_THAT(client().Run(Java("class A { public static void "
                                  "main(String[] a) { } }")),
                OutcomeIs(v1::OUTCOME_OK));
    for (const char* kind : {kNode, kJava, kJavac}) {
      EXPECT_TRUE(AwaitIdle(client(), kind)) << kind;
    }
    EXPECT_EQ(KindOf(RunPrestarted(client(), Node("1"))), kNode);
  }
  StopDaemon();
}

TEST_F(PrestartFaults, ABurstIsServedByFreshInterpreters) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitIdle(client(), kNode));
  const std::vector<v1::RunCodeRequest> requests(30, Node("console.log('ok')"));
  std::set<std::string> kinds;
  for (const RunResult& result : client().RunAll(requests, 8)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
    kinds.insert(KindOf(result));
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"exec", kNode}));
  StopDaemon();
}

TEST_F(PrestartFaults, APoolFloorOfZeroStartsNothingAhead) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({"pool": {"floor": 0}})"}));
  const RunResult result = client().Run(Node("console.log('ok')"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(KindOf(result), "exec");
  EXPECT_TRUE(Waiting().empty());
  StopDaemon();
}

// What a compiler had read before it waited is not what a program brings. With
// every change it is one program of three.
std::vector<v1::RunCodeRequest> ProgramsForACompiler() {
  const auto main = [](absl::string_view before, absl::string_view body) {
    return Java(absl::StrCat(before, "public class Main { public static void ",
                             "main(String[] a) throws Exception { ", body,
                             " } }"));
  };
  std::vector<v1::RunCodeRequest> requests = {
      main("", "int x = \"a\"; nothing();"),
      main("", "java.util.List<? extends Number> l = null; l.add(1);"),
      main("",
           "new java.util.Date(1, 2, 3); java.util.List l = "
           "new java.util.ArrayList(); l.add(1); System.out.println(l);"),
      // Names that the sample has, too.
      main("", "Sample s; Shape t; Colour c = Colour.RED;"),
      main("class Scanner { } class Box<T> { T value; } enum Colour { RED } ",
           "System.out.println(new Box<Colour>().value + \" \" + "
           "new Scanner().getClass() + Colour.RED);"),
      main("class System { static String out = \"ours\"; } ",
           "java.lang.System.out.println(System.out);"),
      main("package java.lang; ", ""),
      main("import java.util.*; import java.sql.*; ", "Date date;"),
  };
  const auto with = [&](absl::string_view body, const char* path,
                        const char* text) {
    requests.push_back(main("", body));
    v1::InputFile* file = requests.back().add_files();
    file->set_path(path);
    file->set_content(text);
  };
  with("System.out.println(Helper.VALUE);", "Helper.java",
       "class Helper { static final int VALUE = 7; }");
  with("Integer i = null; System.out.println(Integer.VALUE);", "Integer.java",
       "class Integer { static final int VALUE = 8; }");
  with("", "module-info.java", "module own { requires java.desktop; }");
  // Seen, and found to be none.
  with("Broken.go();", "Broken.class", "no class");
  with("Broken.go();", "broken.jar", "no jar");
  return OfThisTier(std::move(requests), 3);
}

std::string CompilerSays(const RunResult& result) {
  const v1::RunCodeResponse& response = result.response;
  return absl::StrCat(v1::Outcome_Name(response.outcome()), " ",
                      response.compile().stdout().data(), "|",
                      response.compile().stderr().data(), "|",
                      response.stdout().data(), "|", response.stderr().data());
}

TEST_F(PrestartFaults, ACompilerThatWaitedSaysWhatAFreshOneSays) {
  const std::vector<v1::RunCodeRequest> requests = ProgramsForACompiler();
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({"pool": {"floor": 0}})"}));
  std::vector<std::string> fresh;
  for (const v1::RunCodeRequest& request : requests) {
    const RunResult result = client().Run(request);
    ASSERT_THAT(result, IsOk());
    fresh.push_back(CompilerSays(result));
  }
  StopDaemon();
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_NO_FATAL_FAILURE(WarmUp(client()));
  const uint64_t hits = HitsOf(client(), kJavac);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(AwaitIdle(client(), kJavac));
    v1::RunCodeRequest request = requests[i];
    // No compile that was kept will do.
    request.set_code(request.code() + "\n// again\n");
    const RunResult result = client().Run(request);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(CompilerSays(result), fresh[i]) << request.code();
  }
  EXPECT_EQ(HitsOf(client(), kJavac), hits + requests.size());
  StopDaemon();
}

TEST_F(PrestartFaults, ADaemonThatStopsWhileOneStartsLeavesNothing) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
    (void)client().Run(
        Java("class A { public static void main(String[] a) "
             "{ } }"));
    StopDaemon();
  }
}

}  // namespace
}  // namespace sandglass::testing
