#include "server/daemon/log_bound.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/os/fd.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using testing::ReadFile;

class LogBoundTest : public ::testing::Test {
 protected:
  os::Fd Open(int flags) const {
    return os::Fd(::open(path().c_str(), flags | O_CREAT | O_CLOEXEC, 0600));
  }
  std::string path() const { return dir_.path() + "/log"; }
  // Lines of ten bytes.
  static void Fill(const os::Fd& file, int lines) {
    for (int i = 0; i < lines; ++i) {
      const std::string line = absl::StrCat(100'000'000 + i, "\n");
      ASSERT_EQ(::write(file.get(), line.data(), line.size()), 10);
    }
  }
  testing::TempDir dir_;
};

TEST_F(LogBoundTest, TheNewestWholeLinesStay) {
  const os::Fd file = Open(O_RDWR | O_APPEND);
  Fill(file, 40);
  BoundLog(file.get(), 400);
  EXPECT_EQ(ReadFile(path()).size(), 400U);
  Fill(file, 1);
  BoundLog(file.get(), 402);
  // A quarter is 100 bytes, which begin within a line or at its start.
  const std::string kept = ReadFile(path());
  EXPECT_EQ(kept.size(), 90U);
  EXPECT_EQ(kept.substr(0, 10), "100000032\n");
  EXPECT_EQ(kept.substr(80), "100000000\n");
  // What comes next is behind it.
  Fill(file, 1);
  EXPECT_EQ(ReadFile(path()), kept + "100000000\n");
}

TEST_F(LogBoundTest, OneLineWithoutEndGoes) {
  const os::Fd file = Open(O_RDWR | O_APPEND);
  const std::string line(1000, 'x');
  ASSERT_EQ(::write(file.get(), line.data(), line.size()), 1000);
  BoundLog(file.get(), 100);
  EXPECT_EQ(ReadFile(path()), "");
}

TEST_F(LogBoundTest, OtherFilesAreLeftAlone) {
  for (const int flags : {O_WRONLY | O_APPEND, O_RDWR}) {
    const os::Fd file = Open(flags | O_TRUNC);
    Fill(file, 40);
    BoundLog(file.get(), 100);
    EXPECT_EQ(ReadFile(path()).size(), 400U);
  }
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const os::Fd read(ends[0]);
  const os::Fd write(ends[1]);
  Fill(write, 20);
  BoundLog(write.get(), 10);
  BoundLog(-1, 10);
}

}  // namespace
}  // namespace sandglass::server
