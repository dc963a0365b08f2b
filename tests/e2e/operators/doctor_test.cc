// `sandglass doctor` against real daemons: one as it should be, and ones that
// an operator has weakened.

#include <stdio.h>
#include <sys/wait.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

struct DoctorResult {
  int exit_code = -1;
  nlohmann::json report;
  std::string text;
};

// `arguments` hold nothing that a shell would read otherwise.
DoctorResult RunDoctor(const std::string& address,
                       const std::string& arguments) {
  DoctorResult result;
  FILE* pipe =
      popen(absl::StrCat("timeout 170 ", SANDGLASS_BINARY,
                         " doctor --json --address ", address, " ", arguments)
                .c_str(),
            "r");
  if (pipe == nullptr) return result;
  char part[4096];
  size_t size = 0;
  while ((size = fread(part, 1, sizeof(part), pipe)) > 0) {
    result.text.append(part, size);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.report = nlohmann::json::parse(result.text, nullptr, false);
  return result;
}

// The protections that are not in force, and in which state they are.
std::map<std::string, std::string> NotInForce(const nlohmann::json& report) {
  std::map<std::string, std::string> found;
  for (const auto& each : report["protections"]) {
    if (each["state"] == "in_force") continue;
    found[each["id"].get<std::string>()] = each["state"].get<std::string>();
  }
  return found;
}

std::set<std::string> WaysOf(const nlohmann::json& report) {
  std::set<std::string> names;
  for (const auto& way : report["ways"]) {
    names.insert(way["name"].get<std::string>());
  }
  return names;
}

class Doctor : public DaemonTest {};

TEST_F(Doctor, FindsAllInForceInEveryWayOfStarting) {
  const DoctorResult result = RunDoctor(daemon().address(), "");
  EXPECT_EQ(result.exit_code, 0) << result.text;
  ASSERT_TRUE(result.report.is_object()) << result.text;
  EXPECT_EQ(NotInForce(result.report), (std::map<std::string, std::string>()));
  EXPECT_GE(result.report["in_force"].get<int>(), 60);
  std::set<std::string> expected = {"bash", "python"};
  // Where nothing waits there are no other ways.
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(client().Info(&info).ok());
  for (const v1::PoolKind& kind : info.pool()) {
    for (const char* name : {"python-lean", "ruby-lean", "javascript-run"}) {
      if (kind.kind() == name && kind.target() > 0) expected.insert(name);
    }
  }
  const std::set<std::string> ways = WaysOf(result.report);
  for (const std::string& way : expected) {
    EXPECT_TRUE(ways.count(way)) << way << " in " << result.text;
  }
  // Nothing of it goes on.
  v1::ListRunsRequest request;
  request.add_states(v1::RUN_STATE_RUNNING);
  request.add_states(v1::RUN_STATE_QUEUED);
  v1::ListRunsResponse runs;
  ASSERT_TRUE(client().List(request, &runs).ok());
  EXPECT_EQ(runs.runs_size(), 0);
}

// A daemon whose policy was changed by its operator.
using WeakenedDaemon = ChangedPolicyTest;

TEST_F(WeakenedDaemon, ThatAllowsKeyringsIsFound) {
  ASSERT_NO_FATAL_FAILURE(
      StartWith("seccomp/sets/dangerous.json",
                "\"calls\": [\"keyctl\", \"add_key\", \"request_key\"],\n"
                "      \"action\": \"EPERM\"",
                "\"calls\": [\"keyctl\", \"add_key\", \"request_key\"],\n"
                "      \"action\": \"allow\""));
  const DoctorResult result =
      RunDoctor(daemon().address(), "--quick -l bash -l py");
  EXPECT_EQ(result.exit_code, 1) << result.text;
  ASSERT_TRUE(result.report.is_object()) << result.text;
  EXPECT_EQ(NotInForce(result.report),
            (std::map<std::string, std::string>{{"no-keyrings", "missing"}}));
  EXPECT_THAT(result.text, HasSubstr("keyctl="));
}

TEST_F(WeakenedDaemon, ThatAllowsKernelTlsIsFound) {
  ASSERT_NO_FATAL_FAILURE(StartWith(
      "seccomp/sets/sockets.json",
      "{\"arg\": 2, \"width\": 32, \"op\": \"==\", \"value\": \"31\"}",
      "{\"arg\": 2, \"width\": 32, \"op\": \"==\", \"value\": \"99\"}"));
  const DoctorResult result = RunDoctor(daemon().address(), "--quick -l bash");
  EXPECT_EQ(result.exit_code, 1) << result.text;
  ASSERT_TRUE(result.report.is_object()) << result.text;
  EXPECT_EQ(NotInForce(result.report),
            (std::map<std::string, std::string>{{"no-kernel-tls", "missing"}}));
}

}  // namespace
}  // namespace sandglass::testing
