// Sessions in languages other than Python: kernels that keep state, and
// programs that keep files.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::CreateSessionRequest SessionIn(const std::string& language) {
  v1::CreateSessionRequest request;
  request.set_language(language);
  return request;
}

// How a language says what every kernel can do.
struct Speech {
  std::string language;
  std::string set, get, value;  // a value that stays, by output
  std::string fail, error;      // an error, and its name or what stderr has
  std::string loop;             // never ends by itself
  std::string program;          // prints "whole" where it is the main file
  std::string leave;            // leaves with exit code 3; empty: can't
  std::string die;              // ends the kernel at once
  std::string echo_input;       // prints what it reads
  std::string bytes;            // prints the byte 0xff
  std::string flood;            // prints without end
};

std::ostream& operator<<(std::ostream& os, const Speech& speech) {
  return os << speech.language;
}

class SessionLanguages : public DaemonTest,
                         public ::testing::WithParamInterface<Speech> {};

// One session for all, since some kernels start slowly.
TEST_P(SessionLanguages, EachKernelKeepsItsState) {
  const Speech& speech = GetParam();
  TestSession session(client(), SessionIn(speech.language));
  ASSERT_THAT(session.status(), IsOk());
  ASSERT_THAT(session.Run(speech.set), OutcomeIs(v1::OUTCOME_OK));
  const auto expect_kept = [&](const std::string& after) {
    const RunResult result = session.Run(speech.get);
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << after;
    EXPECT_EQ(result.response.stdout().data(), speech.value) << after;
    EXPECT_FALSE(result.response.session().kernel_ended()) << after;
    EXPECT_THAT(result.response.session().state_lost(), IsEmpty()) << after;
  };
  expect_kept("the first cell");

  const RunResult failed = session.Run(speech.fail);
  ASSERT_THAT(failed, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_THAT(absl::StrCat(failed.response.error().name(), "\n",
                           failed.response.stderr().data()),
              HasSubstr(speech.error));
  expect_kept("an error");

  v1::RunCodeRequest reading = session.Cell(speech.echo_input);
  reading.set_stdin("\xE2\x82\xAC in\n");
  EXPECT_EQ(client().Run(reading).response.stdout().data(),
            "\xE2\x82\xAC in\n");
  EXPECT_EQ(session.Run(speech.bytes).response.stdout().data(), "\xff");

  const RunResult stopped =
      client().Run(WithWall(session.Cell(speech.loop), absl::Seconds(1)));
  ASSERT_THAT(stopped, OutcomeIs(v1::OUTCOME_TIMEOUT));
  expect_kept("the wall limit");
  // Each is stopped at another place within its printing.
  for (int i = 0; i < 10; ++i) {
    const RunResult flood = session.Run(speech.flood);
    ASSERT_THAT(flood, OutcomeIs(v1::OUTCOME_OUTPUT_LIMIT));
    EXPECT_TRUE(flood.response.stdout().truncated());
    expect_kept("the output limit");
  }

  if (!speech.leave.empty()) {
    const RunResult left = session.Run(speech.leave);
    ASSERT_THAT(left, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
    EXPECT_EQ(left.response.exit_code(), 3);
    expect_kept("an exit");
  }

  const RunResult died = session.Run(speech.die);
  ASSERT_THAT(died, AnyOf(OutcomeIs(v1::OUTCOME_SIGNALED),
                          OutcomeIs(v1::OUTCOME_NONZERO_EXIT)));
  EXPECT_TRUE(died.response.session().kernel_ended());
  const RunResult after = session.Run(speech.get);
  EXPECT_THAT(after.response.session().state_lost(), Not(IsEmpty()));
  EXPECT_NE(after.response.stdout().data(), speech.value);
  EXPECT_EQ(after.response.session().run_number(), 1u);
}

TEST_P(SessionLanguages, HaveContextsOfTheirOwnAndCommonFiles) {
  const Speech& speech = GetParam();
  TestSession session(client(), SessionIn(speech.language));
  ASSERT_THAT(session.Run(speech.set, "a"), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_NE(session.Run(speech.get, "b").response.stdout().data(),
            speech.value);
  EXPECT_EQ(session.Run(speech.get, "a").response.stdout().data(),
            speech.value);
}

TEST_P(SessionLanguages, TakeWholePrograms) {
  TestSession session(client(), SessionIn(GetParam().language));
  // As an editor may have written it: with a byte-order mark.
  const RunResult result =
      session.Run(absl::StrCat("\xEF\xBB\xBF", GetParam().program));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "whole\n");
}

const Speech kSpeeches[] = {
    {.language = "bash",
     .set = "x=7; f() { echo \"$x $1\"; }; cd /tmp",
     .get = "f a; pwd",
     .value = "7 a\n/tmp\n",
     .fail = "if then",
     .error = "bash: eval: line 1: syntax error",
     .loop = "while :; do :; done",
     .program = "[[ \"${BASH_SOURCE[0]}\" == \"$0\" ]] && echo whole",
     .leave = "f b; exit 3",
     .die = "kill -9 $$",
     .echo_input = "cat",
     .bytes = "printf '\\xff'",
     .flood = "yes 01234567890123456789"},
    {.language = "javascript",
     .set = "const x = 7; function f(a) { return `${x} ${a}`; }",
     .get = "console.log(f('a'))",
     .value = "7 a\n",
     .fail = "null.x",
     .error = "TypeError",
     .loop = "for (;;);",
     .program = "if (require.main === module) "
                "setTimeout(() => console.log('whole'), 10)",
     .leave = "process.exit(3)",
     .die = "process.kill(process.pid, 'SIGKILL')",
     .echo_input = "process.stdout.write(require('fs').readFileSync(0))",
     .bytes = "process.stdout.write(Buffer.from([255]))",
     .flood = "for (;;) console.log('x'.repeat(1000))"},
    {.language = "ruby",
     .set = "x = 7; def f(a) = \"#{a}\"",
     .get = "puts \"#{x} #{f('a')}\"",
     .value = "7 a\n",
     .fail = "1 / 0",
     .error = "ZeroDivisionError",
     .loop = "loop {}",
     .program = "print DATA.read if __FILE__ == $0\n__END__\nwhole\n",
     .leave = "exit 3",
     .die = "Process.kill(:KILL, $$)",
     .echo_input = "print STDIN.read",
     .bytes = "STDOUT.write(\"\\xff\")",
     .flood = "loop { puts 'x' * 1000 }"},
    {.language = "java",
     .set = "int x = 7; String f(String a) { return x + \" \" + a; }",
     .get = "System.out.println(f(\"a\"));",
     .value = "7 a\n",
     .fail = "Object o = null; o.toString();",
     .error = "java.lang.NullPointerException",
     .loop = "while (true) {}",
     .program = "package a.b;\npublic class Main { public static void "
                "main(String[] a) { new Thread(() -> "
                "System.out.println(\"whole\")).start(); } }",
     .die = "System.exit(4);",
     .echo_input = "System.out.write(System.in.readAllBytes());",
     .bytes = "System.out.write(255);",
     .flood = "while (true) System.out.println(\"x\".repeat(1000));"},
};

std::string NameOf(const ::testing::TestParamInfo<Speech>& speech) {
  return speech.param.language;
}

INSTANTIATE_TEST_SUITE_P(E2e, SessionLanguages, ::testing::ValuesIn(kSpeeches),
                         NameOf);

class SessionKernels : public DaemonTest {};

// The first kernel of a session and a later one start in different ways.
TEST_F(SessionKernels, StartWithTheFewestOpenFiles) {
  struct Language {
    const char* name;
    const char* code;
    uint32_t fewest;
  };
  for (const auto& [name, code, fewest] :
       {Language{"bash", "echo 42", 16}, Language{"python", "print(42)", 16},
        Language{"ruby", "puts 42", 16},
        Language{"javascript", "console.log(42)", 64},
        Language{"java", "System.out.println(42);", 64}}) {
    SCOPED_TRACE(name);
    v1::CreateSessionRequest create = SessionIn(name);
    if (fewest > 16) {
      create.mutable_limits()->set_open_files(fewest - 1);
      TestSession refused(client(), create);
      EXPECT_EQ(refused.status().error_code(),
                grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_THAT(
          refused.status().error_message(),
          HasSubstr(absl::StrCat("to start; it takes at least ", fewest)));
    }
    create.mutable_limits()->set_open_files(fewest);
    TestSession session(client(), create);
    ASSERT_THAT(session.status(), IsOk());
    for (const char* context : {"", "later"}) {
      const RunResult result = session.Run(code, context);
      ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << context;
      EXPECT_EQ(result.response.stdout().data(), "42\n") << context;
    }
  }
}

class SessionPrograms : public DaemonTest {};

TEST_F(SessionPrograms, GoProgramsKeepFilesAndNothingElse) {
  TestSession session(client(), SessionIn("go"));
  ASSERT_THAT(session.status(), IsOk());
  const std::string main = "package main\nimport (\"fmt\"; \"os\")\n";
  RunResult result = session.Run(
      main +
      "func main() { os.WriteFile(\"kept\", []byte(\"by go\"), 0644); "
      "d, _ := os.Getwd(); fmt.Print(d) }");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "/workspace");
  EXPECT_EQ(result.response.session().run_number(), 1u);
  EXPECT_FALSE(result.response.session().kernel_ended());
  // The language's own module file stays away, unless it is brought.
  v1::RunCodeRequest request = session.Cell(
      main +
      "func main() { b, _ := os.ReadFile(\"kept\"); fmt.Print(string(b));"
      " e, _ := os.ReadDir(\".\"); fmt.Print(len(e)); os.Exit(3) }");
  result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 3);
  EXPECT_EQ(result.response.stdout().data(), "by go1");
  EXPECT_EQ(result.response.session().run_number(), 2u);
  v1::InputFile& module = *request.add_files();
  module.set_path("go.mod");
  module.set_content("module main\n\ngo 1.19\n");
  EXPECT_EQ(Run(request).response.stdout().data(), "by go2");
  result = session.Run(main + "func main() { nope }");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_COMPILE_ERROR));
  EXPECT_EQ(result.response.session().session_id(), session.id());
}

