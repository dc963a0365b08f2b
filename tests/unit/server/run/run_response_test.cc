#include "server/run/run_response.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

JobResult FullResult() {
  JobResult result;
  result.limits.memory_bytes = uint64_t{64} << 20;
  result.facts.wait_status = 9;
  result.facts.counters.oom_kills = 1;
  result.facts.oom_seen_after = absl::Milliseconds(40);
  result.facts.peak_memory_bytes = uint64_t{64} << 20;
  result.facts.peak_processes = 3;
  result.facts.wall_time = absl::Milliseconds(1500);
  result.facts.leftover_processes = 2;
  result.verdict = policy::Decide(result.facts, result.limits);
  result.cpu_user = absl::Milliseconds(20);
  result.start_time = absl::FromUnixMillis(1500);
  result.stderr_result = {.data = "boom", .total_bytes = 4};
  result.files.push_back(
      {.path = "a", .content = "x", .mode = 0644, .size = 1});
  result.files.push_back({.path = "b", .error = FileError::kNotFound});
  result.timings.acquire = absl::Milliseconds(1);
  result.timings.setup_steps.push_back(
      {sandbox::SetupStep::kMountProc, absl::Microseconds(70)});
  return result;
}

TEST(Response, CarriesVerdictEvidenceUsageAndTimings) {
  const auto run = MakeRun(User(1));
  const v1::RunCodeResponse response = MakeResponse(
      *run, FullResult(), absl::Milliseconds(3), absl::Milliseconds(1600));
  EXPECT_EQ(response.run_id(), run->id());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_MEMORY_LIMIT);
  EXPECT_EQ(response.evidence().killed_by(), v1::KILLER_KERNEL_OOM);
  EXPECT_EQ(response.evidence().limit().kind(), v1::LIMIT_KIND_MEMORY);
  EXPECT_EQ(response.evidence().counters().oom_kills(), 1u);
  EXPECT_EQ(response.evidence().wait_status(), 9);
  EXPECT_EQ(response.evidence().leftover_processes(), 2u);
  EXPECT_FALSE(response.evidence().explanation().empty());
  EXPECT_EQ(response.usage().wall_time().seconds(), 1);
  EXPECT_EQ(response.usage().wall_time().nanos(), 500'000'000);
  EXPECT_EQ(response.usage().peak_processes(), 3u);
  EXPECT_EQ(response.timings().queue().nanos(), 3'000'000);
  EXPECT_EQ(response.timings().total().seconds(), 1);
  EXPECT_EQ(response.timings().setup_steps(0).step(), "mount_proc");
  EXPECT_EQ(response.limits().memory_bytes(), uint64_t{64} << 20);
  EXPECT_EQ(response.start_time().seconds(), 1);
  EXPECT_EQ(response.stderr().data(), "boom");
  EXPECT_EQ(response.files(0).content(), "x");
  EXPECT_EQ(response.files(1).error(), v1::FILE_ERROR_NOT_FOUND);
  ASSERT_GE(response.hints_size(), 1);
  EXPECT_EQ(response.hints(0).id(), "memory");
}

TEST(Response, SaysThatTheNetworkIsOffWhereItIs) {
  const auto run = MakeRun(User(1));
  const auto has_hint = [&] {
    JobResult result;
    result.facts.wait_status = 1 << 8;
    result.verdict = policy::Decide(result.facts, result.limits);
    result.stderr_result.data = "curl: (6) Could not resolve host: a.example";
    const v1::RunCodeResponse response =
        MakeResponse(*run, std::move(result), {}, {});
    return response.hints_size() == 1 &&
           response.hints(0).id() == "network-off";
  };
  EXPECT_TRUE(has_hint());
  run->mutable_job().has_network = true;
  EXPECT_FALSE(has_hint());
}

TEST(Response, ANeverStartedRunIsCancelled) {
  const auto run = MakeRun(User(1));
  const v1::RunCodeResponse response = MakeNeverStartedResponse(
      *run, absl::Seconds(1), policy::KillReason::kCancelled);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_FALSE(response.has_exit_code());
  EXPECT_FALSE(response.evidence().has_wait_status());
}

TEST(Response, FitsByLeavingTheLargestFilesOut) {
  v1::RunCodeResponse response;
  for (const size_t size : {100, 5000, 300}) {
    v1::OutputFile& file = *response.add_files();
    file.set_content(std::string(size, 'x'));
    file.set_size(size);
  }
  FitResponse(response, 1000);
  EXPECT_LE(response.ByteSizeLong(), 1000u);
  EXPECT_EQ(response.files(0).content().size(), 100u);
  EXPECT_EQ(response.files(1).error(), v1::FILE_ERROR_TOO_LARGE);
  EXPECT_EQ(response.files(1).size(), 5000u);
  EXPECT_EQ(response.files(2).error(), v1::FILE_ERROR_UNSPECIFIED);
}

TEST(Response, FitsOutputsByCuttingTheirMiddle) {
  v1::RunCodeResponse response;
  v1::Output& whole = *response.mutable_stdout();
  whole.set_data(std::string(3000, 'h') + std::string(3000, 't'));
  whole.set_total_bytes(6000);
  v1::Output& cut = *response.mutable_stderr();
  cut.set_data(std::string(100, 'h') + std::string(5900, 't'));
  cut.set_truncated(true);
  cut.set_head_bytes(100);
  cut.set_total_bytes(999'999);
  FitResponse(response, 4000);
  EXPECT_LE(response.ByteSizeLong(), 4000u);
  EXPECT_TRUE(whole.truncated());
  EXPECT_EQ(whole.total_bytes(), 6000u);
  const std::string head = whole.data().substr(0, whole.head_bytes());
  EXPECT_EQ(head, std::string(head.size(), 'h'));
  const std::string tail = whole.data().substr(whole.head_bytes());
  EXPECT_EQ(tail, std::string(tail.size(), 't'));
  EXPECT_GT(tail.size(), 500u);
  // The head ends where it ended before.
  EXPECT_EQ(cut.head_bytes(), 100u);
  EXPECT_EQ(cut.data().substr(0, 101), std::string(100, 'h') + "t");
}

TEST(Response, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "€";
  for (size_t room = 600; room < 606; ++room) {
    v1::RunCodeResponse response;
    v1::Output& output = *response.mutable_stdout();
    output.set_data(text);
    output.set_total_bytes(text.size());
    FitResponse(response, room);
    ASSERT_TRUE(output.truncated());
    EXPECT_EQ(output.head_bytes() % 3, 0u) << room;
    EXPECT_EQ(output.data().size() % 3, 0u) << room;
  }
}

TEST(Response, WhatFitsStaysAsItIs) {
  v1::RunCodeResponse response;
  response.add_files()->set_content("x");
  const std::string before = response.SerializeAsString();
  FitResponse(response, 1000);
  EXPECT_EQ(response.SerializeAsString(), before);
}

}  // namespace
}  // namespace sandglass::server
