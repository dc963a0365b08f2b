#include "policy/libraries/libraries.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using enum Ecosystem;

struct Good {
  const char* text;
  const char* argument;  // in normal form
};

void ExpectGood(Ecosystem ecosystem, const std::vector<Good>& cases) {
  for (const Good& each : cases) {
    const auto library = ParseLibrary(ecosystem, each.text);
    ASSERT_TRUE(library.ok()) << each.text << ": " << library.status();
    EXPECT_EQ(library->ToArgument(), each.argument) << each.text;
    const auto again = ParseLibrary(ecosystem, library->ToArgument());
    ASSERT_TRUE(again.ok()) << each.argument << ": " << again.status();
    EXPECT_EQ(*again, *library) << each.text;
    const auto name = ParseLibraryName(ecosystem, library->name);
    ASSERT_TRUE(name.ok()) << name.status();
    EXPECT_EQ(*name, library->name);
  }
}

struct Bad {
  std::string text;
  const char* words;
};

void ExpectBad(Ecosystem ecosystem, const std::vector<Bad>& cases) {
  for (const Bad& each : cases) {
    const auto library = ParseLibrary(ecosystem, each.text);
    ASSERT_FALSE(library.ok()) << each.text << ": " << library->ToArgument();
    EXPECT_EQ(library.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(library.status().message());
    EXPECT_THAT(message, HasSubstr(each.words)) << each.text;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20;
    })) << message;
  }
}

TEST(ParseLibrary, TakesWhatPipCallsARequirement) {
  ExpectGood(kPython, {{"six", "six"},
                       {"six==1.16.0", "six==1.16.0"},
                       {"Typing_Extensions", "typing-extensions"},
                       {"zope.interface", "zope-interface"},
                       {"ruamel.-_yaml", "ruamel-yaml"},
                       {"requests >= 2, < 3", "requests<3,>=2"},
                       {"requests<3,>=2,<3", "requests<3,>=2"},
                       {"numpy~=1.21.0", "numpy~=1.21.0"},
                       {"numpy!=1.20.*", "numpy!=1.20.*"},
                       {"numpy==1.*", "numpy==1.*"},
                       {"torch==2.0.1+cpu", "torch==2.0.1+cpu"},
                       {"x===2004d", "x===2004d"},
                       {"x==1!2.0", "x==1!2.0"},
                       {"x==1.0RC1", "x==1.0rc1"},
                       {"x>=1.0.post2.dev3", "x>=1.0.post2.dev3"},
                       {"x==1.0-1", "x==1.0-1"},
                       {"x>=v1", "x>=v1"},
                       {"requests[Socks,use_chardet_on_py3]>2",
                        "requests[socks,use-chardet-on-py3]>2"},
                       {"requests [socks , socks] ==2", "requests[socks]==2"},
                       {"a", "a"},
                       {"0x0", "0x0"}});
}

TEST(ParseLibrary, RefusesWhatIsNoRequirementByNameOfPip) {
  ExpectBad(kPython,
            {{"six @ https://example.org/six.whl", "is an address"},
             {"six@1.16", "addresses aren't taken"},
             {"six=1.16.0", "write \"==\""},
             {"six 1.16.0", "has no =="},
             {"six==", "for a version"},
             {"six==1.16.0,", "has no =="},
             {"six,", "has no =="},
             {"six==1..2", "for a version"},
             {"six==1.2.", "for a version"},
             {"six==one", "for a version"},
             {"six==1 .2", "for a version"},
             {"six>=1.*", "only == and != take"},
             {"six>=1+cpu", "only == and != take"},
             {"six==1+", "for a version"},
             {"six==1+a..b", "for a version"},
             {"six==1!", "for a version"},
             {"six~=1", "needs two numbers"},
             {"six===", "for a version"},
             {"six===-e", "for a version"},
             {"six===a/b", "for a version"},
             {"six===1..2", "for a version"},
             {"six==1==2", "for a version"},
             {"six[", "between [ and ]"},
             {"six[]", "between [ and ]"},
             {"six[a", "without its"},
             {"six[a b]", "without its"},
             {"six[a,]", "between [ and ]"},
             {"six[-a]", "between [ and ]"},
             {"six[a]]", "has no =="},
             {"six;python_version<'3'", "conditions for an environment"},
             {"_six", "doesn't begin with a package's name"},
             {"six-", "doesn't begin with a package's name"},
             {"six_==1", "doesn't begin with a package's name"},
             {"@types/node", "doesn't begin with a package's name"},
             {"==1.0", "doesn't begin with a package's name"},
             {"[a]", "doesn't begin with a package's name"},
             {"a/b", "has no =="},
             {"six.whl", "is a file's name"},
             {"six-1.16.0.tar.gz", "is a file's name"},
             {"six===1.zip", "is a file's name"},
             {"six===1.zip,!=2", "is a file's name"},
             {"six==1+a.ZIP", "is a file's name"},
             {"six*", "has no =="},
             {"*", "doesn't begin with a package's name"}});
}

