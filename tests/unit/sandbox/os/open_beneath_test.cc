#include "sandbox/os/open_beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::os {
namespace {

class CreateBeneathTest : public ::testing::Test {
 protected:
  CreateBeneathTest() {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    directory_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(directory_.valid());
  }
  ~CreateBeneathTest() override { std::filesystem::remove_all(path_); }

  std::string path_ = ::testing::TempDir() + "/create-beneath-XXXXXX";
  Fd directory_;
};

TEST_F(CreateBeneathTest, MakesAndTruncates) {
  const Fd file = CreateBeneath(directory_, "a", 0644);
  ASSERT_TRUE(file.valid());
  ASSERT_EQ(::write(file.get(), "abc", 3), 3);
  EXPECT_TRUE(CreateBeneath(directory_, "a", 0644).valid());
  EXPECT_EQ(std::filesystem::file_size(path_ + "/a"), 0u);
}

// Waiting for its reader held a jail's init for ever.
TEST_F(CreateBeneathTest, RefusesAFifoAtOnce) {
  ASSERT_EQ(::mkfifoat(directory_.get(), "fifo", 0644), 0);
  EXPECT_FALSE(CreateBeneath(directory_, "fifo", 0644).valid());
  const Fd reader(
      ::openat(directory_.get(), "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  EXPECT_FALSE(CreateBeneath(directory_, "fifo", 0644).valid());
}

TEST_F(CreateBeneathTest, RefusesLinksAndDirectories) {
  ASSERT_EQ(::symlinkat("a", directory_.get(), "link"), 0);
  ASSERT_EQ(::mkdirat(directory_.get(), "d", 0755), 0);
  for (const char* path : {"link", "d", "../out", "d/../../out", "/tmp/out"}) {
    EXPECT_FALSE(CreateBeneath(directory_, path, 0644).valid()) << path;
  }
}

TEST(RealPathInRoot, NeverLeadsOut) {
  namespace fs = std::filesystem;
  std::string root = ::testing::TempDir() + "/real-path-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  fs::create_directories(root + "/usr/bin");
  const Fd made(
      ::open((root + "/usr/bin/tool").c_str(), O_CREAT | O_WRONLY, 0755));
  fs::create_symlink("usr/bin", root + "/bin");
  fs::create_symlink("/usr/bin/tool", root + "/usr/bin/absolute");
  fs::create_symlink("../../../../usr/bin/tool", root + "/usr/bin/above");
  fs::create_symlink("/usr/bin/env", root + "/usr/bin/hosts");
  for (const char* path : {"/usr/bin/tool", "/bin/tool", "/bin/absolute",
                           "/bin/above", "/../usr/bin/tool"}) {
    EXPECT_EQ(RealPathInRoot(root, path).value_or("none"), "/usr/bin/tool")
        << path;
  }
  // The host has it.
  EXPECT_EQ(::access("/usr/bin/env", X_OK), 0);
  EXPECT_FALSE(RealPathInRoot(root, "/usr/bin/env").has_value());
  EXPECT_FALSE(RealPathInRoot(root, "/usr/bin/hosts").has_value());
  EXPECT_FALSE(RealPathInRoot(root + "/none", "/usr").has_value());
  fs::remove_all(root);
}

}  // namespace
}  // namespace sandglass::os
