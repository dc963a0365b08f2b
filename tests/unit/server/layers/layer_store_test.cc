#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/layers/layer_support.h"

namespace sandglass::server {
namespace {

using policy::Ecosystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ReadFile;
using ::testing::SizeIs;
using testing::TempDir;
using testing::WriteFile;

TEST_F(LayerStoreTest, FindsWhatWasCommitted) {
  EXPECT_FALSE(store_->Find(Key("six")).has_value());
  const auto made = Install("six", {{"six.py", "x = 1\n"}, {"a/b/c", "c"}});
  const auto pin = store_->Find(Key("six"));
  ASSERT_TRUE(pin.has_value());
  EXPECT_EQ(pin->id(), made.id());
  EXPECT_THAT(pin->id(), SizeIs(64));
  EXPECT_EQ(pin->path(), Directory() + "/" + pin->id() + "/tree");
  EXPECT_EQ(ReadFile(pin->path() + "/six.py"), "x = 1\n");
  EXPECT_EQ(ReadFile(pin->path() + "/a/b/c"), "c");
  EXPECT_THAT(Names(), ElementsAre(pin->id()));
}

TEST_F(LayerStoreTest, TellsKeysApartByEachPart) {
  const auto pin = Install("six", {{"f", "x"}});
  LayerKey other = Key("six");
  other.ecosystem = Ecosystem::kRuby;
  EXPECT_FALSE(store_->Find(other).has_value());
  other = Key("six");
  other.toolchain = "python 3.12";
  EXPECT_FALSE(store_->Find(other).has_value());
  other = Key("six");
  other.registry = "mirror";
  EXPECT_FALSE(store_->Find(other).has_value());
  other = Key("sixpython 3.11");
  other.toolchain = "";
  EXPECT_NE(other.Hex(), Key("six").Hex());
}

TEST_F(LayerStoreTest, ListsWhatItHas) {
  const auto pin = Install("a\nb==1", {{"x", "12345"}, {"y/z", "6"}});
  const std::vector<LayerInfo> all = store_->List();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].id, pin.id());
  EXPECT_EQ(all[0].ecosystem, Ecosystem::kPython);
  EXPECT_THAT(all[0].libraries, ElementsAre("a\nb==1"));
  EXPECT_EQ(all[0].bytes, 6u);
  EXPECT_EQ(all[0].files, 3u);  // with the directory
  EXPECT_TRUE(all[0].in_use);
  EXPECT_LT(absl::Now() - all[0].created, absl::Minutes(1));
  EXPECT_GE(all[0].last_used, all[0].created);
}

TEST_F(LayerStoreTest, KeepsOneLayerForSetsThatInstallTheSame) {
  const auto one = Install("six", {{"six.py", "1"}});
  const auto other = Install("six==1.16.0", {{"six.py", "1"}});
  EXPECT_EQ(one.id(), other.id());
  EXPECT_THAT(Names(), ElementsAre(one.id()));
  Start();
  EXPECT_THAT(store_->List()[0].libraries, ElementsAre("six", "six==1.16.0"));
  EXPECT_TRUE(store_->Find(Key("six")).has_value());
  EXPECT_TRUE(store_->Find(Key("six==1.16.0")).has_value());
}

TEST_F(LayerStoreTest, HasTheLastLayerOfAKey) {
  const std::string before = Keep("six", {{"six.py", "1"}});
  const std::string after = Keep("six", {{"six.py", "2"}});
  EXPECT_NE(before, after);
  EXPECT_EQ(store_->Find(Key("six"))->id(), after);
  EXPECT_THAT(Names(), ElementsAre(after));
}

TEST_F(LayerStoreTest, IdsAreOfPathsModesAndContents) {
  const auto id = [&](auto change) {
    LayerStore::Staging staging = Stage({{"d/f", "x"}});
    change(staging.path());
    return store_->Commit(Key("x"), std::move(staging))->id();
  };
  const std::string plain = id([](const std::string&) {});
  EXPECT_EQ(id([](const std::string& tree) {
              ::chmod((tree + "/d/f").c_str(), 0600);
              ::chmod((tree + "/d").c_str(), 0700);
            }),
            plain);
  EXPECT_NE(id([](const std::string& tree) {
              ::chmod((tree + "/d/f").c_str(), 0700);
            }),
            plain);
  EXPECT_NE(id([](const std::string& tree) { WriteFile(tree + "/d/f", "y"); }),
            plain);
  EXPECT_NE(id([](const std::string& tree) {
              fs::rename(tree + "/d/f", tree + "/d/g");
            }),
            plain);
  EXPECT_NE(
      id([](const std::string& tree) { fs::create_directory(tree + "/e"); }),
      plain);
  EXPECT_NE(
      id([](const std::string& tree) { fs::create_symlink("d", tree + "/l"); }),
      plain);
}

