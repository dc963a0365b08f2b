// Where libraries come from.
#include "server/libraries/library_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "server/libraries/registry_url.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RegistryUrl, IsParsed) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& each :
       {Case{"https://index.test/simple/", "index.test", 443},
        Case{"http://index.test", "index.test", 80},
        Case{"http://10.1.2.3:8081/a/b", "10.1.2.3", 8081},
        Case{"https://[2001:db8::1]:444/", "2001:db8::1", 444},
        Case{"https://[2001:db8::1]/", "2001:db8::1", 443}}) {
    const auto url = ParseRegistryUrl(each.text);
    ASSERT_TRUE(url.ok()) << each.text << ": " << url.status();
    EXPECT_EQ(url->text, each.text);
    EXPECT_EQ(url->host, each.host);
    EXPECT_EQ(url->port, each.port);
  }
}

TEST(RegistryUrl, RefusesOtherForms) {
  for (const char* text : {"",
                           "index.test",
                           "ftp://index.test",
                           "file:///etc",
                           "https://",
                           "https:///simple",
                           "https://index.test:0/",
                           "https://index.test:65536/",
                           "https://index.test:x/",
                           "https://index.test/$(id)",
                           "https://index.test/a b",
                           "https://index.test/a\nb",
                           "https://index.test/;id",
                           "https://index.test/?q=1",
                           "https://index.test/@scope",
                           "https://index.test:+80/",
                           "https://index.test:/",
                           "https://index.test#/",
                           "https://index.test/#x",
                           "https://*.test.org/",
                           "https://127.1/",
                           "https://index.test,direct",
                           "https://-rindex/"}) {
    EXPECT_FALSE(ParseRegistryUrl(text).ok()) << text;
  }
  EXPECT_FALSE(
      ParseRegistryUrl("https://i.test/" + std::string(3000, 'a')).ok());
}

TEST(RegistryUrl, TellsNoPassword) {
  for (const char* text :
       {"https://joe:hunter2@index.test/simple", "joe:hunter2@index.test",
        "https://index.test/\\joe:hunter2@other.test/",
        "https://index.test/?token=hunter2", "https://index.test?t=hunter2",
        "https://index.test:80?t=hunter2", "https://index.test/#hunter2"}) {
    const auto url = ParseRegistryUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().message().find("hunter2"), std::string::npos)
        << url.status();
  }
}

