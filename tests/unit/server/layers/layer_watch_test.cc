#include "server/layers/layer_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/os/fd.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using testing::ReadFile;
using testing::WriteFile;

class LayerWatchTest : public ::testing::Test {
 protected:
  LayerWatchTest() { Make("six"); }

  void Make(const std::string& layer) const {
    fs::create_directories(Path(layer) + "/tree/d");
    WriteFile(Path(layer) + "/record.json", "{}");
    WriteFile(Path(layer) + "/manifest", "");
    WriteFile(Path(layer) + "/tree/six.py", "1");
    WriteFile(Path(layer) + "/tree/d/e", "1");
  }
  std::string Path(const std::string& layer) const { return dir_.Path(layer); }
  std::vector<std::string> Directories(const std::string& layer) const {
    const std::string own = Path(layer);
    return {own, own + "/tree", own + "/tree/d"};
  }
  // As after a look that found all good.
  void Look(LayerWatch& watch, const std::string& layer = "six") const {
    const LayerWatch::Ticket ticket = watch.Begin(layer, Directories(layer));
    ASSERT_NE(ticket, 0);
    watch.Confirm(layer, ticket);
  }

  const testing::TempDir dir_;
};

TEST_F(LayerWatchTest, KnowsNothingOfWhatNobodyLookedAt) {
  LayerWatch watch;
  EXPECT_FALSE(watch.IsUntouched("six"));
  const LayerWatch::Ticket ticket = watch.Begin("six", Directories("six"));
  EXPECT_FALSE(watch.IsUntouched("six"));
  watch.Confirm("six", ticket);
  EXPECT_TRUE(watch.IsUntouched("six"));
  EXPECT_FALSE(watch.IsUntouched("seven"));
  watch.End("six");
  EXPECT_FALSE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, HearsWhateverIsDoneToALayer) {
  void (*const cases[])(const std::string& own) = {
      [](const std::string& own) { WriteFile(own + "/tree/d/e", "2"); },
      [](const std::string& own) { WriteFile(own + "/tree/d/new", ""); },
      [](const std::string& own) { fs::create_directory(own + "/tree/new"); },
      [](const std::string& own) { fs::remove(own + "/tree/six.py"); },
      [](const std::string& own) {
        fs::rename(own + "/tree/six.py", own + "/tree/seven.py");
      },
      [](const std::string& own) {
        ::chmod((own + "/tree/six.py").c_str(), 0600);
      },
      [](const std::string& own) { ::chmod((own + "/tree").c_str(), 0700); },
      [](const std::string& own) {
        ASSERT_EQ(::truncate((own + "/tree/d/e").c_str(), 0), 0);
      },
      [](const std::string& own) {
        const os::Fd file(
            ::open((own + "/tree/six.py").c_str(), O_RDWR | O_CLOEXEC));
        void* at = ::mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, file.get(), 0);
        ASSERT_NE(at, MAP_FAILED);
        *static_cast<char*>(at) = '2';
        ::munmap(at, 1);
      },
      [](const std::string& own) { WriteFile(own + "/manifest", "x"); },
      [](const std::string& own) { fs::remove(own + "/manifest"); },
      [](const std::string& own) {
        fs::rename(own + "/tree", own + "/other");
        fs::create_directory(own + "/tree");
      },
      [](const std::string& own) { fs::rename(own, own + "-gone"); },
      [](const std::string& own) { fs::remove_all(own); }};
  int number = 0;
  for (const auto touch : cases) {
    LayerWatch watch;
    fs::remove_all(Path("six"));
    Make("six");
    Look(watch);
    ASSERT_TRUE(watch.IsUntouched("six"));
    touch(Path("six"));
    EXPECT_FALSE(watch.IsUntouched("six")) << "case " << number;
    ++number;
  }
}

TEST_F(LayerWatchTest, IsNotDisturbedByReadersAndByTheStoresOwnRecord) {
  LayerWatch watch;
  Look(watch);
  EXPECT_EQ(ReadFile(Path("six") + "/tree/six.py"), "1");
  for (const auto& each : fs::recursive_directory_iterator(Path("six"))) {
    (void)each.last_write_time();
  }
  const std::string record = Path("six") + "/record.json";
  WriteFile(record + ".new", "{}");
  fs::rename(record + ".new", record);
  ::utimensat(AT_FDCWD, record.c_str(), nullptr, 0);
  EXPECT_TRUE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, TrustsNoLookDuringWhichSomethingWasTouched) {
  LayerWatch watch;
  const LayerWatch::Ticket ticket = watch.Begin("six", Directories("six"));
  WriteFile(Path("six") + "/tree/six.py", "2");
  watch.Confirm("six", ticket);
  EXPECT_FALSE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, TrustsTheLookThatBeganLast) {
  LayerWatch watch;
  const LayerWatch::Ticket first = watch.Begin("six", Directories("six"));
  const LayerWatch::Ticket second = watch.Begin("six", Directories("six"));
  watch.Confirm("six", first);
  EXPECT_FALSE(watch.IsUntouched("six"));
  watch.Confirm("six", second);
  EXPECT_TRUE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, TrustsALookForSomeTime) {
  LayerWatch watch({.trusted = absl::ZeroDuration()});
  Look(watch);
  EXPECT_FALSE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, HearsOfOneLayerAlone) {
  Make("seven");
  LayerWatch watch;
  Look(watch);
  Look(watch, "seven");
  WriteFile(Path("six") + "/tree/six.py", "2");
  EXPECT_FALSE(watch.IsUntouched("six"));
  EXPECT_TRUE(watch.IsUntouched("seven"));
}

TEST_F(LayerWatchTest, GivesUpTheLayerThatWasAskedAboutTheLongestAgo) {
  Make("seven");
  Make("eight");
  LayerWatch watch({.max_directories = 7});
  Look(watch);
  Look(watch, "seven");
  EXPECT_TRUE(watch.IsUntouched("six"));
  Look(watch, "eight");
  EXPECT_TRUE(watch.IsUntouched("six"));
  EXPECT_FALSE(watch.IsUntouched("seven"));
  EXPECT_TRUE(watch.IsUntouched("eight"));
}

TEST_F(LayerWatchTest, WatchesNoMoreThanItsLimit) {
  LayerWatch watch({.max_directories = 2});
  EXPECT_EQ(watch.Begin("six", Directories("six")), 0);
  EXPECT_FALSE(watch.IsUntouched("six"));
}

TEST_F(LayerWatchTest, AMissingLayerIsNotWatched) {
  LayerWatch watch;
  EXPECT_EQ(watch.Begin("six", {Path("six"), Path("nothing")}), 0);
  watch.Confirm("six", 0);
  EXPECT_FALSE(watch.IsUntouched("six"));
}

}  // namespace
}  // namespace sandglass::server
