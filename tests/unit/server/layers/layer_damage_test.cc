#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/layers/layer_support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ReadFile;
using ::testing::SizeIs;
using testing::WriteFile;

class DamagedLayerTest : public LayerStoreTest {
 protected:
  // After `spoil` the layer is gone, and can be built again.
  template <typename Spoil>
  void ExpectDropped(Spoil spoil) {
    for (const bool restart : {false, true}) {
      const Files files = {{"six.py", "x = 1\n"}, {"d/e", "e"}};
      const std::string id = Keep("six", files);
      const std::string own = Directory() + "/" + id;
      ASSERT_TRUE(store_->Find(Key("six")).has_value());
      spoil(own);
      if (restart) Start();
      EXPECT_FALSE(store_->Find(Key("six")).has_value());
      EXPECT_THAT(store_->List(), IsEmpty());
      EXPECT_THAT(Names(), IsEmpty());
      EXPECT_EQ(Keep("six", files), id);
      EXPECT_TRUE(store_->Find(Key("six")).has_value());
      ASSERT_TRUE(store_->Remove(id).ok());
    }
  }
};

TEST_F(DamagedLayerTest, IsDroppedForWhateverChanged) {
  void (*const cases[])(const std::string& own) = {
      [](const std::string& own) {
        WriteFile(own + "/tree/six.py", "x = 2\n");
      },
      [](const std::string& own) { fs::remove(own + "/tree/d/e"); },
      [](const std::string& own) { WriteFile(own + "/tree/d/new", ""); },
      [](const std::string& own) { WriteFile(own + "/tree/new", ""); },
      [](const std::string& own) {
        fs::rename(own + "/tree/d/e", own + "/tree/d/f");
      },
      [](const std::string& own) {
        ::chmod((own + "/tree/six.py").c_str(), 0755);
      },
      [](const std::string& own) {
        fs::remove(own + "/tree/six.py");
        fs::create_symlink("/etc/passwd", own + "/tree/six.py");
      },
      [](const std::string& own) { fs::remove_all(own + "/tree"); },
      [](const std::string& own) { fs::remove(own + "/manifest"); },
      [](const std::string& own) { WriteFile(own + "/manifest", "x"); },
      [](const std::string& own) {
        const std::string text = ReadFile(own + "/manifest");
        WriteFile(own + "/manifest", text.substr(0, text.size() - 5));
      },
      [](const std::string& own) {
        fs::remove_all(own + "/tree");
        fs::create_symlink("/", own + "/tree");
      }};
  for (const auto spoil : cases) ExpectDropped(spoil);
}

TEST_F(DamagedLayerTest, WithTheSameTimesIsStillNoticed) {
  const std::string id = Keep("six", {{"six.py", "x = 1\n"}});
  const std::string file = Directory() + "/" + id + "/tree/six.py";
  struct stat before = {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  WriteFile(file, "x = 2\n");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  EXPECT_FALSE(store_->Find(Key("six")).has_value());
}

TEST_F(DamagedLayerTest, WithoutAUsableRecordGoesAtTheStart) {
  for (const char* text :
       {"", "{", "{}", "[]", R"({"ecosystem": "cobol", "bytes": 1, "files": 1,
        "created_ns": 1, "keys": {}})"}) {
    const std::string id = Keep("six", {{"six.py", "1"}});
    WriteFile(Directory() + "/" + id + "/record.json", text);
    Start();
    EXPECT_THAT(store_->List(), IsEmpty()) << text;
    EXPECT_THAT(Names(), IsEmpty()) << text;
  }
}

TEST_F(DamagedLayerTest, StaysOnTheDiskWhilePinned) {
  std::optional<LayerStore::Pin> pin = Install("six", {{"six.py", "1"}});
  WriteFile(pin->path() + "/new", "");
  EXPECT_FALSE(store_->Find(Key("six")).has_value());
  EXPECT_THAT(Names(), SizeIs(1));  // under another name
  const auto again = Install("six", {{"six.py", "1"}});
  EXPECT_EQ(again.id(), pin->id());
  pin.reset();
  store_->EvictOld();
  EXPECT_THAT(Names(), ElementsAre(again.id()));
}

TEST_F(DamagedLayerTest, RewrittenFilesWithTheSameContentAreNoDamage) {
  const std::string id = Keep("six", {{"six.py", "1"}});
  const std::string file = Directory() + "/" + id + "/tree/six.py";
  fs::remove(file);
  WriteFile(file, "1");
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(store_->Find(Key("six")).has_value());
  EXPECT_TRUE(store_->Find(Key("six")).has_value());
}

}  // namespace
}  // namespace sandglass::server