TEST(ParseLibrary, TakesNpmsNamesAndRanges) {
  ExpectGood(kNode, {{"lodash", "lodash"},
                     {"lodash@4.17.21", "lodash@4.17.21"},
                     {"lodash@^4", "lodash@^4"},
                     {"lodash@~4.17", "lodash@~4.17"},
                     {"lodash@4.x", "lodash@4.x"},
                     {"lodash@*", "lodash@*"},
                     {"lodash@x", "lodash@x"},
                     {"lodash@v4.17.21", "lodash@v4.17.21"},
                     {"lodash@>= 4  <5", "lodash@>=4 <5"},
                     {"lodash@3||4.x", "lodash@3 || 4.x"},
                     {"lodash@1.2 - 2.3", "lodash@1.2 - 2.3"},
                     {"lodash@=4.17.21", "lodash@=4.17.21"},
                     {"react@next", "react@next"},
                     {"react@next-11", "react@next-11"},
                     {"react@18.0.0-rc.1", "react@18.0.0-rc.1"},
                     {"react@1.0.0-rc.1+b.01", "react@1.0.0-rc.1+b.01"},
                     {"@types/node", "@types/node"},
                     {"@types/node@^18.0.0", "@types/node@^18.0.0"},
                     {"JSONStream", "JSONStream"},
                     {"socket.io@latest", "socket.io@latest"}});
}

TEST(ParseLibrary, RefusesWhatNpmReadsAsAnythingElse) {
  ExpectBad(kNode, {{"user/repo", "is a repository or a directory"},
                    {"user/repo#main", "has \"#\""},
                    {"a/b@1", "is a repository or a directory"},
                    {"lodash@user/repo", "has no version or range"},
                    {"lodash@npm:other@1", "has no version or range"},
                    {"lodash@file:x", "has no version or range"},
                    {"lodash@./x", "has no version or range"},
                    {"lodash@~/x", "has no version or range"},
                    {"lodash@C:/x", "has no version or range"},
                    {"lodash@git+ssh://h/x", "is an address"},
                    {"lodash@", "has no version or range"},
                    {"lodash@@1", "has no version or range"},
                    {"lodash@1@2", "has no version or range"},
                    {"lodash@1.2.3.4", "has no version or range"},
                    {"lodash@^", "has no version or range"},
                    {"lodash@-", "has no version or range"},
                    {"lodash@1 -", "has no version or range"},
                    {"lodash@1 - 2 - 3", "has no version or range"},
                    {"lodash@>1 - 2", "has no version or range"},
                    {"lodash@- 1 2", "has no version or range"},
                    {"lodash@1||", "has no version or range"},
                    {"lodash@|| --registry", "has no version or range"},
                    {"lodash@1 --global", "has no version or range"},
                    {"lodash@>1<2", "has no version or range"},
                    {"lodash@01.2.3", "has no version or range"},
                    {"lodash@1.2.3-01", "has no version or range"},
                    {"lodash@latest.tgz", "has no version or range"},
                    {"lodash@1.0.0-a.tgz", "has no version or range"},
                    {"lodash@-g", "has no version or range"},
                    {"x.tgz", "doesn't begin with a package's name"},
                    {"x.tar.gz", "doesn't begin with a package's name"},
                    {"_x", "doesn't begin with a package's name"},
                    {"@/x", "doesn't begin with a package's name"},
                    {"@x", "doesn't begin with a package's name"},
                    {"@x/", "doesn't begin with a package's name"},
                    {"@x/y/z", "doesn't begin with a package's name"},
                    {"@x/..", "doesn't begin with a package's name"},
                    {"@../x", "doesn't begin with a package's name"},
                    {"@x/-y", "doesn't begin with a package's name"},
                    {"@", "doesn't begin with a package's name"},
                    {"@@", "doesn't begin with a package's name"},
                    {"a..b", "doesn't begin with a package's name"},
                    {"lodash@a..b", "has no version or range"},
                    {"node_modules", "doesn't begin with a package's name"},
                    {"lod ash", "doesn't begin with a package's name"},
                    {"github:user/repo", "is a repository"},
                    {"npm:lodash", "doesn't begin with a package's name"}});
}