TEST_F(SessionPrograms, CppProgramsGetArgumentsInputAndLimits) {
  TestSession session(client(), SessionIn("cpp"));
  ASSERT_THAT(session.status(), IsOk());
  v1::RunCodeRequest request = session.Cell(
      "#include <iostream>\n#include <fstream>\n#include <string>\n"
      "int main(int argc, char** argv) {\n"
      "  if (argc < 2) for (;;);\n"
      "  std::string line;\n  std::getline(std::cin, line);\n"
      "  std::ofstream(\"log\", std::ios::app) << argv[1] << line;\n"
      "  std::cout << std::ifstream(\"log\").rdbuf();\n}\n");
  request.add_args("a ");
  request.set_stdin("one\n");
  RunResult result = client().Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "a one");
  result = client().Run(request);
  EXPECT_EQ(result.response.stdout().data(), "a onea one");
  request.clear_args();
  result = client().Run(WithWall(request, absl::Seconds(1)));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_FALSE(result.response.session().kernel_ended());
  EXPECT_LT(result.elapsed, absl::Seconds(20));
}

TEST_F(SessionPrograms, PerlProgramsRunAndLeaveNoSource) {
  TestSession session(client(), SessionIn("perl"));
  ASSERT_THAT(
      session.Run("open F, '>kept'; print F 'x'; close F; mkdir 'main.pl'"),
      OutcomeIs(v1::OUTCOME_OK));
  const RunResult result =
      session.Run("print join ',', sort glob('*'), glob('/tmp/.s*')");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(result.response.stdout().data(),
              ::testing::MatchesRegex("/tmp/.sandglass-[0-9]+,kept,main.pl"));
  const RunResult died = session.Run("kill 9, $$");
  ASSERT_THAT(died, OutcomeIs(v1::OUTCOME_SIGNALED));
  EXPECT_EQ(session.Run("print 1").response.session().run_number(), 4u);
}

