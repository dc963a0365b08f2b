// The parts of `sandglass agent` that need neither model nor daemon.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/agent/agent_files.h"
#include "client/agent/agent_settings.h"
#include "client/agent/agent_view.h"
#include "client/agent/call_arguments.h"
#include "client/agent/context_bound.h"
#include "client/agent/conversation_json.h"
#include "client/agent/local_tree.h"
#include "client/agent/skills.h"
#include "client/agent/tool_definitions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class AgentPlace : public ::testing::Test {
 protected:
  AgentPlace() {
    char path[] = "/tmp/agent-test-XXXXXX";
    place_ = ::mkdtemp(path);
    environment_["HOME"] = place_;
  }
  ~AgentPlace() override {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = absl::StrCat(place_, "/", name);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  EnvironmentLookup Environment() const {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      if (found == environment_.end()) return std::nullopt;
      return found->second;
    };
  }
  absl::StatusOr<AgentSettings> Settings(const AgentOptions& options = {},
                                         bool needs_model = true) const {
    return LoadAgentSettings(options, Environment(), needs_model);
  }
  std::string Error(const AgentOptions& options = {}) const {
    return std::string(Settings(options).status().message());
  }

  std::string place_;
  std::map<std::string, std::string> environment_;
};

using AgentSettingsTest = AgentPlace;

TEST_F(AgentSettingsTest, FlagsComeBeforeVariablesAndThoseBeforeTheFile) {
  Write(".config/sandglass/agent.json",
        R"({"model": "of-file", "max_tokens": 99, // a comment
            "system": "s"})");
  environment_["OPENAI_API_KEY"] = "k";
  auto settings = Settings();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->model, "of-file");
  EXPECT_EQ(settings->max_tokens, 99u);
  EXPECT_EQ(settings->system, "s");
  environment_["SANDGLASS_MODEL"] = "of-environment";
  EXPECT_EQ(Settings()->model, "of-environment");
  AgentOptions options;
  options.model = "of-flag";
  EXPECT_EQ(Settings(options)->model, "of-flag");
}

TEST_F(AgentSettingsTest, TheKeyTellsTheProvider) {
  environment_["SANDGLASS_MODEL"] = "m";
  environment_["ANTHROPIC_API_KEY"] = "a";
  auto settings = Settings();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->llm.provider, LlmProvider::kAnthropic);
  EXPECT_EQ(settings->llm.api_key, "a");
  EXPECT_EQ(settings->key_name, "ANTHROPIC_API_KEY");
  environment_["OPENAI_API_KEY"] = "o";
  EXPECT_EQ(Settings()->llm.provider, LlmProvider::kOpenAiChat);
  environment_["SANDGLASS_PROVIDER"] = "openai-responses";
  EXPECT_EQ(Settings()->llm.provider, LlmProvider::kOpenAiResponses);
}

TEST_F(AgentSettingsTest, AServerOfOnesOwnNeedsNoKey) {
  AgentOptions options;
  options.model = "m";
  // Whose key was meant isn't known.
  EXPECT_THAT(Error(options), HasSubstr("ANTHROPIC_API_KEY and "
                                        "OPENAI_API_KEY are unset or empty"));
  options.provider = "openai";
  EXPECT_THAT(Error(options), HasSubstr("set OPENAI_API_KEY"));
  options.provider = std::nullopt;
  options.base_url = "http://127.0.0.1:11434/v1/";
  auto settings = Settings(options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->llm.base_url, "http://127.0.0.1:11434/v1");
}

TEST_F(AgentSettingsTest, InvalidSettingsAreNamed) {
  EXPECT_THAT(Error(), HasSubstr("which model?"));
  AgentOptions options;
  options.model = "m";
  options.provider = "gemini";
  EXPECT_THAT(Error(options), HasSubstr("'gemini' is no provider"));
  options.provider = "openai";
  options.base_url = "api.example.org";
  EXPECT_THAT(Error(options), HasSubstr("neither http:// nor https://"));
  options.base_url.reset();
  environment_["OPENAI_API_KEY"] = "secret\nkey";
  EXPECT_THAT(Error(options),
              AllOf(HasSubstr("OPENAI_API_KEY"), Not(HasSubstr("secret"))));
  options.config_file = place_ + "/none.json";
  EXPECT_THAT(Error(options), HasSubstr("none.json"));
  options.config_file = Write("bad.json", R"({"modell": "m"})");
  EXPECT_THAT(Error(options), HasSubstr("unknown key 'modell'"));
  options.config_file = Write("bad.json", R"({"max_tokens": "many"})");
  EXPECT_THAT(Error(options), HasSubstr("max_tokens is to be a number"));
  options.config_file = Write("bad.json", "[]");
  EXPECT_THAT(Error(options), HasSubstr("is no JSON object"));
}

