#include "server/images/package_list.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

std::string Stanza(const std::string& name, const std::string& state,
                   const std::string& version = "1.0-1") {
  return absl::StrCat(
      "Package: ", name, "\nStatus: install ok ", state,
      "\nPriority: optional\nArchitecture: amd64\nVersion: ", version,
      "\nDescription: of it\n Package: no field\n .\n", " more\n");
}

TEST(PackageList, HasNameVersionAndArchitectureOfEach) {
  EXPECT_EQ(PackageList(absl::StrCat(Stanza("a", "installed"), "\n",
                                     Stanza("b", "installed", "2:3"), "\n")),
            "a 1.0-1 amd64\nb 2:3 amd64\n");
  EXPECT_EQ(PackageList(Stanza("last", "installed")), "last 1.0-1 amd64\n");
}

TEST(PackageList, IsTheSameHoweverFarAnInstallationIs) {
  for (const char* state : {"unpacked", "half-configured", "triggers-awaited",
                            "triggers-pending", "installed"}) {
    EXPECT_EQ(PackageList(Stanza("a", state)), "a 1.0-1 amd64\n") << state;
  }
}

TEST(PackageList, LeavesOutWhatHasNoFilesAndTheDaemonItself) {
  EXPECT_EQ(PackageList(absl::StrCat(Stanza("a", "config-files"), "\n",
                                     Stanza("b", "not-installed"), "\n",
                                     Stanza("sandglass", "unpacked"), "\n",
                                     Stanza("sandglasses", "installed"))),
            "sandglasses 1.0-1 amd64\n");
}

TEST(PackageList, WithoutADatabaseIsEmpty) {
  EXPECT_EQ(PackageList(""), "");
  EXPECT_EQ(PackageList("\n\n\nnonsense\n\nVersion: 1\n"), "");
}

}  // namespace
}  // namespace sandglass::server
