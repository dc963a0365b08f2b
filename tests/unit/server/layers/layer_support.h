#ifndef SANDGLASS_TESTS_UNIT_SERVER_LAYERS_LAYER_SUPPORT_H_
#define SANDGLASS_TESTS_UNIT_SERVER_LAYERS_LAYER_SUPPORT_H_

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/layers/layer_store.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {

namespace fs = std::filesystem;

inline LayerKey Key(const std::string& libraries) {
  return {policy::Ecosystem::kPython, libraries, "python 3.11", "index"};
}

class LayerStoreTest : public ::testing::Test {
 protected:
  LayerStoreTest() { Start(); }

  std::string Directory() const { return dir_.Path("libraries"); }

  // As a daemon's start, after the end of the one before.
  void Start(const LayerStoreOptions& options = {}) {
    store_.reset();
    auto store = LayerStore::Open(Directory(), ::getuid(), ::getgid(), options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  // A staging directory with these files in it.
  using Files = std::vector<std::pair<std::string, std::string>>;
  LayerStore::Staging Stage(const Files& files) {
    auto staging = store_->Begin();
    EXPECT_TRUE(staging.ok()) << staging.status();
    for (const auto& [path, text] : files) {
      const std::string whole = staging->path() + "/" + path;
      fs::create_directories(fs::path(whole).parent_path());
      testing::WriteFile(whole, text);
    }
    return *std::move(staging);
  }

  LayerStore::Pin Install(const std::string& libraries, const Files& files) {
    auto pin = store_->Commit(Key(libraries), Stage(files));
    EXPECT_TRUE(pin.ok()) << pin.status();
    return *pin;
  }

  // The id of a layer that nobody uses.
  std::string Keep(const std::string& libraries, const Files& files) {
    return Install(libraries, files).id();
  }

  // How Commit refuses a tree that `spoil` spoils.
  template <typename Spoil>
  absl::Status Refused(Spoil spoil) {
    LayerStore::Staging staging = Stage({{"a/file", "text"}});
    spoil(staging.path());
    const auto pin = store_->Commit(Key("bad"), std::move(staging));
    EXPECT_FALSE(pin.ok());
    EXPECT_THAT(store_->List(), ::testing::IsEmpty());
    EXPECT_THAT(Names(), ::testing::IsEmpty());
    return pin.status();
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(Directory())) {
      names.push_back(each.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const testing::TempDir dir_;
  std::unique_ptr<LayerStore> store_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_LAYERS_LAYER_SUPPORT_H_
