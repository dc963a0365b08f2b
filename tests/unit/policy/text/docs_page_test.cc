#include "policy/text/docs_page.h"

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

namespace fs = std::filesystem;

TEST(DocsPage, IsNamedWhereItWasInstalledWithTheProgram) {
  const testing::TempDir dir;
  const std::string prefix = fs::canonical(dir.path()).string();
  fs::create_directories(prefix + "/sbin");
  const std::string program = prefix + "/sbin/sandglassd";
  testing::WriteFile(program, "");
  EXPECT_EQ(DocsPage("images.md", program), "docs/images.md");
  const std::string docs = prefix + "/share/doc/sandglass/docs";
  fs::create_directories(docs);
  testing::WriteFile(docs + "/images.md", "");
  EXPECT_EQ(DocsPage("images.md", program), docs + "/images.md");
  EXPECT_EQ(DocsPage("images.md#own", program), docs + "/images.md#own");
  EXPECT_EQ(DocsPage("other.md#own", program), "docs/other.md#own");
  EXPECT_EQ(DocsPage("images.md", prefix + "/none"), "docs/images.md");
}

}  // namespace
}  // namespace sandglass::policy
