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
  const auto pid = StartDetached({"/bin/sleep", "600"}, "", "/dev/null");
  ASSERT_TRUE(pid.ok()) << pid.status();
  const auto process = DaemonProcess::Open(*pid);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_TRUE(process->Record(places_).ok());
  const auto found = DaemonProcess::Recorded(places_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pid(), *pid);
  EXPECT_FALSE(found->WaitForEnd(absl::ZeroDuration()));
  EXPECT_TRUE(found->Signal(SIGKILL).ok());
  EXPECT_TRUE(found->WaitForEnd(absl::Seconds(10)));
  // Also while nobody has waited for it.
  EXPECT_EQ(DaemonProcess::Recorded(places_).status().code(),
            absl::StatusCode::kNotFound);
  ::waitpid(*pid, nullptr, 0);
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
  const auto pid = StartDetached(
      {"/bin/sh", "-c",
       "cat; echo $X; [ $(ps -o sid= -p $$) = $$ ] && echo own; echo bad >&2"},
      "X=y", log);
  ASSERT_TRUE(pid.ok()) << pid.status();
  ::waitpid(*pid, nullptr, 0);
  EXPECT_EQ(LastLines(log, 9), "y\nown\nbad\n");
  EXPECT_EQ(StartDetached({"/nonexistent"}, "", log).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sandglass::client
