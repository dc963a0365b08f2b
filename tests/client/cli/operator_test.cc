// `sandglass status` and `sandglass usage` through the binary.
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_chain.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using testing::ReadFile;
using testing::WriteFile;

class CliStatusTest : public ::testing::Test {
 protected:
  void Answer(const v1::GetStatusResponse& status) {
    daemon_.operators.on_get_status = [status](const v1::GetStatusRequest&,
                                               v1::GetStatusResponse& out) {
      out = status;
      return grpc::Status::OK;
    };
  }
  FakeDaemon daemon_;
};

TEST_F(CliStatusTest, ExitsWith0WhereTheDaemonIsReady) {
  Answer(FakeStatus());
  const SubprocessResult result = daemon_.RunClient({"status"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("sandglassd 0.1.0 is ready, up 2h5m\n"
                         "  ok     languages  12 can be used (since 2025-01-31 "
                         "06:00:00, 2h)\n"));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(CliStatusTest, ExitsWith1WhereTheDaemonIsNotReady) {
  v1::GetStatusResponse status = FakeStatus();
  status.set_draining(true);
  Answer(status);
  EXPECT_EQ(daemon_.RunClient({"status"}).exit_code, 1);
  status.set_draining(false);
  status.set_ready(false);
  Answer(status);
  EXPECT_EQ(daemon_.RunClient({"status"}).exit_code, 1);
  const SubprocessResult json = daemon_.RunClient({"status", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  const Json parsed = Json::parse(json.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << json.out;
  EXPECT_EQ(parsed["version"], "0.1.0");
  EXPECT_EQ(parsed["conditions"][0]["name"], "languages");
}

TEST_F(CliStatusTest, ExitsWith125WhereTheDaemonCantBeAsked) {
  EXPECT_EQ(daemon_.RunClient({"status"}).exit_code, 125);
  daemon_.Stop();
  const SubprocessResult gone = daemon_.RunClient({"status"});
  EXPECT_EQ(gone.exit_code, 125);
  EXPECT_THAT(gone.err, HasSubstr("no daemon at"));
  EXPECT_THAT(gone.out, IsEmpty());
}

TEST_F(CliStatusTest, TheTextFitsATerminal) {
  Answer(FakeStatus());
  SubprocessOptions options = daemon_.Client({"status"});
  options.terminal = true;
  const SubprocessResult result = RunProcess(options);
  // Of 90 columns; a pipe's reader breaks the line.
  EXPECT_THAT(result.out, HasSubstr("8 groups (1\n"));
  EXPECT_THAT(daemon_.RunClient({"status"}).out,
              HasSubstr("8 groups (1 STRAY), 12 processes, 40 fds"));
}

TEST(CliUsageTest, AsksForOneCallerAndShowsATable) {
  FakeDaemon daemon;
  Shared<v1::GetUsageRequest> asked;
  daemon.operators.on_get_usage = [&](const v1::GetUsageRequest& request,
                                      v1::GetUsageResponse& usage) {
    asked = request;
    usage.mutable_since()->set_seconds(1'738'281'600);
    usage.mutable_until()->set_seconds(1'738'285'200);
    v1::UsageTotal& total = *usage.add_totals();
    total.set_caller("uid:7");
    total.set_runs(3);
    total.mutable_cpu_time()->set_seconds(2);
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon.RunClient({"usage", "--caller", "uid:7"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(asked.Get().caller(), "uid:7");
  EXPECT_EQ(result.out,
            "from 2025-01-31 00:00:00 to 2025-01-31 01:00:00\n"
            "CALLER  RUNS  COMMANDS  CPU S  GIB S  WALL S  NETWORK  REFUSED\n"
            "uid:7      3         0   2.00  0.000    0.00      0 B        0\n");
  const Json json =
      Json::parse(daemon.RunClient({"usage", "--json"}).out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["totals"][0]["caller"], "uid:7");
  EXPECT_EQ(json["totals"][0]["runs"], "3");
  EXPECT_EQ(asked.Get().caller(), "");
}

TEST(CliUsageTest, ARefusalSaysWhoMayAskForUsage) {
  FakeDaemon daemon;
  daemon.operators.on_get_usage = [](const v1::GetUsageRequest&,
                                     v1::GetUsageResponse&) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                        "you are no approver");
  };
  const SubprocessResult result =
      daemon.RunClient({"usage", "--caller", "uid:0"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("you are no approver"));
}

class CliAuditUsageTest : public ::testing::Test {
 protected:
  CliAuditUsageTest() {
    std::string log = Line("start", {{"version", "0.1.0"}});
    for (const char* caller : {"uid:1", "uid:1", "uid:2"}) {
      log += Line("run", {{"caller", caller},
                          {"lang", "python"},
                          {"outcome", "OK"},
                          {"usage",
                           {{"wall_us", 2'000'000},
                            {"cpu_us", 500'000},
                            {"peak_memory_bytes", 512 << 20}}}});
    }
    WriteFile(path(), log);
  }
  std::string path() const { return dir_.Path(policy::AuditFileName(1)); }
  std::string Line(const std::string& event, const Json& fields) {
    return policy::MakeAuditLine(
        policy::AuditBody(event, fields).value(),
        absl::FromUnixSeconds(1'738'281'600) + absl::Hours(head_.seq), head_);
  }
  SubprocessResult Usage(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"usage", "--audit", dir_.path()};
    args.insert(args.end(), more.begin(), more.end());
    return RunProcess({.args = std::move(args), .env = {"TZ=UTC"}});
  }

  testing::TempDir dir_;
  policy::AuditHead head_;
};

TEST_F(CliAuditUsageTest, ReadsALogWithoutADaemon) {
  const SubprocessResult result = Usage();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "from 2025-01-31 00:00:00 to 2025-01-31 03:00:00\n"
            "CALLER  RUNS  COMMANDS  CPU S  GIB S  WALL S  NETWORK  REFUSED\n"
            "uid:1      2         0   1.00  2.000    4.00      0 B        0\n"
            "uid:2      1         0   0.50  1.000    2.00      0 B        0\n"
            "(all)      3         0   1.50  3.000    6.00      0 B        0\n");
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(CliAuditUsageTest, TakesTimesCallersAndJson) {
  EXPECT_THAT(Usage({"--since", "2025-01-31 02:00"}).out,
              AllOf(StartsWith("from 2025-01-31 02:00:00 to "),
                    HasSubstr("uid:1      1 ")));
  EXPECT_THAT(Usage({"--by", "language", "--until", "2025-01-31 02:00"}).out,
              HasSubstr("python       1 "));
  const Json json =
      Json::parse(Usage({"--json", "--caller", "uid:2"}).out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["totals"].size(), 1u);
  EXPECT_EQ(json["totals"][0]["wallTime"], "2s");
}

TEST_F(CliAuditUsageTest, SaysThatALogIsNotAsItWasWritten) {
  std::string text = ReadFile(path());
  const std::string was = "\"cpu_us\":500000";
  text.replace(text.find(was), was.size(), "\"cpu_us\":100000");
  WriteFile(path(), text);
  const SubprocessResult result = Usage();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("uid:1"));
  EXPECT_THAT(result.err, HasSubstr("sandglass audit verify"));
}

TEST_F(CliAuditUsageTest, ALogThatIsNotThereExitsWith125) {
  const testing::TempDir empty;
  for (const std::string& path : {empty.path(), empty.Path("none")}) {
    const SubprocessResult result =
        RunProcess({.args = {"usage", "--audit", path}, .env = {}});
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, StartsWith("sandglass: "));
  }
}

}  // namespace
}  // namespace sandglass::client
