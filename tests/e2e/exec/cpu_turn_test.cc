// Code that has computed for long gives way to code that begins, and what it
// had comes back with what begins next.

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/exec/exec_fixture.h"
#include "tests/support/host/process.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

// The file with the weight of the jail that the process is in; "" if there is
// none.
std::string WeightFile(pid_t pid) {
  for (const std::string& group : GroupsOf(pid)) {
    fs::path directory = GroupDirectory(group);
    if (fs::exists(directory / "cpu.shares")) return directory / "cpu.shares";
    if (!absl::StartsWith(group, ":")) continue;
    while (directory.has_relative_path() && directory.filename() != "run") {
      directory = directory.parent_path();
    }
    if (fs::exists(directory.parent_path() / "cpu.weight")) {
      return directory.parent_path() / "cpu.weight";
    }
  }
  return "";
}

int ReadWeight(const std::string& file) {
  int weight = 0;
  std::ifstream(file) >> weight;
  return weight;
}

bool Becomes(const std::string& file, int weight) {
  return WaitUntil([&] { return ReadWeight(file) == weight; },
                   absl::Seconds(20));
}

class CpuTurn : public Exec {
 protected:
  // The file of the jail in which a process of this command line is.
  static std::string FileOf(const std::string& command) {
    std::vector<Process> found;
    WaitUntil(
        [&] {
          found = FindByCommand(daemon().pid(), command);
          return !found.empty();
        },
        absl::Seconds(20));
    return found.empty() ? "" : WeightFile(found.front().pid);
  }
  static std::string Spin(const std::string& name) {
    return absl::StrCat("bash -c \"exec -a ", name,
                        " bash -c 'while :; do :; done'\"");
  }
};

TEST_F(CpuTurn, ARunThatComputesGivesWayToOneThatWaits) {
  const auto run = [](const std::string& code) {
    return std::async(std::launch::async, [code] {
      v1::RunCodeRequest request = Bash(code);
      SetDuration(request.mutable_limits()->mutable_wall_time(),
                  absl::Seconds(3));
      return client().Run(request);
    });
  };
  auto spins = run(Spin("run-that-spins"));
  auto waits = run("exec -a run-that-waits sleep 2");
  const std::string spinning = FileOf("run-that-spins");
  const std::string waiting = FileOf("run-that-waits");
  ASSERT_NE(spinning, "");
  ASSERT_NE(waiting, "");
  const int whole = ReadWeight(waiting);
  EXPECT_GT(whole, 1);
  EXPECT_TRUE(WaitUntil([&] { return ReadWeight(spinning) < whole; },
                        absl::Seconds(20)));
  EXPECT_EQ(ReadWeight(waiting), whole);
  EXPECT_THAT(spins.get(), OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_THAT(waits.get(), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(CpuTurn, WhatBeginsInASessionHasTheWholeWeightUntilItEnds) {
  const std::string waiting =
      Begin(Background("bash -c 'exec -a first sleep 300'"));
  const std::string file = FileOf("first");
  ASSERT_NE(file, "");
  const int whole = ReadWeight(file);
  EXPECT_GT(whole, 1);

  const std::string spinning = Begin(Background(Spin("second")));
  EXPECT_TRUE(
      WaitUntil([&] { return ReadWeight(file) < whole; }, absl::Seconds(20)));
  const int part = ReadWeight(file);
  auto third = std::async(std::launch::async, [this] {
    return Execute("bash -c 'exec -a third sleep 2'");
  });
  ASSERT_NE(FileOf("third"), "");
  EXPECT_TRUE(Becomes(file, whole));
  EXPECT_EQ(third.get().outcome(), v1::OUTCOME_OK);
  EXPECT_TRUE(Becomes(file, part));
}

TEST_F(CpuTurn, ACellHasItLikewise) {
  TestSession cells(client());
  ASSERT_THAT(cells.status(), IsOk());
  ASSERT_THAT(cells.Run("import subprocess, time\n"
                        "kept = subprocess.Popen('exec -a kept sleep 300', "
                        "shell=True, executable='/bin/bash')"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::string file = FileOf("kept");
  ASSERT_NE(file, "");
  const int whole = ReadWeight(file);
  ASSERT_THAT(cells.Run("until = time.process_time() + 0.5\n"
                        "while time.process_time() < until: pass"),
              OutcomeIs(v1::OUTCOME_OK));
  const int part = ReadWeight(file);
  EXPECT_LT(part, whole);
  auto waits = std::async(std::launch::async,
                          [&] { return cells.Run("time.sleep(2)"); });
  EXPECT_TRUE(Becomes(file, whole));
  EXPECT_THAT(waits.get(), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(Becomes(file, part));
}

}  // namespace
}  // namespace sandglass::testing