TEST_F(SessionPrograms, CellsHaveArguments) {
  TestSession session(client(), SessionIn("python"));
  const std::pair<const char*, const char*> programs[] = {
      {"python", "import sys; print(sys.argv[1:])"},
      {"javascript", "console.log(process.argv.slice(2))"},
      {"ruby", "p ARGV"},
      {"bash", "printf \"['%s','%s']\\n\" \"$@\""}};
  for (const auto& [language, code] : programs) {
    v1::RunCodeRequest cell = session.Cell(code);
    cell.set_language(language);
    cell.add_args("a b");
    cell.add_args("é");
    std::string printed = client().Run(cell).response.stdout().data();
    std::replace(printed.begin(), printed.end(), '"', '\'');
    printed.erase(std::remove(printed.begin(), printed.end(), ' '),
                  printed.end());
    EXPECT_EQ(printed, "['ab','é']\n") << language;
  }
}

TEST_F(SessionPrograms, RequestsForKernelsAreRefused) {
  TestSession session(client(), SessionIn("perl"));
  v1::RunCodeRequest request = session.Cell("print 1");
  request.set_rich_results(true);
  EXPECT_THAT(client().Run(request).status, RefusesField("rich_results"));
}

TEST_F(SessionPrograms, LanguagesSayWhichTheyAre) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  for (const v1::LanguageInfo& language : info.languages()) {
    const bool keeps = language.id() != "go" && language.id() != "cpp" &&
                       language.id() != "perl";
    EXPECT_EQ(language.session(),
              keeps ? v1::SESSION_SUPPORT_KERNEL : v1::SESSION_SUPPORT_PROGRAM)
        << language.id();
  }
}