class FindRegistryTest : public ::testing::Test {
 protected:
  FindRegistryTest() {
    recipe_.registry = {
        {.variable = "SANDGLASS_TEST_INDEX"},
        {.file = dir_.Path("tool.conf"), .pattern = "^index *= *(\\S+)"},
        {.file = dir_.Path("tool.py"),
         .pattern = "INDEX = \"([^\"]+)\"",
         .append = "simple/"}};
    recipe_.hosts = {
        {.file = dir_.Path("tool.py"), .pattern = "FILES = \"([^\"]+)\""}};
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ~FindRegistryTest() override { ::unsetenv("SANDGLASS_TEST_INDEX"); }

  const sandglass::testing::TempDir dir_;
  policy::LibraryRecipe recipe_;
};

TEST_F(FindRegistryTest, TakesTheFirstPlaceThatSays) {
  EXPECT_TRUE(absl::IsNotFound(FindRegistry(recipe_, {}, "toy").status()));
  sandglass::testing::WriteFile(
      dir_.Path("tool.py"),
      "# INDEX\nINDEX = \"https://default.test.org/\"\n"
      "FILES = \"files.test.org\"\n");
  auto found = FindRegistry(recipe_, {}, "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "https://default.test.org/simple/");
  EXPECT_EQ(found->source, dir_.Path("tool.py"));
  ASSERT_EQ(found->network.hosts.size(), 2u);
  EXPECT_EQ(found->network.hosts[0].host.ToString(), "default.test.org");
  EXPECT_EQ(found->network.hosts[1].host.ToString(), "files.test.org");
  EXPECT_TRUE(found->network.hosts[0].any_address);
  ASSERT_EQ(found->network.hosts[0].ports.size(), 1u);
  EXPECT_EQ(found->network.hosts[0].ports[0].first, 443u);

  sandglass::testing::WriteFile(dir_.Path("tool.conf"),
                                "[x]\nindex = http://own.test.org:8081/\n");
  found = FindRegistry(recipe_, {}, "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "http://own.test.org:8081/");
  EXPECT_EQ(found->network.hosts[0].ports[0].last, 8081u);

  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::setenv("SANDGLASS_TEST_INDEX", "https://variable.test.org/", 1);
  found = FindRegistry(recipe_, {}, "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "https://variable.test.org/");
  EXPECT_THAT(found->source, HasSubstr("SANDGLASS_TEST_INDEX"));

  // Nothing of the host's tool counts beside the configuration's.
  found = FindRegistry(
      recipe_, {.url = "https://own.test.org/", .hosts = {"*.cdn.test.org"}},
      "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "https://own.test.org/");
  ASSERT_EQ(found->network.hosts.size(), 2u);
  EXPECT_EQ(found->network.hosts[1].host.ToString(), "*.cdn.test.org");
}

TEST_F(FindRegistryTest, ReadsElementsWithoutComments) {
  recipe_.registry = {{.file = dir_.Path("settings.xml"),
                       .element = "mirror",
                       .pattern = ".*<url>\\s*([^<\\s]+)",
                       .without = "<off/>"}};
  sandglass::testing::WriteFile(dir_.Path("settings.xml"),
                                "<s><!-- such as\n"
                                "<mirror><url>https://a.test.org/</url>\n"
                                "</mirror> -->\n"
                                "<url>https://b.test.org/</url>\n"
                                "<mirror>\n<url>https://c.test.org/</url>\n"
                                "<off/></mirror>\n"
                                "<mirror>\n<id>d</id><!-- -->\n<url>\n"
                                "  https://d.test.org/\n</url></mirror>\n"
                                "<mirror><url>https://e.test.org/</url>\n");
  const auto found = FindRegistry(recipe_, {}, "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "https://d.test.org/");
}

TEST_F(FindRegistryTest, ReadsOnlyLinesWithTheOneAndWithoutTheOther) {
  recipe_.registry = {{.file = dir_.Path("settings.xml"),
                       .element = "mirror",
                       .pattern = "<url>([^<]+)",
                       .with = "<of>(central|\\*)<",
                       .without = "<off/>"}};
  sandglass::testing::WriteFile(
      dir_.Path("settings.xml"),
      "<mirror><url>https://a.test.org/</url><of>other</of></mirror>\n"
      "<mirror><of>central</of><url>https://b.test.org/</url><off/></mirror>\n"
      "<mirror><url>https://c.test.org/</url>\xff<of>central</of></mirror>\n"
      "<mirror><url>https://d.test.org/</url><of>*</of></mirror>\n");
  const auto found = FindRegistry(recipe_, {}, "toy");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->url, "https://c.test.org/");
}

// What has no end, or no beginning.
TEST_F(FindRegistryTest, ReadsNothingOfWhatIsCut) {
  recipe_.registry = {{.file = dir_.Path("settings.xml"),
                       .element = "mirror",
                       .pattern = "<url>([^<]+)"}};
  for (const char* text :
       {"", "<!--", "<mirror>", "</mirror>", "<mirror><url>https://a.test/",
        "<!-- <mirror><url>https://a.test/</url></mirror>",
        "</mirror><url>https://a.test/</url><mirror>"}) {
    sandglass::testing::WriteFile(dir_.Path("settings.xml"), text);
    EXPECT_TRUE(absl::IsNotFound(FindRegistry(recipe_, {}, "toy").status()))
        << text;
  }
}

TEST_F(FindRegistryTest, SaysWhereAnUnusableOneIs) {
  sandglass::testing::WriteFile(dir_.Path("tool.conf"),
                                "index = https://joe:hunter2@own.test.org/\n");
  const auto found = FindRegistry(recipe_, {}, "toy");
  EXPECT_TRUE(absl::IsInvalidArgument(found.status()));
  EXPECT_THAT(
      std::string(found.status().message()),
      ::testing::AllOf(HasSubstr("tool.conf"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace sandglass::server