TEST_F(LayerStoreTest, SurvivesARestart) {
  const std::string id = Keep("six", {{"six.py", "1"}});
  Start();
  ASSERT_THAT(store_->List(), SizeIs(1));
  EXPECT_FALSE(store_->List()[0].in_use);
  EXPECT_EQ(store_->Find(Key("six"))->id(), id);
}

TEST_F(LayerStoreTest, SweepsWhatWasLeftUnfinished) {
  fs::create_directories(Directory() + "/.new-7/tree/a");
  fs::create_directories(Directory() + "/.gone-8/tree/a");
  Start();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(LayerStoreTest, StagingGoesWithItsObject) {
  {
    const LayerStore::Staging staging = Stage({{"f", "x"}});
    EXPECT_THAT(Names(), SizeIs(1));
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(LayerStoreTest, ASecondDaemonIsRefused) {
  const auto second = LayerStore::Open(Directory(), ::getuid(), ::getgid(), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("another sandglassd"));
}

TEST_F(LayerStoreTest, TakesLinksThatStayInside) {
  LayerStore::Staging staging = Stage({{"a/b/file", "text"}});
  fs::create_symlink("../b/file", staging.path() + "/a/b/same");
  fs::create_symlink("../../a", staging.path() + "/a/b/up");
  fs::create_symlink("nowhere", staging.path() + "/dangling");
  const auto pin = store_->Commit(Key("x"), std::move(staging));
  ASSERT_TRUE(pin.ok()) << pin.status();
  EXPECT_EQ(ReadFile(pin->path() + "/a/b/same"), "text");
}

TEST_F(LayerStoreTest, RefusesLinksThatLeadOut) {
  for (const char* target : {"/etc/passwd", "/", "..", "../../x", "a/../../x",
                             "./../x", "nowhere/../../x"}) {
    const absl::Status refused = Refused([&](const std::string& tree) {
      fs::create_symlink(target, tree + "/link");
    });
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("link")) << target;
  }
}

TEST_F(LayerStoreTest, RefusesALinkThatLeadsOutByAnother) {
  // By its text it stays three levels deep; by way of "up" it starts at the
  // top.
  const absl::Status refused = Refused([](const std::string& tree) {
    fs::create_directories(tree + "/p/q/r");
    fs::create_symlink("../../..", tree + "/p/q/r/up");
    fs::create_symlink("p/q/r/up/../x", tree + "/link");
  });
  EXPECT_THAT(std::string(refused.message()), HasSubstr("leads out"));
}

TEST_F(LayerStoreTest, RefusesWhatIsNoPlainFile) {
  const struct {
    const char* words;
    void (*spoil)(const std::string& tree);
  } cases[] = {
      {"no file, directory",
       [](const std::string& tree) {
         ASSERT_EQ(::mkfifo((tree + "/f").c_str(), 0644), 0);
       }},
      {"set-id",
       [](const std::string& tree) {
         ASSERT_EQ(::chmod((tree + "/a/file").c_str(), 04755), 0);
       }},
      {"set-id",
       [](const std::string& tree) {
         ASSERT_EQ(::chmod((tree + "/a/file").c_str(), 02755), 0);
       }},
      {"sticky",
       [](const std::string& tree) {
         ASSERT_EQ(::chmod((tree + "/a").c_str(), 01777), 0);
       }},
      {"second name",
       [](const std::string& tree) {
         fs::create_hard_link(tree + "/a/file", tree + "/b");
       }},
      {"control character",
       [](const std::string& tree) { WriteFile(tree + "/a\nb", "x"); }},
      {"control character",
       [](const std::string& tree) {
         fs::create_symlink("a\tb", tree + "/l");
       }},
      {"can't be followed",
       [](const std::string& tree) { fs::create_symlink("l", tree + "/l"); }},
      {"nothing was installed",
       [](const std::string& tree) { fs::remove_all(tree + "/a"); }},
      {"levels deep",
       [](const std::string& tree) {
         std::string path = tree;
         for (int i = 0; i < 102; ++i) path += "/d";
         fs::create_directories(path);
       }},
  };
  for (const auto& each : cases) {
    const absl::Status refused = Refused(each.spoil);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(each.words));
  }
}

TEST_F(LayerStoreTest, RefusesFilesOfOthers) {
  ASSERT_EQ(::geteuid(), 0u) << "only root gives files away";
  const absl::Status refused = Refused([](const std::string& tree) {
    ASSERT_EQ(::chown((tree + "/a/file").c_str(), 12345, 0), 0);
  });
  EXPECT_THAT(std::string(refused.message()), HasSubstr("uid 12345"));
}

TEST_F(LayerStoreTest, BoundsALayer) {
  Start({.each = {.max_bytes = 10, .max_files = 3}});
  const auto bytes = store_->Commit(Key("x"), Stage({{"a", "12345678901"}}));
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kResourceExhausted);
  const auto files =
      store_->Commit(Key("x"), Stage({{"a", ""}, {"b", ""}, {"c/d", ""}}));
  EXPECT_EQ(files.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(
      store_->Commit(Key("x"), Stage({{"a", "1234567890"}, {"c/d", ""}})).ok());
}

TEST_F(LayerStoreTest, RemovesOnlyWhatNobodyUses) {
  std::optional<LayerStore::Pin> pin = Install("six", {{"six.py", "1"}});
  const std::string id = pin->id();
  const absl::Status refused = store_->Remove(id);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is in use"));
  std::optional<LayerStore::Pin> copy = pin;
  pin.reset();
  EXPECT_EQ(store_->Remove(id).code(), absl::StatusCode::kFailedPrecondition);
  copy.reset();
  EXPECT_TRUE(store_->Remove(id).ok());
  EXPECT_EQ(store_->Remove(id).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(store_->Find(Key("six")).has_value());
}

TEST_F(LayerStoreTest, EvictsTheLongestUnused) {
  Start({.max_bytes = 25});
  const std::string text(10, 'x');
  const std::string a = Keep("a", {{"a", text}});
  const std::string b = Keep("b", {{"b", text}});
  EXPECT_TRUE(store_->Find(Key("a")).has_value());
  const std::string c = Keep("c", {{"c", text}});
  EXPECT_FALSE(store_->Find(Key("b")).has_value());
  EXPECT_TRUE(store_->Find(Key("a")).has_value());
  EXPECT_TRUE(store_->Find(Key("c")).has_value());
}

TEST_F(LayerStoreTest, NeverEvictsWhatIsInUse) {
  Start({.max_bytes = 25});
  const std::string text(10, 'x');
  const auto a = Install("a", {{"a", text}});
  const auto b = Install("b", {{"b", text}});
  const auto c = store_->Commit(Key("c"), Stage({{"c", text}}));
  EXPECT_EQ(c.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(c.status().message()),
              HasSubstr("libraries.max_bytes"));
  EXPECT_TRUE(store_->Find(Key("a")).has_value());
  EXPECT_TRUE(store_->Find(Key("b")).has_value());
  EXPECT_THAT(Names(), SizeIs(2));
}

TEST_F(LayerStoreTest, EvictsWhatIsOld) {
  const std::string id = Keep("a", {{"a", "x"}});
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  const std::string record = Directory() + "/" + id + "/record.json";
  ASSERT_EQ(::utimensat(AT_FDCWD, record.c_str(), long_ago, 0), 0);
  Start();
  EXPECT_THAT(store_->List(), IsEmpty());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(LayerStoreTest, UsesAreKeptOverARestart) {
  const std::string id = Keep("a", {{"a", "x"}});
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  const std::string record = Directory() + "/" + id + "/record.json";
  ASSERT_EQ(::utimensat(AT_FDCWD, record.c_str(), long_ago, 0), 0);
  EXPECT_TRUE(store_->Find(Key("a")).has_value());
  Start();
  EXPECT_TRUE(store_->Find(Key("a")).has_value());
}

TEST_F(LayerStoreTest, IsCleanWhenTheDiskIsFull) {
  const TempDir small;
  ASSERT_EQ(::mount("none", small.path().c_str(), "tmpfs", 0,
                    "size=64k,nr_inodes=40"),
            0)
      << "needs root";
  {
    auto store = LayerStore::Open(small.Path("s"), ::getuid(), ::getgid(), {});
    ASSERT_TRUE(store.ok()) << store.status();
    {
      auto staging = (*store)->Begin();
      ASSERT_TRUE(staging.ok());
      for (int i = 0; i < 15; ++i) {
        WriteFile(staging->path() + "/" + std::to_string(i),
                  std::string(4096, 'x'));
      }
      WriteFile(small.Path("filler"), std::string(65536, 'x'));
      const auto pin = (*store)->Commit(Key("a"), *std::move(staging));
      EXPECT_EQ(pin.status().code(), absl::StatusCode::kResourceExhausted)
          << pin.status();
    }
    EXPECT_THAT((*store)->List(), IsEmpty());
    for (int i = 0; i < 100; ++i) WriteFile(small.Path(std::to_string(i)), "");
    EXPECT_EQ((*store)->Begin().status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  ::umount2(small.path().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace sandglass::server