TEST(ParseLibrary, TakesGosModules) {
  ExpectGood(
      kGo, {{"golang.org/x/text", "golang.org/x/text@latest"},
            {"golang.org/x/text@latest", "golang.org/x/text@latest"},
            {"golang.org/x/text@v0.3.7", "golang.org/x/text@v0.3.7"},
            {"github.com/BurntSushi/toml@v1.2.0",
             "github.com/BurntSushi/toml@v1.2.0"},
            {"gopkg.in/yaml.v3", "gopkg.in/yaml.v3@latest"},
            {"github.com/nats-io/nats.go", "github.com/nats-io/nats.go@latest"},
            {"a.b/c@v2.0.0+incompatible", "a.b/c@v2.0.0+incompatible"},
            {"a.b/c@v0.0.0-20210101000000-abcdefabcdef",
             "a.b/c@v0.0.0-20210101000000-abcdefabcdef"},
            {"rsc.io/quote/v3@v3.1.0", "rsc.io/quote/v3@v3.1.0"}});
}

TEST(ParseLibrary, RefusesWhatIsNoModule) {
  ExpectBad(kGo, {{"fmt", "has no host"},
                  {"encoding/json", "has no host"},
                  {"std", "has no host"},
                  {"all", "has no host"},
                  {"cmd/go.x", "has no host"},
                  {"golang.org/x/text@", "has no version"},
                  {"golang.org/x/text@main", "has no version"},
                  {"golang.org/x/text@none", "has no version"},
                  {"golang.org/x/text@upgrade", "has no version"},
                  {"golang.org/x/text@v1", "has no version"},
                  {"golang.org/x/text@1.2.3", "has no version"},
                  {"golang.org/x/text@v1.2.3+meta", "has no version"},
                  {"golang.org/x/text@>=v1.2.3", "has no version"},
                  {"golang.org/x/text@v1.2.3@v1", "has no version"},
                  {"golang.org/x/text@abcdef012345", "has no version"},
                  {"golang.org/x/...", "a module's path"},
                  {"golang.org/...", "a module's path"},
                  {"golang.org//x", "a module's path"},
                  {"golang.org/x/", "a module's path"},
                  {"golang.org/../x", "is a path"},
                  {"golang.org/x/..", "a module's path"},
                  {"golang.org/-x", "a module's path"},
                  {"golang.org/.git", "a module's path"},
                  {"GitHub.com/x/y", "a module's path"},
                  {"github.com/a b", "a module's path"},
                  {"a.b:8080/c", "a module's path"},
                  {"@v1.0.0", "has no host"},
                  {"main.go", "a module's path"},
                  {"a.b=c.d", "a module's path"},
                  {"a..b/c", "a module's path"},
                  {"a.b/c..d", "a module's path"}});
}

TEST(ParseLibrary, TakesGemsWithARequirement) {
  ExpectGood(kRuby, {{"rack", "rack"},
                     {"rack:2.2.3", "rack:2.2.3"},
                     {"rack:~> 2.2", "rack:~> 2.2"},
                     {"rack:~>2.2", "rack:~> 2.2"},
                     {"rack ~> 2.2", "rack:~> 2.2"},
                     {"rack >= 2", "rack:>= 2"},
                     {"rack:= 2.2.3", "rack:2.2.3"},
                     {"rack 2.2.3", "rack:2.2.3"},
                     {"rack:2.0.0.beta1", "rack:2.0.0.beta1"},
                     {"rack:1.0-java", "rack:1.0-java"},
                     {"RedCloth", "RedCloth"},
                     {"net-http-persistent", "net-http-persistent"},
                     {"i18n:!= 1", "i18n:!= 1"}});
}

TEST(ParseLibrary, RefusesWhatIsNoGem) {
  ExpectBad(kRuby, {{"rack.gem", "a gem's name"},
                    {"rack-2.2.3.GEM", "a gem's name"},
                    {"_rack", "a gem's name"},
                    {"123", "a gem's name"},
                    {"rack:", "has no version"},
                    {"rack:~>", "has no version"},
                    {"rack:~> x", "has no version"},
                    {"rack:2..3", "has no version"},
                    {"rack:2.3-", "has no version"},
                    {"rack~>2.2", "has no version"},
                    {"rack@2.2.3", "has no version"},
                    {"rack==2.2.3", "has no version"},
                    {"rack:>= 2, < 3", "more than one condition"},
                    {"rack:2.2.3 -g", "has no version"},
                    {"rack --version 2", "has no version"},
                    {"rack:2:3", "has no version"},
                    {"rack/x", "has no version"},
                    {"a..b", "a gem's name"},
                    {":2", "a gem's name"}});
}

