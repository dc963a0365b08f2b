// The doctor command against a daemon of the test's own, which has one language
// and two ways of starting it.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/doctor/attempts.h"
#include "client/doctor/judge.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

void AppendLines(absl::Span<const Attempt> attempts, std::string& text) {
  for (const Attempt& attempt : attempts) {
    const std::vector<std::string> expected =
        absl::StrSplit(attempt.expected, '|');
    absl::StrAppend(&text, attempt.name, "=", expected.front(), "\n");
  }
}

void AppendNamespaces(int number, std::string& text) {
  for (const char* name :
       {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    absl::StrAppend(&text, "namespace-", name, "=", number++, "\n");
  }
}

std::string WithEnd(const std::string& text) {
  int lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return absl::StrCat(text, "done=", lines, "\n");
}

void SetLimit(v1::RunCodeResponse& response, v1::Outcome outcome,
              v1::LimitKind kind) {
  response.set_outcome(outcome);
  v1::Evidence& evidence = *response.mutable_evidence();
  evidence.set_rule("rule");
  evidence.set_explanation("explanation");
  evidence.mutable_counters();
  evidence.mutable_limit()->set_kind(kind);
  evidence.mutable_limit()->set_configured(1);
  evidence.set_killed_by(v1::KILLER_DAEMON);
}

// What a daemon answers whose jails are as they should be.
v1::RunCodeResponse GoodAnswer(const v1::RunCodeRequest& request) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_timings()->set_kind(request.env_size() > 0 ? "exec"
                                                              : "python-lean");
  response.mutable_limits()->set_memory_bytes(64 << 20);
  response.mutable_limits()->set_max_processes(16);
  response.mutable_limits()->set_tmp_bytes(1 << 20);
  const std::string& what = request.args(0);
  std::string text;
  if (what == "inside") {
    for (const auto part : {SelfAttempts(), FileAttempts(), SocketAttempts(),
                            NetworkAttempts(), CallAttempts()}) {
      AppendLines(part, text);
    }
  } else if (what == "look") {
    AppendLines(LookAttempts(), text);
    AppendNamespaces(200, text);
  } else if (what == "memory") {
    SetLimit(response, v1::OUTCOME_MEMORY_LIMIT, v1::LIMIT_KIND_MEMORY);
  } else if (what == "processes") {
    SetLimit(response, v1::OUTCOME_PIDS_LIMIT, v1::LIMIT_KIND_PROCESSES);
  } else if (what == "cpu") {
    SetLimit(response, v1::OUTCOME_CPU_LIMIT, v1::LIMIT_KIND_CPU_TIME);
  } else if (what == "wall") {
    SetLimit(response, v1::OUTCOME_TIMEOUT, v1::LIMIT_KIND_WALL_TIME);
  } else if (what == "output") {
    SetLimit(response, v1::OUTCOME_OUTPUT_LIMIT,
             v1::LIMIT_KIND_OUTPUT_TOTAL_BYTES);
  } else if (what == "file" && request.fetch_size() == 0) {
    SetLimit(response, v1::OUTCOME_DISK_LIMIT, v1::LIMIT_KIND_TMP_BYTES);
  } else if (what == "file") {
    response.set_outcome(v1::OUTCOME_NONZERO_EXIT);
    response.set_exit_code(kProbeRefused);
    response.add_files()->set_size(request.limits().file_size_bytes());
  } else if (what == "left") {
    response.mutable_evidence()->set_leftover_processes(1);
  }
  if (!text.empty()) response.mutable_stdout()->set_data(WithEnd(text));
  return response;
}

using Change =
    std::function<void(const v1::RunCodeRequest&, v1::RunCodeResponse&)>;

void AnswerDoctor(FakeDaemon& daemon, const Change& change = nullptr) {
  daemon.on_run = [change](const v1::RunCodeRequest& request,
                           v1::RunCodeResponse& response) {
    response = GoodAnswer(request);
    if (change) change(request, response);
    return grpc::Status::OK;
  };
  daemon.on_stream = [&daemon](grpc::ServerContext& context,
                               const v1::RunCodeRequest&,
                               StreamWriter& writer) {
    std::string text = "marks-not-left=none\n";
    AppendNamespaces(100, text);
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, WithEnd(text));
    return daemon.WaitForCancel(context);
  };
}

TEST(CliDoctorTest, AGoodDaemonPassesInBothWays) {
  FakeDaemon daemon;
  AnswerDoctor(daemon);
  const SubprocessResult result = daemon.RunClient({"doctor"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("in a fresh interpreter      python\n"));
  EXPECT_THAT(result.out,
              HasSubstr("in one that waited          python-lean\n"));
  EXPECT_THAT(result.out, HasSubstr("skipped: bash: the profile default does "
                                    "not have this language\n"));
  EXPECT_THAT(result.out, HasSubstr(" in 2 ways of starting a program, 0 "
                                    "missing, 0 not checked"));
  EXPECT_TRUE(daemon.cancelled) << "the run that leaves marks goes on";
}

TEST(CliDoctorTest, RunsAreMarkedAndCarryTheProbe) {
  FakeDaemon daemon;
  AnswerDoctor(daemon);
  const SubprocessResult result = daemon.RunClient({"doctor", "--quick"});
  ASSERT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("other runs from  none: --quick"));
  const v1::RunCodeRequest request = daemon.last_request.Get();
  EXPECT_EQ(request.labels().at("sandglass"), "doctor");
  ASSERT_EQ(request.files_size(), 1);
  EXPECT_TRUE(request.files(0).executable());
  EXPECT_EQ(request.files(0).content().substr(1, 3), "ELF");
  EXPECT_EQ(daemon.runs, 2);
}

