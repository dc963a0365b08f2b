#include "server/run/approval_inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/redaction/redaction.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;

// A run with these variables beside those that all have, as it asks.
class ApprovalInputs : public ::testing::Test {
 protected:
  v1::Approval Shown(
      const std::vector<std::pair<std::string, std::string>>& env) {
    Job job;
    job.env = {{"HOME", "/home/sandbox"}, {"PATH", "/usr/bin"}};
    job.redactor = redactor_;
    v1::Approval shown;
    for (const auto& [name, value] : env) {
      job.env.emplace_back(name, value);
      shown.add_env(name);
    }
    server::Run run(RunOrigin{}, job);
    ShowInputs(run, shown);
    return shown;
  }

  std::shared_ptr<const policy::Redactor> redactor_;
};

TEST_F(ApprovalInputs, ValuesOfTheEnvironmentAreShown) {
  EXPECT_THAT(Shown({{"B", "two"}, {"A", "rm -rf /data"}, {"C", ""}}).env(),
              ElementsAre("A=rm -rf /data", "B=two", "C="));
}

TEST_F(ApprovalInputs, SecretsAndBytesShowTheirNameAlone) {
  EXPECT_THAT(
      Shown({{"API_TOKEN", "x"},
             {"DB_PASSWORD", "x"},
             {"github_token", "x"},
             {"AWS_SECRET_ACCESS_KEY", "x"},
             {"BYTES", "\xff\xfe"},
             {"KEYBOARD", "us"},
             {"MONKEY", "m"},
             {"PWD", "/tmp"}})
          .env(),
      ElementsAre("API_TOKEN", "AWS_SECRET_ACCESS_KEY", "BYTES", "DB_PASSWORD",
                  "KEYBOARD=us", "MONKEY=m", "PWD=/tmp", "github_token"));
}

TEST_F(ApprovalInputs, AfterTheAnswerOnlyNamesAreKept) {
  v1::Approval shown = Shown({{"A", "a=b"}, {"B", "b"}});
  EXPECT_EQ(TextBytes(shown), 8u);  // "A=a=b" and "B=b"
  ForgetTexts(shown);
  EXPECT_THAT(shown.env(), ElementsAre("A", "B"));
}

TEST_F(ApprovalInputs, MoreThanThereIsRoomForIsNotShown) {
  EXPECT_THAT(
      Shown({{"A", std::string(kMaxInputText + 1, 'x')}, {"B", "b"}}).env(),
      ElementsAre("A", "B=b"));
}

}  // namespace
}  // namespace sandglass::server
