#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/policy/libraries/library_lock_words.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using enum Ecosystem;

std::string GemLock() {
  return absl::StrCat(R"(GEM
  remote: https://gems.example/
  specs:
    nokogiri (1.16.0)
      mini_portile2 (~> 2.8.2)
      racc (~> 1.4)
    nokogiri (1.16.0-arm64-darwin)
      racc (~> 1.4)
    nokogiri (1.16.0-x86_64-linux)
      racc (~> 1.4)
    mini_portile2 (2.8.5)
    racc (1.7.3)
    rack (2.2.8)
      bundler (>= 1.2.0)

PLATFORMS
  ruby
  x86_64-linux

DEPENDENCIES
  nokogiri (>= 1, < 3)
  rack (~> 2.2)!

CHECKSUMS
  nokogiri (1.16.0-x86_64-linux) sha256=)",
                      Hex('a'), "\n  racc (1.7.3) sha256=", Hex('b'), R"(
  rack (2.2.8)

RUBY VERSION
   ruby 3.1.2p20

BUNDLED WITH
   2.5.4
)");
}

TEST(LibraryLock, OfRubyIsAListOfArchives) {
  const auto set = ParseLibraryRequest(kRuby, {}, GemLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->ToArguments(), ElementsAre("nokogiri", "rack"));
  EXPECT_THAT(Entries(*set),
              ElementsAre("mini_portile2:2.8.5", "nokogiri:1.16.0",
                          "racc:1.7.3", "rack:2.2.8"));
  EXPECT_EQ(FileOf(*set, "lock/gems"),
            absl::StrCat("mini_portile2 2.8.5 ruby -\n"
                         "nokogiri 1.16.0 ruby -\n"
                         "nokogiri 1.16.0 x86_64-linux ",
                         Hex('a'), "\nracc 1.7.3 ruby ", Hex('b'),
                         "\nrack 2.2.8 ruby -\n"));
}

TEST(LibraryLock, OfRubyHasOnlyWhatIsAskedForNeeds) {
  const auto set = ParseLibraryRequest(kRuby, {"rack:~> 2.2"}, GemLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->ToArguments(), ElementsAre("rack:~> 2.2"));
  EXPECT_EQ(FileOf(*set, "lock/gems"), "rack 2.2.8 ruby -\n");
  EXPECT_THAT(AskedRefusal(kRuby, {"rails"}, GemLock()),
              HasSubstr("\"rails\", which isn't in the lock"));
}

TEST(LibraryLock, OfRubyRefusesAllElse) {
  const std::string gem = "GEM\n  specs:\n    ";
  const std::string asked = "\nDEPENDENCIES\n  a\n";
  const struct {
    std::string lock;
    std::string words;
  } kCases[] = {
      {"GIT\n  remote: https://example.org/a.git\n", "line 1: begins the"},
      {"PATH\n  remote: .\n  specs:\n    a (1.0)\n", "section PATH"},
      {"PLUGIN SOURCE\n", "section PLUGIN SOURCE"},
      {"source 'https://gems.example'\n", "which no Gemfile.lock has"},
      {"", "has no gem"},
      {"PLATFORMS\n  ruby\n", "has no gem"},
      {gem + "a" + asked, "line 3: has \"\" for the version"},
      {gem + "a (1.0" + asked, "line 3: has \"(\" without"},
      {gem + "a (../1)" + asked, "for the version of \"a\""},
      {gem + "a (>= 1)" + asked, "for the version of \"a\""},
      {gem + "a (1.0-x/../y)" + asked, "for the version of \"a\""},
      {gem + "a (1.0--x)" + asked, "for the version of \"a\""},
      {gem + "--a (1.0)" + asked, "line 3: \"--a\" is an option"},
      {gem + "../a (1.0)" + asked, "is a path"},
      {gem + "a$(id) (1.0)" + asked, "line 3: "},
      {gem + "a (1.0)\n    a (2.0)" + asked, "another version of \"a\""},
      {gem + "a (1.0)\n      b" + asked, "needs \"b\", and no such gem"},
      {"GEM\n  specs:\n      b\n" + asked, "no gem is before it"},
      {gem + "a (1.0-java)" + asked, "bundle lock --add-platform"},
      {gem + "b (1.0)" + asked, "\"a\" under DEPENDENCIES, and no such gem"},
      {gem + "a (1.0)\n", "nothing under DEPENDENCIES"},
      {gem + "a (1.0)" + asked + "CHECKSUMS\n  a (1.0) md5=abc\n",
       "line 7: has \"md5=abc\" for a checksum"},
      {gem + "a (1.0)" + asked + "CHECKSUMS\n  a (1.0) sha256=" + Hex('a') +
           "\n  a (1.0) sha256=" + Hex('b') + "\n",
       "line 8: has another checksum for \"a\""},
  };
  for (const auto& each : kCases) {
    // An empty text would be no lock.
    EXPECT_THAT(Refusal(kRuby, {}, each.lock.empty() ? "\n" : each.lock),
                HasSubstr(each.words))
        << each.lock;
  }
}

std::string GoSum(char c) {
  return absl::StrCat("h1:", std::string(43, c), "=");
}

