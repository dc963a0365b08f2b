// Files with the names of what interpreters load as they start, and of what
// kernels load for themselves. A model writes such names without any ill will:
// none may end a kernel, and a program's own import of one still gets it.

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Each planted file ends whatever loads it.
constexpr char kPlant[] = R"sh(cd /workspace
python='import os; os.write(1, b"planted\n"); os._exit(9)'
site=$(basename /usr/lib/python3.[0-9]*)
site=$HOME/.local/lib/$site/site-packages
mkdir -p $site node_modules lib java/lang META-INF/services
for name in json re enum select traceback asyncio linecache codeop signal \
    typing random io os site encodings tempfile subprocess usercustomize \
    sitecustomize IPython pandas numpy matplotlib; do
  echo "$python" >$name.py
  echo "$python" >$site/$name.py
done
echo "import os; os._exit(9)" >$site/own.pth
echo "import os; os._exit(9)" >own.pth
for name in json fs util module vm net stream path url repl start kernel; do
  echo 'console.log("planted"); process.exit(9)' >$name.js
  mkdir -p node_modules/$name ~/.node_modules/$name
  cp $name.js node_modules/$name/index.js
  cp $name.js ~/.node_modules/$name/index.js
done
cp json.js .noderc
cp json.js ~/.noderc
echo '{"type": "module", "main": "json.js"}' >package.json
for name in set json stringio ripper rubygems did_you_mean error_highlight \
    irb; do
  echo 'puts "planted"; exit!(9)' >$name.rb
done
cp json.rb .irbrc
cp json.rb ~/.irbrc
for name in .bashrc .bash_env .profile .bash_profile .inputrc .env; do
  echo 'echo planted; exit 9' >$name
  cp $name ~/$name
done
for name in strict warnings main sitecustomize; do
  echo 'print "planted"; exit 9; 1;' >$name.pm
  cp $name.pm lib/$name.pm
  cp $name.pm $name.pl
done
echo 'System.exit(9);' >startup.jsh
for name in startup DEFAULT PRINTING; do cp startup.jsh ~/$name.jsh; done
echo x >java/lang/String.class
echo Planted >META-INF/services/jdk.jshell.spi.ExecutionControlProvider
)sh";

struct Speech {
  std::string language;
  // Programs and what they print, in a kernel that was there or a new one.
  std::vector<std::pair<std::string, std::string>> says;
  // Environment in which these places come first.
  std::map<std::string, std::string> env;
};

std::ostream& operator<<(std::ostream& os, const Speech& speech) {
  return os << speech.language;
}

// Commands in a session, before it has a kernel or beside one.
void InShell(Daemon& daemon, const TestSession& session,
             const std::string& commands) {
  const auto execs = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon.address(), grpc::InsecureChannelCredentials()));
  const ExecResult done = Execute(*execs, Command(session.id(), commands));
  ASSERT_THAT(done.status, IsOk());
  ASSERT_EQ(done.outcome(), v1::OUTCOME_OK) << done.err();
}

class ShadowedNames : public DaemonTest,
                      public ::testing::WithParamInterface<Speech> {
 protected:
  static void ExpectWorks(TestSession& session, const std::string& context,
                          const std::string& when) {
    for (const auto& [code, text] : GetParam().says) {
      const RunResult result = session.Run(code, context);
      ASSERT_THAT(result, IsOk()) << when;
      EXPECT_EQ(result.response.stdout().data(), text)
          << when << Describe(result);
      EXPECT_FALSE(result.response.session().kernel_ended()) << when;
      EXPECT_THAT(result.response.stderr().data(), Not(HasSubstr("planted")));
    }
  }

  static void ExpectAllKernelsWork(const v1::CreateSessionRequest& request) {
    TestSession session(client(), request);
    ASSERT_THAT(session.status(), IsOk());
    ASSERT_NO_FATAL_FAILURE(InShell(daemon(), session, kPlant));
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(session, "", "the first kernel"));
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(session, "other", "another context"));
    v1::RestartKernelRequest restart;
    restart.set_session_id(session.id());
    v1::RestartKernelResponse restarted;
    ASSERT_THAT(CallSessions(client(), &v1::SessionService::Stub::RestartKernel,
                             restart, &restarted),
                IsOk());
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(session, "", "a restart"));
  }
};

TEST_P(ShadowedNames, ShadowedModulesEndNoKernel) {
  v1::CreateSessionRequest request;
  request.set_language(GetParam().language);
  ExpectAllKernelsWork(request);
}