TEST(CliDoctorTest, LanguagesThatWereNotAskedForAreNotTold) {
  FakeDaemon daemon;
  AnswerDoctor(daemon);
  const SubprocessResult result =
      daemon.RunClient({"doctor", "--quick", "-l", "py"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("in a fresh interpreter      python\n"));
  EXPECT_EQ(result.out.find("bash"), std::string::npos) << result.out;
}

TEST(CliDoctorTest, AnAnswerThatShouldNotBeIsMissing) {
  FakeDaemon daemon;
  AnswerDoctor(daemon, [](const v1::RunCodeRequest& request,
                          v1::RunCodeResponse& response) {
    if (request.args(0) != "inside" || request.env_size() > 0) return;
    std::string& text = *response.mutable_stdout()->mutable_data();
    text.replace(text.find("ptrace=EPERM"), 12, "ptrace=OK");
  });
  const SubprocessResult result = daemon.RunClient({"doctor"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("python-lean: ptrace=OK instead of EPERM"));
  EXPECT_THAT(result.out, HasSubstr(", 1 missing, 0 not checked"));
}

TEST(CliDoctorTest, ALimitThatDoesNotHoldIsMissing) {
  FakeDaemon daemon;
  AnswerDoctor(daemon, [](const v1::RunCodeRequest& request,
                          v1::RunCodeResponse& response) {
    if (request.args(0) == "memory") response.set_outcome(v1::OUTCOME_OK);
  });
  const SubprocessResult result = daemon.RunClient({"doctor", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out;
  EXPECT_EQ(json["missing"], 1);
  for (const auto& protection : json["protections"]) {
    EXPECT_EQ(protection["state"],
              protection["id"] == "memory-limit" ? "missing" : "in_force")
        << protection;
  }
}

TEST(CliDoctorTest, GarbageFromTheProbeIsNotChecked) {
  FakeDaemon daemon;
  AnswerDoctor(daemon, [](const v1::RunCodeRequest& request,
                          v1::RunCodeResponse& response) {
    if (request.args(0) == "inside") {
      response.mutable_stdout()->set_data("\x1b[31mnothing\n");
    }
  });
  const SubprocessResult result = daemon.RunClient({"doctor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("not checked  no keyrings"));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

TEST(CliDoctorTest, ABusyDaemonCouldNotBeAsked) {
  FakeDaemon daemon;
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  daemon.FailRuns(RichStatus(grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "the queue is full", {&retry}));
  const SubprocessResult result = daemon.RunClient({"doctor"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("RESOURCE_EXHAUSTED: the queue is full"));
  EXPECT_GT(daemon.runs, 2) << "it asked again";
  EXPECT_LT(daemon.runs, 15);
}

TEST(CliDoctorTest, ADaemonThatIsNotThereCouldNotBeAsked) {
  const TempDir dir;
  SubprocessOptions options;
  options.args = {"doctor", "--address", "unix:" + dir.Path("s")};
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("(no such socket)"));
}

TEST(CliDoctorTest, ADaemonThatFailsMidwayIsNotChecked) {
  FakeDaemon daemon;
  AnswerDoctor(daemon);
  daemon.on_run = [](const v1::RunCodeRequest& request,
                     v1::RunCodeResponse& response) {
    response = GoodAnswer(request);
    return request.args(0) == "inside"
               ? grpc::Status::OK
               : grpc::Status(grpc::StatusCode::INTERNAL, "broken");
  };
  const SubprocessResult result = daemon.RunClient({"doctor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("INTERNAL: broken"));
}

TEST(CliDoctorTest, WhatTheDaemonDoesNotHaveIsAUsageError) {
  FakeDaemon daemon;
  AnswerDoctor(daemon);
  SubprocessResult result = daemon.RunClient({"doctor", "--profile", "nope"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("no profile 'nope'; it has default"));
  result = daemon.RunClient({"doctor", "--language", "cobol"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("no language 'cobol'"));
  result = daemon.RunClient({"doctor", "--language", "bash"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("no language could be asked"));
  EXPECT_EQ(daemon.runs, 0);
}

TEST(CliDoctorTest, AnInterruptStopsTheRunUnderWay) {
  std::atomic<bool> interrupted{false};
  FakeDaemon daemon;
  // It is under way until the interrupt has come.
  AnswerDoctor(daemon, [&interrupted](const v1::RunCodeRequest& request,
                                      v1::RunCodeResponse&) {
    if (request.args(0) != "look") return;
    for (int i = 0; i < 1000 && !interrupted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  Subprocess client(daemon.Client({"doctor"}));
  for (int i = 0; i < 500 && daemon.runs < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  client.Signal(SIGINT);
  interrupted = true;
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
  for (int i = 0; i < 500 && !daemon.cancelled; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(daemon.cancelled) << "the run that leaves marks goes on";
}

}  // namespace
}  // namespace sandglass::client
