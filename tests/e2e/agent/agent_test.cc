// Conversations with a scripted model: what the agent does with its turns.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/agent/agent_fixture.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using client::SubprocessResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// The four conversations that the product was made for: the model writes a
// program, the sandbox runs it, and the model says what came of it.
struct Founding {
  const char* prompt;
  const char* code;
  const char* prints;  // empty: about pi
};
constexpr Founding kFounding[] = {
    {"Write python code to calculate Pi by Monte Carlo then run it.",
     "import random\nn = 1_000_000\nprint(4 * sum(random.random() ** 2 + "
     "random.random() ** 2 <= 1 for _ in range(n)) / n)",
     ""},
    {"Write python code to calculate the factorial of 20 then run it.",
     "import math\nprint(math.factorial(20))", "2432902008176640000"},
    {"Write python code for the first 15 Fibonacci numbers then run it.",
     "a, b = 0, 1\nfor _ in range(15):\n    print(a, end=' ')\n"
     "    a, b = b, a + b",
     "0 1 1 2 3 5 8 13 21 34 55 89 144 233 377"},
    {"Write python code for the sum of the first 10000 numbers then run it.",
     "print(sum(range(1, 10001)))", "50005000"},
};

class EachProvider : public AgentTest,
                     public ::testing::WithParamInterface<const char*> {
 protected:
  static client::HttpReply Turn(const std::string& text,
                                const std::vector<ScriptedCall>& calls = {}) {
    const std::string provider = GetParam();
    return provider == "anthropic" ? AnthropicTurn(text, calls)
           : provider == "openai"  ? ChatTurn(text, calls)
                                   : ResponsesTurn(text, calls);
  }
};

TEST_P(EachProvider, ComesToTheAnswersOfTheFoundingConversations) {
  for (const Founding& founding : kFounding) {
    Script({Turn("I run it.", {RunPython(founding.code)}),
            Turn("That is the answer.")},
           GetParam());
    const SubprocessResult result = Agent({"-v", founding.prompt});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "I run it.\nThat is the answer.\n");
    ASSERT_THAT(server_->requests(), SizeIs(2));
    EXPECT_THAT(server_->requests()[0].body, HasSubstr(founding.prompt));
    const std::string asked = server_->requests()[1].body;
    EXPECT_THAT(asked, HasSubstr("exit 0 after "));
    if (*founding.prints != '\0') {
      EXPECT_THAT(asked, HasSubstr(founding.prints));
      EXPECT_THAT(result.err, HasSubstr(founding.prints));
      continue;
    }
    const size_t at = result.err.find("\n3.");
    ASSERT_NE(at, std::string::npos) << result.err;
    EXPECT_NEAR(std::strtod(result.err.c_str() + at, nullptr), M_PI, 0.02);
  }
}