TEST(ParseLibrary, TakesMavensCoordinates) {
  ExpectGood(
      kJava,
      {{"com.google.code.gson:gson:2.8.9", "com.google.code.gson:gson:2.8.9"},
       {"com.typesafe.akka:akka-actor_2.13:2.6.20",
        "com.typesafe.akka:akka-actor_2.13:2.6.20"},
       {"junit:junit:4.13.2", "junit:junit:4.13.2"},
       {"com.google.guava:guava:31.1-jre", "com.google.guava:guava:31.1-jre"}});
}

TEST(ParseLibrary, RefusesWhatAreNoCoordinates) {
  ExpectBad(kJava, {{"gson", "has 1 parts"},
                    {"com.google.code.gson:gson", "has 2 parts"},
                    {"a:b:jar:1", "has 4 parts"},
                    {"a:b:jar:c:1", "has 5 parts"},
                    {"::", "no group and artifact"},
                    {":b:1", "no group and artifact"},
                    {"a::1", "no group and artifact"},
                    {"a:b:", "has no version"},
                    {"a:b:[1,2)", "has \")\""},
                    {"a:b:[1,2]", "has no version"},
                    {"a:b:LATEST", "has no version"},
                    {"a:b:1.+", "has no version"},
                    {"a:b:latest.release", "has no version"},
                    {"a:b:release", "has no version"},
                    {"a:b:1/2", "has no version"},
                    {"a:b:..", "has no version"},
                    {"a:b:-1", "has no version"},
                    {"a..b:c:1", "no group and artifact"},
                    {"a.:c:1", "no group and artifact"},
                    {"a/b:c:1", "no group and artifact"},
                    {"a:b:${v}", "has \"$\""},
                    {"a:b c:1", "no group and artifact"},
                    {"a:-b:1", "no group and artifact"},
                    {"a:b:1@jar", "has no version"}});
}

TEST(ParseLibrary, RefusesInEveryLanguageWhatIsNoName) {
  const std::vector<Bad> cases = {
      {"", "is empty"},
      {" six", "has a blank at an end"},
      {"six ", "has a blank at an end"},
      {" ", "has a blank at an end"},
      {"-e", "is an option"},
      {"-", "is an option"},
      {"--index-url=x", "is an option"},
      {"-r requirements.txt", "is an option"},
      {"https://example.org/x", "is an address"},
      {"ftp://x", "is an address"},
      {"file:x", "is an address"},
      {"FILE:/etc/passwd", "is an address"},
      {"git+https://example.org/x", "is an address"},
      {"git+file", "is a repository"},
      {"git@example.org:x/y", "is a repository"},
      {"hg+x", "is a repository"},
      {"github:x/y", "is a repository"},
      {"./x", "is a path"},
      {".", "is a path"},
      {"..", "is a path"},
      {"../x", "is a path"},
      {"/x", "is a path"},
      {"~/x", "is a path"},
      {"C:\\x", "is a path"},
      {"c:/x", "is a path"},
      {"a\\b", "is a path"},
      {"a/../b", "is a path"},
      {"a`id`", "has \"`\""},
      {"a$(id)", "has \"$\""},
      {"a&b", "has \"&\""},
      {"a;id", "has \";\""},
      {"a'b", "has \"'\""},
      {"a\"b", "has \"\\\"\""},
      {"a#b", "has \"#\""},
      {"a%41", "has \"%\""},
      {"a?b", "has \"?\""},
      {"a{b,c}", "has \"{\""},
      {"a\nb", "has a control character"},
      {"a\tb", "has a control character"},
      {"a\rb", "has a control character"},
      {"a\x7f", "has a control character"},
      {std::string("a\0b", 3), "has a control character"},
      {"\x1b[31mred", "has a control character"},
      {"s\xd1\x96x", "isn't ASCII"},       // a Cyrillic i
      {"six\xe2\x80\x8b", "isn't ASCII"},  // a blank without width
      {"\xef\xbd\x93ix", "isn't ASCII"},   // a wide s
      {"\xff\xfe", "isn't ASCII"},
      {"a>b", ""},
      {"a|b", ""},
      {"a<b", ""},
      {"a=b", ""},
      {"a,b", ""},
      {"a^b", ""},
      {"a!", ""},
      {"a\\", "is a path"},
      {std::string(kMaxLibraryText + 1, 'a'), "has 513 bytes"},
      {std::string(1 << 20, '\n'), "has 1048576 bytes"}};
  for (const Ecosystem ecosystem : kEcosystems) ExpectBad(ecosystem, cases);
}