std::string GoLock() {
  return absl::StrCat("github.com/davecgh/go-spew v1.1.0/go.mod ", GoSum('a'),
                      "\n", "golang.org/x/text v0.9.0 ", GoSum('b'), "\r\n",
                      "golang.org/x/text v0.9.0/go.mod ", GoSum('c'), "\n",
                      "golang.org/x/text v0.10.0-rc.1 ", GoSum('d'), "\n",
                      "golang.org/x/text v0.10.0-rc.1/go.mod ", GoSum('e'),
                      "\n", "golang.org/x/text v0.11.0/go.mod ", GoSum('f'),
                      "\n", "gopkg.in/yaml.v3 v3.0.1 ", GoSum('g'), "\n",
                      "gopkg.in/yaml.v3 v3.0.1/go.mod ", GoSum('h'), "\n");
}

TEST(LibraryLock, OfGoBecomesAGoModThatRequiresAllOfIt) {
  const auto set = ParseLibraryRequest(kGo, {"golang.org/x/text"}, GoLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->ToArguments(),
              ElementsAre("golang.org/x/text@v0.10.0-rc.1"));
  EXPECT_EQ(FileOf(*set, "lock/go.mod"),
            "module main\n\ngo 1.19\n\nrequire (\n"
            "\tgolang.org/x/text v0.10.0-rc.1\n"
            "\tgopkg.in/yaml.v3 v3.0.1\n)\n");
  EXPECT_EQ(FileOf(*set, "lock/modules"),
            "golang.org/x/text@v0.10.0-rc.1\ngopkg.in/yaml.v3@v3.0.1\n");
  EXPECT_THAT(FileOf(*set, "lock/go.sum"),
              HasSubstr(absl::StrCat("golang.org/x/text v0.11.0/go.mod ",
                                     GoSum('f'), "\n")));
}

TEST(LibraryLock, OfGoHasTheVersionThatIsAskedFor) {
  const auto set =
      ParseLibraryRequest(kGo, {"golang.org/x/text@v0.9.0"}, GoLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(FileOf(*set, "lock/modules"),
              HasSubstr("golang.org/x/text@v0.9.0\n"));
  EXPECT_THAT(AskedRefusal(kGo, {"golang.org/x/text@v0.11.0"}, GoLock()),
              HasSubstr("and the lock has \"v0.10.0-rc.1\""));
  EXPECT_THAT(AskedRefusal(kGo, {"github.com/davecgh/go-spew"}, GoLock()),
              HasSubstr("no checksum of its files"));
  EXPECT_THAT(AskedRefusal(kGo, {"example.org/other"}, GoLock()),
              HasSubstr("no checksum of its files"));
}

TEST(LibraryLock, OfGoTakesTheNewestAsSemverOrdersThem) {
  const struct {
    std::string older;
    std::string newer;
  } kCases[] = {
      {"v1.2.3", "v1.2.10"},
      {"v1.9.0", "v1.10.0"},
      {"v1.0.0-rc.1", "v1.0.0"},
      {"v1.0.0-rc.2", "v1.0.0-rc.10"},
      {"v1.0.0-rc.1", "v1.0.0-rc.x"},
      {"v1.0.0-rc", "v1.0.0-rc.1"},
      {"v0.0.0-20200313102051-9f266ea9e77c",
       "v0.0.0-20210313102051-0f266ea9e77c"},
      {"v2.0.0+incompatible", "v3.0.0+incompatible"},
  };
  for (const auto& each : kCases) {
    std::string lock;
    for (const std::string& version : {each.older, each.newer}) {
      absl::StrAppend(&lock, "a.org/b ", version, " ", GoSum('a'), "\na.org/b ",
                      version, "/go.mod ", GoSum('b'), "\n");
    }
    const auto set = ParseLibraryRequest(kGo, {"a.org/b"}, lock);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->ToArguments()[0], absl::StrCat("a.org/b@", each.newer));
  }
}

TEST(LibraryLock, OfGoRefusesAllElse) {
  const std::string sum = " " + GoSum('a');
  const struct {
    std::string line;
    std::string words;
  } kCases[] = {
      {"module main", "send go.sum, not go.mod"},
      {"golang.org/x/text v0.9.0", "isn't a module, its version"},
      {"golang.org/x/text v0.9.0 h1:abc", "for a checksum"},
      {"golang.org/x/text v0.9.0 h2:" + std::string(43, 'a') + "=",
       "for a checksum"},
      {"golang.org/x/text latest" + sum, "has no version"},
      {"golang.org/x/text v0.9" + sum, "has no version"},
      {"../text v0.9.0" + sum, "is a path"},
      {"./text v0.9.0" + sum, "is a path"},
      {"text v0.9.0" + sum, "has no host"},
      {"-modfile=x v0.9.0" + sum, "is an option"},
      {"https://golang.org/x/text v0.9.0" + sum, "is an address"},
      {"golang.org/x/text v1.0.0 h1:" + std::string(43, 'b') + "=",
       "another checksum"},
  };
  const std::string first = "golang.org/x/text v1.0.0" + sum + "\n";
  for (const auto& each : kCases) {
    EXPECT_THAT(
        Refusal(kGo, {"golang.org/x/text"}, first + each.line),
        AllOf(HasSubstr("library_lock, line 2: "), HasSubstr(each.words)))
        << each.line;
  }
  EXPECT_THAT(Refusal(kGo, {"golang.org/x/text"}, first),
              HasSubstr("no checksum of the go.mod of"));
  EXPECT_THAT(Refusal(kGo, {}, GoLock()), HasSubstr("name that in libraries"));
}

}  // namespace
}  // namespace sandglass::policy