TEST_F(AgentSettingsTest, AKeyMayBeInAFile) {
  Write("key", " sk-1\n");
  AgentOptions options;
  options.config_file = Write(
      "c.json",
      absl::StrCat(R"({"model": "m", "api_key_file": ")", place_, "/key\"}"));
  auto settings = Settings(options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->llm.api_key, "sk-1");
}

TEST(CallArgumentsTest, WrongArgumentsAreExplainedToTheModel) {
  const auto problem = [](const char* json, bool cut = false) {
    CallArguments arguments("write_file", json, cut);
    arguments.Text("path");
    arguments.OptionalNumber("lines", 0);
    arguments.OptionalFlag("all");
    arguments.OptionalTexts("command");
    arguments.OptionalRange("view_range");
    return arguments.problem();
  };
  EXPECT_EQ(problem(R"({"path": "p", "lines": 2.0, "all": true,
                        "command": ["a"], "view_range": [1, -1]})"),
            "");
  EXPECT_EQ(problem(R"({"path": "p", "lines": null})"), "");
  EXPECT_THAT(problem("{}"), HasSubstr("lack \"path\""));
  EXPECT_THAT(problem(""), HasSubstr("lack \"path\""));
  EXPECT_THAT(problem(R"({"path": 1})"), HasSubstr("that is no text"));
  EXPECT_THAT(problem(R"({"path": "p", "lines": -1})"), HasSubstr("number"));
  EXPECT_THAT(problem(R"({"path": "p", "lines": 1e300})"), HasSubstr("number"));
  EXPECT_THAT(problem(R"({"path": "p", "all": "yes"})"),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(problem(R"({"path": "p", "command": ["a", 1]})"),
              HasSubstr("no list of texts"));
  EXPECT_THAT(problem(R"({"path": "p", "view_range": [5, 2]})"),
              HasSubstr("view_range"));
  EXPECT_THAT(problem(R"({"path": )"), HasSubstr("no valid JSON"));
  EXPECT_THAT(problem("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(problem(R"({"path": "p)", true), HasSubstr("were cut off"));
}

LlmMessage Said(const std::string& text) {
  LlmMessage message;
  message.text = text;
  return message;
}
LlmMessage Called(const std::string& id) {
  LlmMessage message;
  message.role = LlmMessage::Role::kModel;
  message.calls.push_back({.id = id, .name = "run_code", .arguments = "{}"});
  return message;
}
LlmMessage Returned(const std::string& id, size_t bytes) {
  LlmMessage message;
  message.results.push_back({.call_id = id, .text = std::string(bytes, 'x')});
  return message;
}

TEST(ContextBound, CutsOldResultsFirst) {
  std::vector<LlmMessage> messages = {Said("do"), Called("1"),
                                      Returned("1", 40'000), Called("2"),
                                      Returned("2", 8000)};
  EXPECT_FALSE(KeepWithin(100'000, messages));
  EXPECT_TRUE(KeepWithin(4000, messages));
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_LT(messages[2].results[0].text.size(), 1000u);
  EXPECT_THAT(messages[2].results[0].text, HasSubstr("cut to save room"));
  EXPECT_EQ(messages[4].results[0].text.size(), 8000u);
  // As it is, it is short enough.
  EXPECT_FALSE(KeepWithin(4000, messages));
}

TEST(ContextBound, LeavesOutWholeTurnsThenAndNeverTheLast) {
  std::vector<LlmMessage> messages;
  for (int turn = 0; turn < 20; ++turn) {
    messages.push_back(Said(std::string(4000, 'u')));
    messages.push_back(Called(absl::StrCat(turn)));
    messages.push_back(Returned(absl::StrCat(turn), 10));
  }
  EXPECT_TRUE(KeepWithin(5000, messages));
  EXPECT_LT(messages.size(), 20u);
  EXPECT_EQ(messages.size() % 3, 0u);
  EXPECT_THAT(messages[0].text, HasSubstr("was left out"));
  EXPECT_TRUE(messages[0].results.empty());
  std::vector<LlmMessage> one = {Said(std::string(400'000, 'u'))};
  EXPECT_FALSE(KeepWithin(5000, one));
  EXPECT_EQ(one.size(), 1u);
}

TEST(ContextBound, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xe2\x82\xac";
  std::vector<LlmMessage> messages = {Said("do"), Called("1"), Returned("1", 0),
                                      Called("2"), Returned("2", 1)};
  messages[2].results[0].text = text;
  EXPECT_TRUE(KeepWithin(500, messages));
  // nlohmann throws where it isn't UTF-8.
  EXPECT_NO_THROW(nlohmann::json(messages[2].results[0].text).dump());
}

TEST(ConversationJson, RoundTrips) {
  LlmMessage message = Called("id");
  message.text = "text";
  message.calls[0].cut = true;
  message.raw = {{"thinking", "…"}};
  LlmMessage results = Returned("id", 3);
  results.results[0].is_error = true;
  results.results[0].images = {{"image/png", std::string("\0\xff", 2)}};
  for (const LlmMessage& each : {message, results}) {
    const absl::StatusOr<LlmMessage> back = MessageFromJson(ToJson(each));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(ToJson(*back), ToJson(each));
    EXPECT_EQ(back->raw, each.raw);
  }
  EXPECT_EQ(MessageFromJson(ToJson(results))->results[0].images[0].bytes,
            std::string("\0\xff", 2));
  for (const char* bad :
       {"1", "{}", R"({"role": "system"})", R"({"role": "user", "text": 1})",
        R"({"role": "user", "calls": {}})",
        R"({"role": "user", "images": [{"base64": "?"}]})"}) {
    EXPECT_FALSE(MessageFromJson(nlohmann::json::parse(bad)).ok()) << bad;
  }
}

using AgentFilesTest = AgentPlace;

TEST_F(AgentFilesTest, AThreadIsThereAgainAndNobodyElsesToRead) {
  const absl::StatusOr<std::string> state = AgentStateDirectory(Environment());
  ASSERT_TRUE(state.ok()) << state.status();
  auto thread = ThreadFile::Open(*state, "work-1");
  ASSERT_TRUE(thread.ok()) << thread.status();
  EXPECT_THAT(thread->ReleaseMessages("openai"), SizeIs(0));
  LlmMessage model = Called("1");
  model.raw = {{"a", 1}};
  ASSERT_TRUE(thread->Save("openai", {Said("hello"), model}).ok());
  struct stat info = {};
  const std::string path = *state + "/threads/work-1.json";
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // What a process that was killed in a save left behind is in nobody's way.
  const std::ofstream left(
      absl::StrCat(*state, "/threads/.sandglass-fetch-", ::getpid(), "-0.tmp"));
  ASSERT_TRUE(thread->Save("openai", {Said("hello"), model}).ok());
  // Two at once would overwrite each other's words.
  const absl::Status second = ThreadFile::Open(*state, "work-1").status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("another sandglass agent has the thread 'work-1'"));
  EXPECT_TRUE(ThreadFile::Open(*state, "work-2").ok());
  thread = absl::CancelledError("");
  auto same = ThreadFile::Open(*state, "work-1")->ReleaseMessages("openai");
  ASSERT_THAT(same, SizeIs(2));
  EXPECT_EQ(same[0].text, "hello");
  EXPECT_FALSE(same[1].raw.is_null());
  // What a provider wrote is for that one alone.
  EXPECT_TRUE(ThreadFile::Open(*state, "work-1")
                  ->ReleaseMessages("anthropic")[1]
                  .raw.is_null());
  std::ofstream(path) << "{}";
  EXPECT_THAT(
      std::string(ThreadFile::Open(*state, "work-1").status().message()),
      HasSubstr("is no kept conversation"));
  for (const char* name : {"", ".x", "a/b", "a b", "\n"}) {
    EXPECT_FALSE(ThreadFile::Open(*state, name).ok()) << name;
  }
}

TEST_F(AgentFilesTest, ATranscriptIsAddedToAndReadAgain) {
  const std::string path = place_ + "/t.jsonl";
  for (const char* text : {"one", "two"}) {
    auto transcript = Transcript::Open(path);
    ASSERT_TRUE(transcript.ok()) << transcript.status();
    ASSERT_TRUE(transcript->Add(Said(text)).ok());
  }
  auto messages = Transcript::Read(path);
  ASSERT_TRUE(messages.ok()) << messages.status();
  ASSERT_THAT(*messages, SizeIs(2));
  EXPECT_EQ((*messages)[1].text, "two");
  std::ofstream(path, std::ios::app) << "nonsense\n";
  EXPECT_THAT(std::string(Transcript::Read(path).status().message()),
              HasSubstr("line 3"));
}

using SkillsTest = AgentPlace;

TEST_F(SkillsTest, AreFoldersWithAHeadThatNamesThem) {
  Write("skills/b/SKILL.md",
        "---\nname: zip-files\ndescription: >\n  Packs files\n  well\n---\n"
        "# How\nRun it.\n");
  Write("skills/b/scripts/run.sh", "echo hi\n");
  Write("skills/a/SKILL.md",
        "---\r\nname: \"charts\"\r\ndescription: Draws\r\n---\r\ntext");
  Write("skills/no-skill/README.md", "x");
  const auto skills = Skills::Load(place_ + "/skills");
  ASSERT_TRUE(skills.ok()) << skills.status();
  EXPECT_EQ(skills->Listing(),
            "- charts: Draws\n- zip-files: Packs files well\n");
  const Skill* skill = skills->Find("zip-files");
  ASSERT_NE(skill, nullptr);
  EXPECT_EQ(skill->text, "# How\nRun it.\n");
  const auto files = Skills::FilesOf(*skill);
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> paths;
  for (const LocalFile& file : *files) paths.push_back(file.path);
  EXPECT_THAT(paths, ::testing::UnorderedElementsAre(
                         "/workspace/skills/zip-files/SKILL.md",
                         "/workspace/skills/zip-files/scripts/run.sh"));
}

TEST_F(SkillsTest, InvalidSkillsAreRefused) {
  for (const char* text :
       {"no head", "---\nname: a\n---\nx", "---\ndescription: d\n---\nx",
        "---\nname: A B\ndescription: d\n---\nx", "---\nname: a\n"}) {
    EXPECT_FALSE(ParseSkill(text).ok()) << text;
  }
  EXPECT_THAT(std::string(Skills::Load(place_).status().message()),
              HasSubstr("no folder with a SKILL.md"));
  EXPECT_FALSE(Skills::Load(place_ + "/none").ok());
}

using LocalTreeTest = AgentPlace;

TEST_F(LocalTreeTest, ATreeIsReadWithoutItsLinks) {
  Write("data/a.csv", "1");
  Write("data/sub/b.csv", "2");
  fs::create_symlink("/etc/passwd", place_ + "/data/link");
  const auto files = ReadLocalTree(place_ + "/data", "/workspace");
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> paths;
  for (const LocalFile& file : *files) paths.push_back(file.path);
  EXPECT_THAT(paths, ::testing::UnorderedElementsAre(
                         "/workspace/data/a.csv", "/workspace/data/sub/b.csv"));
  EXPECT_EQ(ReadLocalTree(place_ + "/data/", "/w")->front().path.substr(0, 8),
            "/w/data/");
  EXPECT_THAT(
      std::string(ReadLocalTree(place_ + "/x", "/w").status().message()),
      HasSubstr("can't read"));
}

TEST(ToolDefinitionsTest, AreObjectsWithNamesAndWords) {
  for (const LlmProvider provider :
       {LlmProvider::kOpenAiChat, LlmProvider::kAnthropic,
        LlmProvider::kOpenAiResponses}) {
    for (const bool native : {false, true}) {
      const auto tools = ToolDefinitions({.provider = provider,
                                          .native = native,
                                          .several_sandboxes = true,
                                          .skills = true});
      for (const LlmTool& tool : tools) {
        EXPECT_FALSE(tool.name.empty());
        if (!tool.native.is_null()) continue;
        EXPECT_FALSE(tool.description.empty());
        EXPECT_EQ(tool.parameters["type"], "object");
        EXPECT_TRUE(tool.parameters["properties"].contains("sandbox"));
        for (const auto& name : tool.parameters["required"]) {
          EXPECT_TRUE(tool.parameters["properties"].contains(name));
        }
      }
    }
  }
  std::vector<std::string> names;
  for (const LlmTool& tool : ToolDefinitions({})) names.push_back(tool.name);
  EXPECT_THAT(names, ElementsAre("run_code", "execute", "read_file",
                                 "write_file", "edit_file", "start_command",
                                 "read_output", "stop_command", "list_files"));
}

TEST(CallSummaryTest, ASummaryIsOneHarmlessLine) {
  EXPECT_EQ(
      CallSummary({.name = "run_code", .arguments = R"({"language": "python",
                                          "code": "a\nb\n"})"}),
      "run_code python, 2 lines");
  EXPECT_EQ(CallSummary({.name = "execute",
                         .arguments = R"({"command": "ls \u001b[2J"})"}),
            "execute ls \\x1b[2J");
  EXPECT_EQ(CallSummary({.name = "x\n", .arguments = "nonsense"}), "x\\x0a");
}

}  // namespace
}  // namespace sandglass::client
