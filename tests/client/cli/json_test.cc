// Every command that prints information prints it as JSON, too.
#include "nlohmann/json.hpp"

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

// Those without --json, and what they print instead.
const std::map<std::string, std::string>& kWithout =
    *new std::map<std::string, std::string>{
        {"agent", "a conversation; --transcript has JSON lines"},
        {"cert client", "files"},
        {"cert init", "files"},
        {"cert renew", "files"},
        {"cert server", "files"},
        {"completion", "a script"},
        {"help", "help"},
        {"logs", "the daemon's own lines, in its format"},
        {"mcp", "a protocol"},
        {"session attach", "a command's output"},
        {"session cat", "files"},
        {"session exec", "a command's output"},
        {"session forward", "goes on until it is ended"},
        {"session get", "nothing, or a file"},
        {"session put", "nothing"},
        {"session rm", "ids, one a line"},
        {"session shell", "a terminal"},
        {"session snapshot", "an archive"},
    };

// The commands that have none below them, with all options that they take, as
// the completion knows them.
std::map<std::string, std::set<std::string>> AllCommands() {
  SubprocessOptions options;
  options.args = {"completion", "bash"};
  const std::string script = RunProcess(options).out;
  const std::regex node(
      "'sandglass ?([^']*)'\\) commands='([^']*)' options='([^']*)'");
  std::map<std::string, std::set<std::string>> taken;
  std::set<std::string> groups;
  for (auto it = std::sregex_iterator(script.begin(), script.end(), node);
       it != std::sregex_iterator(); ++it) {
    const std::string path = (*it)[1];
    if ((*it)[2].length() > 0) groups.insert(path);
    for (const auto& option : absl::StrSplit((*it)[3].str(), ' ')) {
      taken[path].insert(std::string(option));
    }
    // A group's options are those of its commands, too.
    const size_t space = path.rfind(' ');
    if (space == std::string::npos) continue;
    const std::set<std::string> above = taken[path.substr(0, space)];
    taken[path].insert(above.begin(), above.end());
  }
  for (const std::string& group : groups) taken.erase(group);
  return taken;
}

TEST(CliJsonTest, EachCommandHasItOrAReason) {
  const auto commands = AllCommands();
  ASSERT_GT(commands.size(), 40U);
  const std::string page = testing::ReadFile(SANDGLASS_COMMAND_LINE_DOC);
  for (const auto& [command, options] : commands) {
    EXPECT_NE(options.count("--json") > 0, kWithout.count(command) > 0)
        << command;
    if (options.count("--json") > 0) {
      EXPECT_THAT(page, HasSubstr(absl::StrCat("`", command, "`")));
    }
  }
  for (const auto& [command, reason] : kWithout) {
    EXPECT_EQ(commands.count(command), 1U) << command;
  }
}

nlohmann::json Printed(const FakeDaemon& daemon,
                       const std::vector<std::string>& arguments) {
  const SubprocessResult result = daemon.RunClient(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(absl::EndsWith(result.out, "}\n")) << result.out;
  return nlohmann::json::parse(result.out, nullptr, false);
}

TEST(CliJsonTest, WhatIsDoneToARunOrASessionIsAnswered) {
  FakeDaemon daemon;
  daemon.on_cancel = [](const v1::CancelRunRequest& request,
                        v1::CancelRunResponse& response) {
    response.mutable_run()->set_run_id(request.run_id());
    return grpc::Status::OK;
  };
  const auto answer = [](const auto& request, auto& response) {
    response.mutable_session()->set_session_id(request.session_id());
    return grpc::Status::OK;
  };
  daemon.sessions.on_pause_session = answer;
  daemon.sessions.on_resume_session = answer;
  daemon.sessions.on_restart_kernel = answer;
  daemon.sessions.on_update_session = answer;
  daemon.sessions.on_interrupt_kernel = [](const auto&, auto& response) {
    response.set_interrupted(true);
    return grpc::Status::OK;
  };
  EXPECT_EQ(Printed(daemon, {"kill", "r-1", "--json"})["run"]["runId"], "r-1");
  for (const char* verb : {"pause", "resume", "restart"}) {
    EXPECT_EQ(Printed(daemon, {"session", verb, "ses-1",
                               "--json"})["session"]["sessionId"],
              "ses-1");
  }
  EXPECT_EQ(Printed(daemon, {"session", "update", "ses-1", "--no-labels",
                             "--json"})["session"]["sessionId"],
            "ses-1");
  EXPECT_EQ(Printed(daemon, {"session", "interrupt", "ses-1", "--json"}),
            (nlohmann::json{{"interrupted", true}}));
  EXPECT_THAT(Printed(daemon, {"version", "--json"})["version"].dump(),
              HasSubstr("."));
}

}  // namespace
}  // namespace sandglass::client