TEST_P(ShadowedNames, ShadowedModulesOfTheEnvironmentEndNoKernel) {
  v1::CreateSessionRequest request;
  request.set_language(GetParam().language);
  if (GetParam().env.empty()) GTEST_SKIP() << "nothing names places there";
  request.mutable_env()->insert(GetParam().env.begin(), GetParam().env.end());
  ExpectAllKernelsWork(request);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, ShadowedNames,
    ::testing::Values(
        Speech{"python",
               {{"print(6 * 7)", "42\n"},
                {"async def f(): return 42\nprint(await f())", "42\n"},
                {"1 / 0", ""},
                {"import sys\nprint(sys.stdin.read())", "\n"}},
               {{"PYTHONPATH", "/workspace"},
                {"PYTHONUSERBASE", "/workspace/.local"}}},
        Speech{"javascript",
               {{"console.log(6 * 7)", "42\n"},
                {"console.log(await Promise.resolve(42))", "42\n"},
                {"throw new Error('x')", ""}},
               {{"NODE_PATH", "/workspace"},
                {"BASH_ENV", "/workspace/.bash_env"},
                {"ENV", "/workspace/.env"}}},
        Speech{"ruby", {{"puts 6 * 7", "42\n"}, {"raise 'x'", ""}}, {}},
        Speech{"bash", {{"echo $((6 * 7))", "42\n"}}, {}},
        Speech{"java",
               {{"System.out.println(6 * 7);", "42\n"}},
               {{"CLASSPATH", "/workspace"},
                {"BASH_ENV", "/workspace/.bash_env"}}}),
    [](const auto& instance) { return instance.param.language; });

class OwnNames : public DaemonTest {};

// What a library has by that name was loaded before the cell, for the kernel or
// by a zygote; bare Python would not have had it.
TEST_F(OwnNames, ACellsImportGetsTheWorkspacesFile) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  ASSERT_NO_FATAL_FAILURE(InShell(daemon(), session,
                                  "for name in statistics json; do echo \"MINE "
                                  "= 'mine'\" >$name.py; done"));
  EXPECT_EQ(session.Run("import statistics; print(statistics.MINE)")
                .response.stdout()
                .data(),
            "mine\n");
  // In the kernel that was there, and in later ones.
  for (const char* context : {"", "second"}) {
    const RunResult result = session.Run(
        "import json, select, random\nprint(json.MINE, random.random() < 1)",
        context);
    EXPECT_EQ(result.response.stdout().data(), "mine True\n")
        << Describe(result);
  }
  // Written by a cell just before it.
  const RunResult later =
      session.Run("open('textwrap.py', 'w').write('MINE = 1')\nNone");
  ASSERT_THAT(later, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(session.Run("import textwrap; print(textwrap.MINE)")
                .response.stdout()
                .data(),
            "1\n");
  // What shadows nothing changes nothing.
  EXPECT_EQ(
      session.Run("import csv; print(csv.__name__)").response.stdout().data(),
      "csv\n");
}

// Programs that load none of these run beside them, warm or not.
TEST_F(OwnNames, ProgramsRunBesideThem) {
  const std::map<std::string, std::string> files = {
      {"json.py", "import os; os._exit(9)\n"},
      {"usercustomize.py", "import os; os._exit(9)\n"},
      {"sitecustomize.py", "import os; os._exit(9)\n"},
      {"traceback.py", "import os; os._exit(9)\n"},
      {"json.js", "process.exit(9)\n"},
      {"fs.js", "process.exit(9)\n"},
      {"node_modules/fs/index.js", "process.exit(9)\n"},
      {".noderc", "process.exit(9)\n"},
      {"set.rb", "exit!(9)\n"},
      {"json.rb", "exit!(9)\n"},
      {"stringio.rb", "exit!(9)\n"},
      {".bashrc", "exit 9\n"},
      {".bash_env", "exit 9\n"},
      {".profile", "exit 9\n"},
      {"strict.pm", "exit 9;\n"},
      {"warnings.pm", "exit 9;\n"}};
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"python", "print(42)\n"},
      {"javascript", "require('fs'); console.log(42)\n"},
      {"ruby", "require 'set'; puts Set.new([42]).first\n"},
      {"bash", "echo 42\n"},
      {"perl", "use strict; use warnings; print \"42\\n\";\n"},
      {"java",
       "public class Main { public static void main(String[] a) { "
       "System.out.println(42); } }\n"}};
  for (const auto& [language, code] : programs) {
    v1::RunCodeRequest request = Program(language, code);
    for (const auto& [path, content] : files) {
      v1::InputFile& file = *request.add_files();
      file.set_path(path);
      file.set_content(content);
    }
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK))
        << language << Describe(result);
    EXPECT_EQ(result.response.stdout().data(), "42\n") << language;
    EXPECT_THAT(result.response.stderr().data(), IsEmpty()) << language;
  }
}

}  // namespace
}  // namespace sandglass::testing