TEST_P(EachProvider, AnswersSeveralCallsInTheirOrder) {
  // Words that only the output has: the request repeats the programs, and its
  // ids are chance digits.
  Script({Turn("", {RunPython("x = 'sec'"),
                    RunPython("print(x + 'ond')"),
                    {"execute", {{"command", "echo thi''rd"}}}}),
          Turn("done")},
         GetParam());
  const SubprocessResult result = Agent({"go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string asked = server_->requests()[1].body;
  const size_t first = asked.find("(no output)");
  const size_t second = asked.find("second");
  const size_t third = asked.find("third");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos) << asked;
}

// The agent is killed while its tool runs; the next one gets the same thread.
TEST_P(EachProvider, AThreadGoesOnAfterADeathDuringATool) {
  Script(
      {Turn("I run it.", {RunPython("import time\nprint('sleeps', flush=True)\n"
                                    "time.sleep(60)"),
                          RunPython("print('never')")}),
       Turn("There I am again.")},
      GetParam());
  const std::string thread = absl::StrCat("killed", ::getpid());
  {
    client::SubprocessOptions options =
        Options({"-v", "--thread", thread, "go"});
    options.terminal = true;
    client::Subprocess agent(options);
    ASSERT_TRUE(agent.ReadUntil("\nsleeps"));
    // Meanwhile nobody else can have it.
    const SubprocessResult other = Agent({"--thread", thread, "hello"});
    EXPECT_NE(other.exit_code, 0);
    EXPECT_THAT(other.err,
                HasSubstr(absl::StrCat(
                    "another sandglass agent has the thread '", thread, "'")));
    agent.Signal(SIGKILL);
    agent.Wait();
  }
  const SubprocessResult result = Agent({"--thread", thread, "are you there?"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "There I am again.\n");
  // Both calls have a result, before anything else is said.
  const std::string asked = Asked(1).dump();
  const size_t first = asked.find("This call was cut off");
  ASSERT_NE(first, std::string::npos) << asked;
  const size_t second = asked.find("This call was cut off", first + 1);
  ASSERT_NE(second, std::string::npos) << asked;
  EXPECT_LT(second, asked.find("are you there?"));
  EndSessions();
}

INSTANTIATE_TEST_SUITE_P(Agent, EachProvider,
                         ::testing::Values("openai", "anthropic",
                                           "openai-responses"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(AgentTest, FilesToolsWorkOnTheSameSandbox) {
  Script({ChatTurn("", {{"write_file",
                         {{"path", "a.py"}, {"content", "print('one')\n"}}}}),
          ChatTurn(
              "",
              {{"edit_file",
                {{"path", "a.py"}, {"old_text", "one"}, {"new_text", "two"}}}}),
          ChatTurn("", {{"execute", {{"command", "python3 a.py"}}}}),
          ChatTurn("", {{"read_file", {{"path", "a.py"}}}}),
          ChatTurn("", {{"list_files", nlohmann::json::object()}}),
          ChatTurn("done")});
  EXPECT_EQ(Agent({"go"}).exit_code, 0);
  EXPECT_THAT(LastOf(3), HasSubstr("two"));
  EXPECT_THAT(LastOf(4), HasSubstr("print('two')"));
  EXPECT_THAT(LastOf(5), HasSubstr("a.py"));
}

TEST_F(AgentTest, UploadsAndBringsFilesAndImagesBack) {
  std::ofstream(place_ + "/data.csv") << "1,2\n3,4\n";
  Script({ChatTurn("", {RunPython(
                           "import os\nrows = open('data.csv').read().split()\n"
                           "os.makedirs('out', exist_ok=True)\n"
                           "open('out/rows.txt', 'w').write(str(len(rows)))\n"
                           "class P:\n  def _repr_png_(self):\n"
                           "    return b'\\x89PNG\\r\\n\\x1a\\n'\nP()")}),
          ChatTurn("done")});
  const SubprocessResult result =
      Agent({"--upload", "data.csv", "--out", "results", "--vision", "go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("rows.txt"));
  std::string rows;
  std::ifstream(place_ + "/results/rows.txt") >> rows;
  EXPECT_EQ(rows, "2");
  EXPECT_TRUE(fs::exists(place_ + "/results/image-1.png")) << result.err;
  EXPECT_THAT(Asked(0)["messages"][0].dump(), HasSubstr("/workspace/data.csv"));
  EXPECT_THAT(Asked(1).dump(), HasSubstr("data:image/png;base64,"));
}

TEST_F(AgentTest, ATerminalThatCanShowsPictures) {
  Script({ChatTurn("", {RunPython(
                           "import struct, zlib\n"
                           "def chunk(type, data):\n"
                           "  return struct.pack('>I', len(data)) + type + data"
                           " + struct.pack('>I', zlib.crc32(type + data))\n"
                           "class P:\n  def _repr_png_(self):\n"
                           "    return (b'\\x89PNG\\r\\n\\x1a\\n' +\n"
                           "      chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1,"
                           " 8, 0, 0, 0, 0)) +\n"
                           "      chunk(b'IDAT', zlib.compress(b'xy')) +\n"
                           "      chunk(b'IEND', b''))\nP()")}),
          ChatTurn("done")});
  client::SubprocessOptions options = Options({"go"});
  options.terminal = true;
  options.env.push_back("KITTY_WINDOW_ID=1");
  const client::SubprocessResult result = client::RunProcess(options);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out,
              HasSubstr("\x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgoAAAANSUhEUg"));
}

TEST_F(AgentTest, WhatTheModelIsToldToFillIsThere) {
  Script(
      {ChatTurn("", {{"write_file", {{"path", "/tmp/x"}, {"content", "x"}}}}),
       ChatTurn("", {{"execute", {{"command", "date > out/now.txt"}}}}),
       ChatTurn("done")});
  const SubprocessResult result = Agent({"--out", "results", "go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(LastOf(2), HasSubstr("exit 0"));
  EXPECT_TRUE(fs::exists(place_ + "/results/now.txt")) << result.err;
}

TEST_F(AgentTest, ACommandGoesOnBetweenCalls) {
  int turn = 0;
  Serve([&](const client::ScriptedRequest& request) {
    const std::string& asked = request.body;
    const size_t at = asked.find("command exec-");
    const std::string id =
        at == std::string::npos
            ? ""
            : asked.substr(at + 8, sizeof("exec-12345678") - 1);
    switch (++turn) {
      case 1:
        return ChatTurn("",
                        {{"execute", {{"command", "mkfifo f; sleep 9 &"}}}});
      case 2:
        return ChatTurn(
            "", {{"start_command",
                  {{"command", "read line < f; echo got $line; sleep 600"}}}});
      case 3:
        return ChatTurn(
            "", {{"execute", {{"command", "echo a line > f"}}},
                 {"read_output", {{"command_id", id}, {"wait_seconds", 60}}},
                 {"stop_command", {{"command_id", id}}}});
      default:
        return ChatTurn("done");
    }
  });
  EXPECT_EQ(Agent({"go"}).exit_code, 0);
  EXPECT_THAT(LastOf(1), HasSubstr("1 process was left running"));
  EXPECT_THAT(LastOf(2), HasSubstr("has been started"));
  EXPECT_THAT(LastOf(3), HasSubstr("has ended: "));
  EXPECT_THAT(Asked(3).dump(), HasSubstr("got a line"));
}

TEST_F(AgentTest, VerboselyEachOutputIsShownOnce) {
  Script(
      {ChatTurn("", {RunPython("print('printed')\n6 * 7")}),
       ChatTurn("", {{"execute", {{"command", "echo by_echo | tr a-z A-Z"}}}}),
       ChatTurn("done")});
  const SubprocessResult result = Agent({"-v", "go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line : {"\nprinted\n", "\nBY_ECHO\n", "\n42\n"}) {
    const size_t at = result.err.find(line);
    ASSERT_NE(at, std::string::npos) << line << " in " << result.err;
    EXPECT_EQ(result.err.find(line, at + 1), std::string::npos) << result.err;
  }
  // The model gets it all.
  EXPECT_THAT(LastOf(1), HasSubstr("printed"));
}

TEST_F(AgentTest, WhatCannotBeHadIsSaidBeforeTheConversation) {
  Script({ChatTurn("no tool is called")});
  const std::vector<std::string> wishes[] = {{"--profile", "nosuch", "go"},
                                             {"--library", "nosuch lib", "go"}};
  for (const std::vector<std::string>& wish : wishes) {
    const SubprocessResult result = Agent(wish);
    EXPECT_NE(result.exit_code, 0) << wish[1];
    EXPECT_THAT(result.err, HasSubstr("nosuch"));
  }
  EXPECT_THAT(server_->requests(), SizeIs(0));
  EXPECT_EQ(Agent({"--profile", "default", "go"}).exit_code, 0);
}

TEST_F(AgentTest, AThreadGoesOnWithItsWordsAndState) {
  Script({ChatTurn("", {RunPython("x = 41")}), ChatTurn("set"),
          ChatTurn("", {RunPython("print(x + 1)")}), ChatTurn("shown")});
  const std::string thread = absl::StrCat("t", ::getpid());
  EXPECT_EQ(Agent({"--thread", thread, "set x"}).exit_code, 0);
  EXPECT_EQ(Agent({"--thread", thread, "show x"}).exit_code, 0);
  EXPECT_THAT(LastOf(3), HasSubstr("42"));
  EXPECT_THAT(Asked(2)["messages"].dump(),
              AllOf(HasSubstr("set x"), HasSubstr("show x")));
  EndSessions();
}

TEST_F(AgentTest, ATranscriptCanBeReplayed) {
  Script({ChatTurn("first", {RunPython("print('ran')")}), ChatTurn("last")});
  EXPECT_EQ(Agent({"--transcript", "t.jsonl", "go"}).exit_code, 0);
  std::stringstream text;
  text << std::ifstream(place_ + "/t.jsonl").rdbuf();
  EXPECT_THAT(text.str(), Not(HasSubstr("sk-of-openai")));
  server_.reset();
  const SubprocessResult again = Agent({"-v", "--replay", "t.jsonl"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, "first\nlast\n");
  EXPECT_THAT(again.err, HasSubstr("ran\n"));
}

TEST_F(AgentTest, SkillsAreListedAndLoadedAtNeed) {
  fs::create_directories(place_ + "/skills/zip/scripts");
  std::ofstream(place_ + "/skills/zip/SKILL.md")
      << "---\nname: zip\ndescription: Packs files\n---\nRun scripts/run.sh\n";
  std::ofstream(place_ + "/skills/zip/scripts/run.sh") << "echo packed\n";
  Script({ChatTurn("", {{"load_skill", {{"name", "zip"}}}}),
          ChatTurn(
              "", {{"execute", {{"command", "sh skills/zip/scripts/run.sh"}}}}),
          ChatTurn("done")});
  EXPECT_EQ(Agent({"--skills", "skills", "go"}).exit_code, 0);
  const std::string system = Asked(0)["messages"][0].dump();
  EXPECT_THAT(system, AllOf(HasSubstr("zip: Packs files"),
                            Not(HasSubstr("scripts/run.sh"))));
  EXPECT_THAT(LastOf(1), HasSubstr("Run scripts/run.sh"));
  EXPECT_THAT(LastOf(2), HasSubstr("packed"));
}

TEST_F(AgentTest, SandboxesAreApartAndAsManyAsAllowed) {
  const auto in = [](const char* sandbox, const char* code) {
    ScriptedCall call = RunPython(code);
    call.arguments["sandbox"] = sandbox;
    return call;
  };
  Script({ChatTurn("", {in("a", "x = 'of a'"), in("b", "x = 'of b'")}),
          ChatTurn("", {in("a", "print(x)"), in("c", "print(1)")}),
          ChatTurn("done")});
  EXPECT_EQ(Agent({"--sandboxes", "2", "go"}).exit_code, 0);
  const std::string asked = Asked(2)["messages"].dump();
  EXPECT_THAT(asked, AllOf(HasSubstr("of a"), HasSubstr("There may be 2")));
}

TEST_F(AgentTest, NativeToolsKeepTheirShapes) {
  Script({AnthropicTurn("", {{"bash", {{"command", "cd /tmp; x=kept"}}}}),
          AnthropicTurn("", {{"bash", {{"command", "pwd; echo $x"}}}}),
          AnthropicTurn("", {{"bash", {{"restart", true}}}}),
          AnthropicTurn("", {{"str_replace_based_edit_tool",
                              {{"command", "create"},
                               {"path", "/workspace/f"},
                               {"file_text", "one\nthree\n"}}}}),
          AnthropicTurn("", {{"str_replace_based_edit_tool",
                              {{"command", "insert"},
                               {"path", "/workspace/f"},
                               {"insert_line", 1},
                               {"insert_text", "two"}}}}),
          AnthropicTurn("", {{"str_replace_based_edit_tool",
                              {{"command", "view"},
                               {"path", "/workspace/f"},
                               {"view_range", {2, 3}}}}}),
          AnthropicTurn("", {{"str_replace_based_edit_tool",
                              {{"command", "view"}, {"path", "/workspace"}}}}),
          AnthropicTurn("done")},
         "anthropic");
  EXPECT_EQ(Agent({"--native-tools", "go"}).exit_code, 0);
  EXPECT_THAT(
      Asked(0)["tools"].dump(),
      AllOf(HasSubstr("bash_20250124"), HasSubstr("text_editor_20250728")));
  EXPECT_THAT(LastOf(2), HasSubstr("/tmp\\nkept"));
  EXPECT_THAT(LastOf(6),
              AllOf(HasSubstr("two\\nthree"), Not(HasSubstr("one\\ntwo"))));
  EXPECT_THAT(LastOf(7), HasSubstr("f  "));
}

TEST_F(AgentTest, TheLocalShellOfResponsesRunsInTheSandbox) {
  Script({LocalShellTurn({"bash", "-lc", "echo $((6 * 7)) > f; cat f; exit 3"}),
          LocalShellTurn({"cat", "f"}), ResponsesTurn("done")},
         "openai-responses");
  const client::SubprocessResult result = Agent({"--native-tools", "go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Asked(0)["tools"].dump(), HasSubstr("local_shell"));
  const std::string first = Asked(1)["input"].back().dump();
  EXPECT_THAT(first, AllOf(HasSubstr("local_shell_call_output"),
                           HasSubstr("42"), HasSubstr("exit 3")));
  EXPECT_THAT(Asked(2)["input"].back().dump(), HasSubstr("42"));
}

TEST_F(AgentTest, TalksOnATerminal) {
  Script({ChatTurn("", {RunPython("print('a' * 3)")}),
          ChatTurn("It says \x1b[31maaa"), ChatTurn("bye")});
  client::SubprocessOptions options = Options({});
  options.terminal = options.terminal_input = options.controlling = true;
  client::Subprocess agent(options);
  ASSERT_TRUE(agent.ReadUntil("> "));
  agent.Type("say aaa \\\n");
  agent.Type("please\n");
  ASSERT_TRUE(agent.ReadUntil("It says \\x1b[31maaa"));
  agent.Type("again\n");
  ASSERT_TRUE(agent.ReadUntil("bye"));
  agent.Type("/exit\n");
  EXPECT_EQ(agent.Wait().exit_code, 0);
  EXPECT_THAT(Asked(0)["messages"].dump(), HasSubstr("say aaa \\nplease"));
  std::stringstream history;
  history << std::ifstream(place_ + "/.local/state/sandglass/agent_history")
                 .rdbuf();
  EXPECT_THAT(history.str(), HasSubstr("again"));
}

}  // namespace
}  // namespace sandglass::testing
