// Registries, disks, daemons and clients that fail in the middle of an install.

#include <sys/mount.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/libraries/library_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kSettle = absl::Seconds(20);

TEST_F(LibraryFaults, ARegistryThatIsDownIsToldAndAskedAgain) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const v1::RunCodeRequest request = Importing({"late"});
  EXPECT_THAT(Error(request, grpc::StatusCode::FAILED_PRECONDITION),
              AllOf(HasSubstr("could not be installed"), HasSubstr("late"),
                    HasSubstr("the index can't be reached: "),
                    HasSubstr("port 8090: Connection refused")));
  EXPECT_THAT(Unfinished(), IsEmpty());
  TestRegistry registry(kPort);
  RunUntilOk(request);
  StopDaemon();
}

TEST_F(LibraryFaults, AFileThatEndsInItsMiddleIsNoInstall) {
  TestRegistry registry(kPort);
  registry.SetFault(TestRegistry::Fault::kCut, "files/cut");
  ASSERT_NO_FATAL_FAILURE(Start());
  const v1::RunCodeRequest request = Importing({"cut", "part"});
  EXPECT_THAT(Error(request, grpc::StatusCode::FAILED_PRECONDITION),
              HasSubstr("could not be installed"));
  EXPECT_THAT(Unfinished(), IsEmpty());
  registry.SetFault(TestRegistry::Fault::kNone, "");
  RunUntilOk(request);
  StopDaemon();
}

TEST_F(LibraryFaults, ARegistryThatHangsIsGivenUpAndKeepsNobodyElse) {
  TestRegistry registry(kPort);
  registry.SetFault(TestRegistry::Fault::kHang, "files/slow");
  ASSERT_NO_FATAL_FAILURE(Start(R"("install_timeout": "6s", )"));
  std::string message;
  std::thread slow([&] {
    message = Error(Importing({"slow"}), grpc::StatusCode::FAILED_PRECONDITION);
  });
  EXPECT_TRUE(WaitUntil([&] { return registry.hanging() > 0; }, kSettle));
  const RunResult other = client().Run(Importing({"part"}));
  EXPECT_EQ(other.response.stdout().data(), "ok\n") << Describe(other);
  slow.join();
  EXPECT_THAT(message,
              AllOf(HasSubstr("could not be installed"), HasSubstr("time")));
  EXPECT_TRUE(WaitUntil([&] { return registry.hanging() == 0; }, kSettle));
  StopDaemon();
}

TEST_F(LibraryFaults, ADiskThatIsFullIsToldAndKeepsWhatItHas) {
  TestRegistry registry(kPort);
  const std::string layers = place_ + "/layers";
  fs::create_directory(layers);
  ASSERT_EQ(::mount("none", layers.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                    "size=3m,mode=755"),
            0);
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto runs = [&](const std::string& library) {
    return client().Run(Importing({library})).response.stdout().data();
  };
  EXPECT_EQ(runs("part"), "ok\n");
  EXPECT_THAT(Error(Importing({"big"}), grpc::StatusCode::RESOURCE_EXHAUSTED),
              HasSubstr("disk with the libraries is full"));
  EXPECT_THAT(Unfinished(), IsEmpty());
  EXPECT_EQ(runs("part"), "ok\n");
  EXPECT_EQ(runs("helper"), "ok\n");
  StopDaemon();
  EXPECT_EQ(::umount2(layers.c_str(), MNT_DETACH), 0);
}

TEST_F(LibraryFaults, ALayerThatWasChangedIsBuiltAnew) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start());
  const v1::RunCodeRequest request = Importing({"part"});
  const RunResult first = client().Run(request);
  ASSERT_EQ(first.response.stdout().data(), "ok\n") << Describe(first);
  const std::string module =
      absl::StrCat(place_, "/layers/", first.response.libraries().layer_id(),
                   "/tree/part/__init__.py");
  ASSERT_TRUE(fs::exists(module));
  std::ofstream(module) << "print('not what was installed')\n";
  const RunResult again = client().Run(request);
  EXPECT_EQ(again.response.stdout().data(), "ok\n") << Describe(again);
  EXPECT_TRUE(again.response.libraries().installed());
  EXPECT_EQ(again.response.libraries().layer_id(),
            first.response.libraries().layer_id());
  StopDaemon();
}

TEST_F(LibraryFaults, LayersOutlastTheDaemon) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start());
  const RunResult first = client().Run(Importing({"part"}));
  ASSERT_EQ(first.response.stdout().data(), "ok\n") << Describe(first);
  StopDaemon();
  const int requests = registry.Count();
  ASSERT_NO_FATAL_FAILURE(Start());
  const RunResult again = client().Run(Importing({"part"}));
  EXPECT_EQ(again.response.stdout().data(), "ok\n") << Describe(again);
  EXPECT_FALSE(again.response.libraries().installed());
  EXPECT_EQ(registry.Count(), requests);
  StopDaemon();
}