// Runs of a session in other languages than its own.
class SessionGuests : public DaemonTest {
 protected:
  static v1::RunCodeResponse RunIn(TestSession& session,
                                   const std::string& language,
                                   const std::string& code,
                                   const std::string& context = "") {
    v1::RunCodeRequest request = session.Cell(code, context);
    request.set_language(language);
    const RunResult result = client().Run(request);
    EXPECT_THAT(result.status, IsOk());
    return result.response;
  }
  static std::string Prints(TestSession& session, const std::string& language,
                            const std::string& code,
                            const std::string& context = "") {
    return RunIn(session, language, code, context).stdout().data();
  }
};

TEST_F(SessionGuests, GuestsShareFilesAndHaveTheirOwnState) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(Prints(session, "python", "x = 1\nopen('f', 'w').write('42')"), "");
  EXPECT_EQ(Prints(session, "bash", "x=2; cat f"), "42");
  EXPECT_EQ(Prints(session, "javascript",
                   "var x = 3; console.log(require('fs').readFileSync('f', "
                   "'utf8'))"),
            "42\n");
  EXPECT_EQ(Prints(session, "bash", "echo $x"), "2\n");
  EXPECT_EQ(Prints(session, "javascript", "console.log(x)"), "3\n");
  EXPECT_EQ(Prints(session, "", "print(x)"), "1\n");
  EXPECT_EQ(Prints(session, "cpp",
                   "#include <fstream>\n#include <iostream>\nint main() { "
                   "int n; std::ifstream(\"f\") >> n; std::cout << n + 1; }"),
            "43");
  EXPECT_EQ(Prints(session, "perl", "print 6 * 7"), "42");
  // A program leaves the kernels alone.
  EXPECT_EQ(Prints(session, "", "print(x)"), "1\n");
}