TEST(ParseLibrary, BoundsNames) {
  const std::string longest(kMaxLibraryName, 'a');
  EXPECT_TRUE(ParseLibrary(kPython, longest).ok());
  ExpectBad(kPython, {{longest + "a", "has a name of 215 bytes"}});
  ExpectBad(kNode, {{"@a/" + longest, "has a name of"}});
  ExpectBad(kJava, {{longest + ":a:1", "has a name of"}});
  EXPECT_FALSE(ParseLibraryName(kRuby, longest + "a").ok());
}

TEST(ParseLibrary, BoundsClausesAndExtras) {
  std::string clauses = "six";
  std::string extras = "six[";
  for (int i = 0; i < 17; ++i) {
    clauses += (i == 0 ? "!=" : ",!=") + std::to_string(i);
    extras += (i == 0 ? "e" : ",e") + std::to_string(i);
  }
  ExpectBad(kPython, {{clauses, "17 conditions"}, {extras + "]", "17 extras"}});
  std::string range = "x@1";
  for (int i = 0; i < 16; ++i) range += "||1";
  ExpectBad(kNode, {{range, "no version or range"}});
}

TEST(LibrarySet, IsTheSameInWhateverOrder) {
  const auto one =
      LibrarySet::Parse(kPython, {"six", "Requests>=2,<3", "attrs"});
  const auto other =
      LibrarySet::Parse(kPython, {"attrs", "requests <3, >=2", "SIX", "six"});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->Canonical(), "attrs\nrequests<3,>=2\nsix");
  EXPECT_EQ(one->Canonical(), other->Canonical());
  EXPECT_EQ(*one, *other);
  EXPECT_THAT(one->ToArguments(),
              ElementsAre("attrs", "requests<3,>=2", "six"));
}

TEST(LibrarySet, MayBeEmpty) {
  const auto set = LibrarySet::Parse(kGo, {});
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->empty());
  EXPECT_EQ(set->Canonical(), "");
}

TEST(LibrarySet, RefusesALibraryTwice) {
  const struct {
    Ecosystem ecosystem;
    std::vector<std::string> texts;
  } cases[] = {{kPython, {"six==1.16.0", "a", "SIX==1.15.0"}},
               {kPython, {"six", "six==1.15.0"}},
               {kPython, {"six[a]", "six[b]"}},
               {kNode, {"lodash@1", "lodash@2"}},
               {kGo, {"a.b/c", "a.b/c@v1.0.0"}},
               {kRuby, {"rack", "rack:2.2"}},
               {kJava, {"a:b:1", "a:b:2"}}};
  for (const auto& each : cases) {
    const auto set = LibrarySet::Parse(each.ecosystem, each.texts);
    ASSERT_FALSE(set.ok());
    EXPECT_THAT(std::string(set.status().message()),
                AllOf(HasSubstr("twice"), HasSubstr("name it once")));
  }
}

TEST(LibrarySet, SaysWhichTextIsWrong) {
  const auto set = LibrarySet::Parse(kPython, {"six", "a b"});
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(std::string(set.status().message()),
              StartsWith("libraries[1]: \"a b\" has no =="));
}

TEST(LibrarySet, BoundsItsSize) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < kMaxLibraries; ++i) {
    texts.push_back("p" + std::to_string(i));
  }
  EXPECT_TRUE(LibrarySet::Parse(kPython, texts).ok());
  texts.push_back("one-more");
  const auto set = LibrarySet::Parse(kPython, texts);
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(std::string(set.status().message()),
              HasSubstr("65 entries; at most 64"));
}

TEST(Ecosystems, AreThoseOfLanguages) {
  for (const Ecosystem ecosystem : kEcosystems) {
    EXPECT_EQ(EcosystemOfLanguage(EcosystemName(ecosystem)), ecosystem);
  }
  EXPECT_EQ(EcosystemOfLanguage("bash"), std::nullopt);
  EXPECT_EQ(EcosystemOfLanguage(""), std::nullopt);
}

}  // namespace
}  // namespace sandglass::policy
