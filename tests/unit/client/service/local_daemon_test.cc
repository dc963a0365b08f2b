#include "client/service/local_daemon.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {
namespace {

using ::sandglass::testing::TempDir;
using ::testing::HasSubstr;

TEST(FindPlaces, AllAreBesideTheStateDirectory) {
  const auto places = FindPlaces("/tmp/x/");
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ(places->state_dir, "/tmp/x");
  EXPECT_EQ(places->address, "unix:/tmp/x/sandglass.sock");
  EXPECT_EQ(places->up_dir, "/tmp/x-up");
  EXPECT_EQ(places->log, "/tmp/x-up/log");
  EXPECT_EQ(FindPlaces("x").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(LastLines, AreTheLastOnes) {
  const TempDir dir;
  const std::string path = dir.path() + "/log";
  EXPECT_EQ(LastLines(path, 3), "");
  std::ofstream(path) << "1\n22\n333\n";
  EXPECT_EQ(LastLines(path, 0), "");
  EXPECT_EQ(LastLines(path, 1), "333\n");
  EXPECT_EQ(LastLines(path, 2), "22\n333\n");
  EXPECT_EQ(LastLines(path, 3), "1\n22\n333\n");
  EXPECT_EQ(LastLines(path, 9), "1\n22\n333\n");
  std::ofstream(path) << "1\n2";
  EXPECT_EQ(LastLines(path, 1), "2");
  std::ofstream(path) << "\n\n";
  EXPECT_EQ(LastLines(path, 1), "\n");
}

class RecordedProcess : public ::testing::Test {
 protected:
  RecordedProcess() {
    places_.state_dir = dir_.path() + "/state";
    places_.up_dir = dir_.path();
  }
  TempDir dir_;
  DaemonPlaces places_;
};

TEST_F(RecordedProcess, IsFoundUntilItEnds) {
  EXPECT_EQ(DaemonProcess::Recorded(places_).status().code(),
            absl::StatusCode::kNotFound);
  auto held = StartDetached({"/bin/sleep", "600"}, "", "/dev/null");
  ASSERT_TRUE(held.ok()) << held.status();
  const pid_t pid = held->pid();
  const auto process = DaemonProcess::Open(pid);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_TRUE(process->Record(places_).ok());
  const auto found = DaemonProcess::Recorded(places_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pid(), pid);
  held->Go();
  EXPECT_FALSE(found->WaitForEnd(absl::ZeroDuration()));
  EXPECT_TRUE(found->Signal(SIGKILL).ok());
  EXPECT_TRUE(found->WaitForEnd(absl::Seconds(10)));
  // Also while nobody has waited for it.
  EXPECT_EQ(DaemonProcess::Recorded(places_).status().code(),
            absl::StatusCode::kNotFound);
  ::waitpid(pid, nullptr, 0);
  EXPECT_THAT(std::string(DaemonProcess::Recorded(places_).status().message()),
              HasSubstr("has ended"));
}

TEST_F(RecordedProcess, AnotherOfTheSameNumberIsNotTakenForIt) {
  std::ofstream(dir_.path() + "/daemon") << ::getpid() << " 1";
  EXPECT_EQ(DaemonProcess::Recorded(places_).status().code(),
            absl::StatusCode::kNotFound);
  for (const char* text : {"", "x", "1 2 3", "-1 5", "0 0", "1"}) {
    std::ofstream(dir_.path() + "/daemon") << text;
    EXPECT_EQ(DaemonProcess::Recorded(places_).status().code(),
              absl::StatusCode::kNotFound)
        << text;
  }
}

TEST(StartDetached, HasNoInputAndASessionOfItsOwn) {
  const TempDir dir;
  const std::string log = dir.path() + "/log";
  auto held = StartDetached(
      {"/bin/sh", "-c",
       "cat; echo $X; [ $(ps -o sid= -p $$) = $$ ] && echo own; echo bad >&2"},
      "X=y", log);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(LastLines(log, 9), "");
  held->Go();
  ::waitpid(held->pid(), nullptr, 0);
  EXPECT_EQ(LastLines(log, 9), "y\nown\nbad\n");
}

// As after a SIGKILL to what holds it.
TEST(StartDetached, NothingIsStartedWithoutWhoHoldsIt) {
  const TempDir dir;
  const std::string log = dir.path() + "/log";
  pid_t pid = 0;
  {
    const auto held = StartDetached({"/bin/echo", "started"}, "", log);
    ASSERT_TRUE(held.ok()) << held.status();
    pid = held->pid();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_NE(status, 0);
  EXPECT_EQ(LastLines(log, 9), "");
}

TEST(StartDetached, WhatIsNoProgramIsSaidInTheLog) {
  const TempDir dir;
  const std::string log = dir.path() + "/log";
  auto held = StartDetached({"/nonexistent"}, "", log);
  ASSERT_TRUE(held.ok()) << held.status();
  held->Go();
  int status = 0;
  ASSERT_EQ(::waitpid(held->pid(), &status, 0), held->pid());
  EXPECT_NE(status, 0);
  EXPECT_THAT(LastLines(log, 9), HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace sandglass::client