TEST_F(SessionGuests, GuestsHaveContexts) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(Prints(session, "", "x = 'python'", "bash"), "");
  EXPECT_EQ(Prints(session, "bash", "x=first"), "");
  EXPECT_EQ(Prints(session, "bash", "x=second", "b"), "");
  EXPECT_EQ(RunIn(session, "bash", "true").session().context(), "@bash");
  EXPECT_EQ(RunIn(session, "bash", "true", "b").session().context(), "b@bash");
  EXPECT_EQ(Prints(session, "bash", "echo $x"), "first\n");
  EXPECT_EQ(Prints(session, "bash", "echo $x", "b"), "second\n");
  EXPECT_EQ(Prints(session, "", "print(x)", "bash"), "python\n");

  v1::RestartKernelRequest restart;
  restart.set_session_id(session.id());
  restart.set_context("@bash");
  v1::RestartKernelResponse restarted;
  EXPECT_THAT(CallSessions(client(), &v1::SessionService::Stub::RestartKernel,
                           restart, &restarted),
              IsOk());
  EXPECT_EQ(Prints(session, "bash", "echo \"<$x>\""), "<>\n");
  EXPECT_EQ(Prints(session, "bash", "echo $x", "b"), "second\n");
}

TEST_F(SessionGuests, GuestsRunInASessionWithoutALanguage) {
  TestSession session(client(), v1::CreateSessionRequest());
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(Prints(session, "ruby", "x = 5; File.write('f', 'r')"), "");
  EXPECT_EQ(Prints(session, "ruby", "puts x"), "5\n");
  EXPECT_EQ(Prints(session, "python", "print(open('f').read())"), "r\n");
  const RunResult without = session.Run("1");
  EXPECT_EQ(without.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(SessionGuests, GuestsGiveRichResultsWhereTheirKernelDoes) {
  TestSession session(client(), v1::CreateSessionRequest());
  ASSERT_THAT(session.status(), IsOk());
  v1::RunCodeRequest request = session.Cell("6 * 7");
  request.set_language("python");
  request.set_rich_results(true);
  EXPECT_EQ(ValueOf(client().Run(request).response), "42");
}

TEST_F(SessionGuests, AStatelessRunOfJavaEndsAsAProgram) {
  v1::RunCodeRequest request;
  request.set_language("java");
  request.set_rich_results(true);
  request.set_code("6 * 7");
  EXPECT_EQ(ValueOf(client().Run(request).response), "42");
  request.set_code(R"(
class Main {
  public static void main(String[] arguments) {
    Thread last = new Thread(() -> System.out.println("hook"));
    Runtime.getRuntime().addShutdownHook(last);
    Thread worker = new Thread(() -> {
      try {
        Thread.sleep(100);
      } catch (InterruptedException e) {
      }
      System.out.println("worker");
      throw new IllegalArgumentException();
    }, "worker");
    worker.start();
    System.out.println("main");
    throw new IllegalStateException();
  }
})");
  const RunResult result = client().Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.stdout().data(), "main\nworker\nhook\n");
  EXPECT_THAT(result.response.stderr().data(),
              HasSubstr("Exception in thread \"worker\" "
                        "java.lang.IllegalArgumentException"));
  EXPECT_EQ(result.response.exit_code(), 1);
  EXPECT_EQ(result.response.error().name(), "java.lang.IllegalStateException");
}

TEST_F(SessionGuests, GuestsAreAcceptedWhereTheirKernelsCanStart) {
  v1::CreateSessionRequest create = PythonSession();
  create.mutable_limits()->set_open_files(20);
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(Prints(session, "bash", "echo 42"), "42\n");
  v1::RunCodeRequest request = session.Cell("1");
  request.set_language("javascript");
  const RunResult result = client().Run(request);
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(),
              HasSubstr("language: 20 open files are too few for a kernel of "
                        "JavaScript to start; it takes at least 64"));
}

TEST_F(SessionGuests, GuestsOutsideOfTheProfileAreRefused) {
  v1::CreateSessionRequest create = PythonSession();
  create.set_profile("strict");
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  v1::RunCodeRequest request = session.Cell("true");
  request.set_language("bash");
  const RunResult result = client().Run(request);
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(),
              HasSubstr("profile strict does not allow bash"));
}

}  // namespace
}  // namespace sandglass::testing
