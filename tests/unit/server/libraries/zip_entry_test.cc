// Files of archives that others made.
#include "server/libraries/zip_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

class ZipEntry : public ::testing::Test {
 protected:
  ZipEntry() : path_(dir_.Path("a.jar")) {}

  void Make(const std::string& entry, const std::string& text) {
    zip_t* zip = zip_open(path_.c_str(), ZIP_CREATE, nullptr);
    ASSERT_NE(zip, nullptr);
    zip_source_t* source = zip_source_buffer(zip, text.data(), text.size(), 0);
    ASSERT_GE(zip_file_add(zip, entry.c_str(), source, 0), 0);
    ASSERT_EQ(zip_close(zip), 0);
  }
  std::string Bytes() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    return bytes.str();
  }

  const sandglass::testing::TempDir dir_;
  const std::string path_;
};

TEST_F(ZipEntry, AnEntryIsRead) {
  Make("a/b.properties", "root = x\n");
  Make("a/empty", "");
  EXPECT_EQ(*ReadZipEntry(path_, "a/b.properties"), "root = x\n");
  EXPECT_EQ(*ReadZipEntry(path_, "a/empty"), "");
}

TEST_F(ZipEntry, AMissingEntryIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ReadZipEntry(path_, "a").status()));
  Make("b", "b");
  EXPECT_TRUE(absl::IsNotFound(ReadZipEntry(path_, "a").status()));
}

TEST_F(ZipEntry, AnEntrysSizeIsBounded) {
  Make("zeros", std::string(64 << 20, '\0'));
  Make("much", std::string(kMaxEntryBytes, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadZipEntry(path_, "zeros").status()));
  EXPECT_EQ(ReadZipEntry(path_, "much")->size(), kMaxEntryBytes);
}

// However it is cut or changed: a text that is whole, or an error.
TEST_F(ZipEntry, OfADamagedArchiveIsAnErrorOrWhole) {
  const std::string text = "root = https://example.test/\n";
  Make("a", text);
  const std::string whole = Bytes();
  const auto check = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto read = ReadZipEntry(path_, "a");
    if (read.ok()) {
      EXPECT_EQ(*read, text);
    }
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    check(whole.substr(0, i));
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    check(changed);
  }
}

TEST_F(ZipEntry, OfWhatIsNoArchiveIsAnErrorThatNamesIt) {
  std::ofstream(path_) << "no archive";
  const auto read = ReadZipEntry(path_, "a");
  EXPECT_TRUE(absl::IsInvalidArgument(read.status()));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr(path_));
}

}  // namespace
}  // namespace sandglass::server