TEST_F(LibraryFaults, ADaemonThatIsKilledLeavesNothingHalfInstalled) {
  TestRegistry registry(kPort);
  registry.SetFault(TestRegistry::Fault::kHang, "files/slow");
  ASSERT_NO_FATAL_FAILURE(Start());
  const v1::RunCodeRequest request = Importing({"part", "slow"});
  grpc::Status status;
  std::thread caller([&] { status = client().Run(request).status; });
  EXPECT_TRUE(WaitUntil([&] { return registry.hanging() > 0; }, kSettle));
  daemon().Remember();
  daemon().Signal(SIGKILL);
  ASSERT_TRUE(daemon().Wait(kSettle).has_value());
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(WaitUntil([&] { return registry.hanging() == 0; }, kSettle));

  registry.SetFault(TestRegistry::Fault::kNone, "");
  DaemonOptions options = LibraryOptions(place_, kPort);
  options.directory = daemon().directory();
  absl::StatusOr<std::unique_ptr<Daemon>> next = Daemon::Start(options);
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_THAT(Unfinished(), IsEmpty());
  const RunResult again = (*next)->client().Run(request);
  EXPECT_EQ(again.response.stdout().data(), "ok\n") << Describe(again);
  const absl::Status stopped = (*next)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
}

TEST_F(LibraryFaults, SetUpThatForksForEverEndsWithItsTime) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start(R"("install_timeout": "6s", )"));
  EXPECT_THAT(
      Error(Importing({"forks"}), grpc::StatusCode::FAILED_PRECONDITION),
      HasSubstr("could not be installed"));
  const RunResult other = client().Run(Importing({"part"}));
  EXPECT_EQ(other.response.stdout().data(), "ok\n") << Describe(other);
  StopDaemon();
}

// The pages that its children have touched in all, of those that have ended;
// -1 when there is no such process.
int64_t PagesOfChildren(pid_t pid) {
  const std::string stat = ReadProc(pid, "stat");
  // proc(5): the name may have any character, so what follows it is counted.
  const std::vector<std::string> fields =
      Words(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  constexpr size_t kChildrensMinorFaults = 8;
  int64_t pages = -1;
  if (fields.size() <= kChildrensMinorFaults ||
      !absl::SimpleAtoi(fields[kChildrensMinorFaults], &pages)) {
    return -1;
  }
  return pages;
}

TEST_F(LibraryFaults, WhatWasInstalledIsUnpackedByAProcessOfItsOwn) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start());
  std::vector<pid_t> unpackers;
  for (const Process& process : daemon().Processes()) {
    if (CommandOf(process.pid).find("sandglass-unpacker") == 0) {
      unpackers.push_back(process.pid);
    }
  }
  ASSERT_EQ(unpackers.size(), 1U);
  EXPECT_EQ(StatusOf(unpackers[0])["CapEff"], "0000000000000000");
  EXPECT_EQ(StatusOf(unpackers[0])["NoNewPrivs"], "1");
  EXPECT_EQ(PagesOfChildren(unpackers[0]), 0);
  EXPECT_EQ(client().Run(Importing({"part"})).response.stdout().data(), "ok\n");
  // It has had a child, which has ended.
  const int64_t pages = PagesOfChildren(unpackers[0]);
  EXPECT_GT(pages, 0);
  // What is there already isn't unpacked again.
  EXPECT_EQ(client().Run(Importing({"part"})).response.stdout().data(), "ok\n");
  EXPECT_EQ(PagesOfChildren(unpackers[0]), pages);
  StopDaemon();
}

TEST_F(LibraryFaults, AnUnpackerThatIsStoppedKeepsTheInstallAloneWaiting) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::vector<Process> unpackers =
      FindByCommand(daemon().pid(), "sandglass-unpacker");
  ASSERT_EQ(unpackers.size(), 1U);
  ASSERT_EQ(::kill(unpackers[0].pid, SIGSTOP), 0);
  std::thread waiting([&] {
    const RunResult late = client().Run(Importing({"part"}));
    EXPECT_EQ(late.response.stdout().data(), "ok\n") << Describe(late);
  });
  EXPECT_TRUE(WaitUntil([&] { return registry.Count("part") > 0; }, kSettle));
  v1::RunCodeRequest other;
  other.set_language("python");
  other.set_code("print('ok')");
  EXPECT_EQ(client().Run(other).response.stdout().data(), "ok\n");
  ASSERT_EQ(::kill(unpackers[0].pid, SIGCONT), 0);
  waiting.join();
  StopDaemon();
}

// Nobody waits for it any more.
TEST_F(LibraryFaults, AnInstallEndsWithTheLastWhoWaits) {
  TestRegistry registry(kPort);
  registry.SetFault(TestRegistry::Fault::kHang, "files/left");
  ASSERT_NO_FATAL_FAILURE(Start());
  client::SubprocessOptions options;
  options.args = {"run",       "-l",   "python", "--profile",  "lib",
                  "--library", "left", "-c",     "import left"};
  options.env = {absl::StrCat("SANDGLASS_ADDRESS=", daemon().address()),
                 "NO_COLOR=1", "PATH=/usr/bin:/bin"};
  client::Subprocess one(options);
  client::Subprocess other(options);
  ASSERT_TRUE(WaitUntil([&] { return registry.hanging() > 0; }, kSettle));
  EXPECT_EQ(registry.hanging(), 1);
  one.Signal(SIGINT);
  EXPECT_EQ(one.Wait().exit_code, 130);
  EXPECT_EQ(registry.hanging(), 1);
  other.Signal(SIGINT);
  EXPECT_EQ(other.Wait().exit_code, 130);
  EXPECT_TRUE(WaitUntil([&] { return registry.hanging() == 0; }, kSettle));
  // It was no failure of the libraries.
  registry.SetFault(TestRegistry::Fault::kNone, "");
  const RunResult again = client().Run(Importing({"left"}));
  EXPECT_EQ(again.response.stdout().data(), "ok\n") << Describe(again);
  EXPECT_THAT(Unfinished(), IsEmpty());
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
