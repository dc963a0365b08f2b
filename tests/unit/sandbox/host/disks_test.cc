// Which disk a cap has to be set on.

#include "sandbox/host/disks.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::sandbox {
namespace {

namespace fs = std::filesystem;
using sandglass::testing::TempDir;
using sandglass::testing::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A /sys with one disk that has a partition, as links as the kernel makes them.
void MakeSys(const TempDir& sys, const std::string& disk,
             const std::string& partition) {
  const fs::path block = sys.Path("devices/block/vda");
  fs::create_directories(block / "vda1");
  fs::create_directories(sys.Path("dev/block"));
  WriteFile(block / "dev", disk + "\n");
  WriteFile(block / "vda1/dev", partition + "\n");
  WriteFile(block / "vda1/partition", "1\n");
  fs::create_symlink("../../devices/block/vda", sys.Path("dev/block/" + disk));
  fs::create_symlink("../../devices/block/vda/vda1",
                     sys.Path("dev/block/" + partition));
}

TEST(WholeDisk, IsThatOfAPartition) {
  const TempDir sys;
  MakeSys(sys, "254:0", "254:1");
  EXPECT_EQ(WholeDisk(254, 0, sys.path()).value_or("none"), "254:0");
  EXPECT_EQ(WholeDisk(254, 1, sys.path()).value_or("none"), "254:0");
  EXPECT_TRUE(absl::IsNotFound(WholeDisk(0, 45, sys.path()).status()));
}

TEST(FindDisks, NamesEachDiskOnce) {
  struct stat info = {};
  ASSERT_EQ(::stat("/usr", &info), 0);
  const TempDir sys;
  const std::string number =
      absl::StrCat(major(info.st_dev), ":", minor(info.st_dev));
  MakeSys(sys, "999:0", number);
  const Disks disks =
      FindDisks({"/usr", "/usr/lib", "/usr/no/such/place"}, sys.path());
  EXPECT_THAT(disks.numbers, ElementsAre("999:0"));
  EXPECT_THAT(disks.without, IsEmpty());
}

TEST(FindDisks, NamesDirectoriesWithoutADisk) {
  const TempDir sys;  // without any device
  const Disks disks = FindDisks({"/usr", "/dev/shm"}, sys.path());
  EXPECT_THAT(disks.numbers, IsEmpty());
  // /dev/shm is memory.
  ASSERT_THAT(disks.without, SizeIs(1));
  EXPECT_THAT(disks.without[0], HasSubstr("/usr (its file system has no disk"));
}

}  // namespace
}  // namespace sandglass::sandbox
