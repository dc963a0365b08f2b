#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/libraries/library_policy.h"
#include "tests/unit/policy/libraries/library_lock_words.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using enum Ecosystem;

std::string Sum(char c) {
  return absl::StrCat("sha512-", std::string(86, c), "==");
}

std::string NodePackages(const std::string& packages) {
  return absl::StrCat(
      R"({"name": "mine", "version": "1.0.0", "lockfileVersion": 3,
          "requires": true, "packages": {)",
      packages, "}}");
}

std::string NodeLock() {
  return absl::StrReplaceAll(NodePackages(R"(
    "": {"name": "mine", "hasInstallScript": true,
         "dependencies": {"@isaacs/cliui": "^8.0.2"},
         "devDependencies": {"left-pad": "*"}},
    "node_modules/left-pad": {"version": "1.3.0", "dev": true,
      "resolved": "git+ssh://git@example.org/left-pad.git"},
    "node_modules/@isaacs/cliui": {"version": "8.0.2",
      "resolved": "https://example.org/@isaacs/cliui/-/cliui-8.0.2.tgz",
      "integrity": "$A", "license": "ISC",
      "bin": {"cliui": "bin/cliui.js", "../x": "x.js"},
      "dependencies": {"string-width": "^5.1.2",
                       "string-width-cjs": "npm:string-width@^4.2.0"},
      "optionalDependencies": {"fsevents": "~2.3.2", "absent": "1.x"},
      "engines": {"node": ">=12"}},
    "node_modules/string-width": {"version": "5.1.2", "integrity": "$B",
      "dependencies": {"ansi": ">= 1 < 3"}},
    "node_modules/string-width-cjs": {"name": "string-width",
      "version": "4.2.3", "integrity": "$C", "dependencies": {"ansi": "^1"}},
    "node_modules/string-width-cjs/node_modules/ansi": {"version": "1.0.0",
      "integrity": "$D"},
    "node_modules/ansi": {"version": "2.0.0-rc.1", "integrity": "sha1-x $E"},
    "node_modules/fsevents": {"version": "2.3.2", "integrity": "$F",
      "optional": true, "hasInstallScript": true, "os": ["darwin"]})"),
                             {{"$A", Sum('A')},
                              {"$B", Sum('B')},
                              {"$C", Sum('C')},
                              {"$D", Sum('D')},
                              {"$E", Sum('E')},
                              {"$F", Sum('F')}});
}

TEST(LibraryLock, OfNpmIsWrittenAnewWithoutAddressesAndWhatIsForDevelopment) {
  const auto set = ParseLibraryRequest(kNode, {}, NodeLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->ToArguments(), ElementsAre("@isaacs/cliui"));
  EXPECT_THAT(Entries(*set),
              ElementsAre("@isaacs/cliui@8.0.2", "ansi@1.0.0",
                          "ansi@2.0.0-rc.1", "fsevents@2.3.2",
                          "string-width@4.2.3", "string-width@5.1.2"));
  EXPECT_EQ(FileOf(*set, "lock/package.json"),
            "{\"private\": true, \"dependencies\": "
            "{\"@isaacs/cliui\":\"*\"}}\n");
  const std::string lock = FileOf(*set, "lock/package-lock.json");
  EXPECT_THAT(lock, AllOf(Not(HasSubstr("://")), Not(HasSubstr("left-pad")),
                          Not(HasSubstr("..")), Not(HasSubstr("absent"))));
  EXPECT_THAT(
      lock,
      HasSubstr(absl::StrCat(
          "\"node_modules/string-width-cjs\": {\"dependencies\":{\"ansi\":"
          "\"^1\"},\"integrity\":\"",
          Sum('C'), "\",\"name\":\"string-width\",\"version\":\"4.2.3\"}")));
  EXPECT_THAT(lock, HasSubstr("\"string-width-cjs\":\"npm:string-width@^4.2.0"
                              "\""));
  EXPECT_THAT(lock, HasSubstr(absl::StrCat(
                        "\"node_modules/fsevents\": {\"hasInstallScript\":true,"
                        "\"integrity\":\"",
                        Sum('F'),
                        "\",\"optional\":true,\"os\":[\"darwin\"],"
                        "\"version\":\"2.3.2\"}")));
  EXPECT_THAT(lock, HasSubstr("\"bin\":{\"cliui\":\"bin/cliui.js\"}"));
  EXPECT_THAT(lock, HasSubstr(absl::StrCat("\"", Sum('E'), "\"")));
}

TEST(LibraryLock, OfNpmHasOnlyWhatIsAskedForNeeds) {
  const auto set = ParseLibraryRequest(kNode, {"string-width@^5"}, NodeLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(Entries(*set),
              ElementsAre("ansi@2.0.0-rc.1", "string-width@5.1.2"));
  EXPECT_THAT(FileOf(*set, "lock/package-lock.json"),
              HasSubstr("\"\": {\"dependencies\": {\"string-width\":\"^5\"}}"));
  const auto tag =
      ParseLibraryRequest(kNode, {"string-width@latest"}, NodeLock());
  ASSERT_TRUE(tag.ok());
  EXPECT_THAT(FileOf(*tag, "lock/package.json"),
              HasSubstr("{\"string-width\":\"*\"}"));
  EXPECT_THAT(AskedRefusal(kNode, {"lodash"}, NodeLock()),
              HasSubstr("\"lodash\", which isn't in the lock"));
  EXPECT_THAT(AskedRefusal(kNode, {"string-width-cjs"}, NodeLock()),
              HasSubstr("name \"string-width\""));
}

TEST(LibraryLock, OfNpmIsOptionalOnlyWhereNothingElseNeedsIt) {
  const auto set = ParseLibraryRequest(kNode, {"fsevents"}, NodeLock());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(FileOf(*set, "lock/package-lock.json"),
              Not(HasSubstr("\"optional\":true")));
}

TEST(LibraryLock, OfNpmTakesBundledPackagesWithoutSumsOnlyFromTheirOwner) {
  const std::string owner = absl::StrCat(
      R"("node_modules/a": {"version": "1.0.0", "integrity": ")", Sum('A'),
      R"(", "bundleDependencies": ["b"], "dependencies": {"b": "1", "d": "1"}},
      "node_modules/a/node_modules/b": {"version": "1.0.0", "inBundle": true,
        "dependencies": {"c": "1"}},
      "node_modules/a/node_modules/c": {"version": "1.0.0", "inBundle": true},
      )");
  const std::string good =
      absl::StrCat(R"("node_modules/d": {"version": "1.0.0", "integrity": ")",
                   Sum('D'), R"("})");
  const auto set =
      ParseLibraryRequest(kNode, {"a"}, NodePackages(owner + good));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(FileOf(*set, "lock/package-lock.json"),
              HasSubstr("\"bundleDependencies\":[\"b\"]"));
  EXPECT_THAT(Refusal(kNode, {"a"}, NodePackages(owner + R"("node_modules/d": {
        "version": "1.0.0", "inBundle": true})")),
              HasSubstr("no \"integrity\" with sha512 for \"node_modules/d\""));
}

TEST(LibraryLock, OfNpmRefusesWhatIsntOfARegistry) {
  const struct {
    std::string package;  // of node_modules/a
    std::string words;
  } kCases[] = {
      {R"({"version": "1.0.0"})", "no \"integrity\""},
      {R"({"version": "1.0.0", "inBundle": true})", "no \"integrity\""},
      {R"({"version": "1.0.0", "integrity": "sha1-abc"})", "no \"integrity\""},
      {R"({"resolved": "packages/a", "link": true})", "is a link"},
      {R"({"version": "1.0.0", "resolved": "git+ssh://git@example.org/a.git"})",
       "comes from \"git+ssh:"},
      {R"({"version": "1.0.0", "resolved": "file:a.tgz"})",
       "comes from \"file:a.tgz\""},
      {R"({"version": "file:a.tgz", "integrity": "$"})", "has no version"},
      {R"({"version": "^1.0.0", "integrity": "$"})", "has no version"},
      {R"({"integrity": "$"})", "has no version"},
      {R"({"name": "../b", "version": "1.0.0", "integrity": "$"})",
       "no package's name"},
      {R"({"name": 1, "version": "1.0.0", "integrity": "$"})",
       "no package's name"},
      {R"({"version": "1.0.0", "integrity": "$",
           "dependencies": {"b": "github:x/b"}})",
       "needs \"b\" from \"github:x/b\""},
      {R"({"version": "1.0.0", "integrity": "$",
           "dependencies": {"b": "x/b"}})",
       "needs \"b\" from \"x/b\""},
      {R"({"version": "1.0.0", "integrity": "$",
           "peerDependencies": {"b": "file:../b"}})",
       "needs \"b\" from"},
      {R"({"version": "1.0.0", "integrity": "$",
           "optionalDependencies": {"b": "npm:../b@1"}})",
       "needs \"b\" from"},
      {R"({"version": "1.0.0", "integrity": "$", "dependencies": {"b": 1}})",
       "no name or range"},
      {R"({"version": "1.0.0", "integrity": "$",
           "dependencies": {"../b": "1"}})",
       "no name or range"},
      {R"({"version": "1.0.0", "integrity": "$", "dependencies": ["b"]})",
       "of no form"},
      {R"({"version": "1.0.0", "integrity": "$", "dependencies": {"b": "1"}})",
       "needs \"b\", and no such package"},
      {R"({"version": "1.0.0", "integrity": "$",
           "bundleDependencies": ["../b"]})",
       "bundles a package of no name"},
      {R"(["1.0.0"])", "isn't a package"},
  };
  for (const auto& each : kCases) {
    const std::string lock = NodePackages(
        absl::StrCat(R"("": {"dependencies": {"a": "1"}}, "node_modules/a": )",
                     absl::StrReplaceAll(each.package, {{"$", Sum('A')}})));
    EXPECT_THAT(Refusal(kNode, {}, lock), HasSubstr(each.words))
        << each.package;
  }
}

TEST(LibraryLock, OfNpmRefusesOtherForms) {
  EXPECT_THAT(Refusal(kNode, {}, "six==1.16.0"), HasSubstr("JSON object"));
  EXPECT_THAT(Refusal(kNode, {}, "[]"), HasSubstr("JSON object"));
  EXPECT_THAT(Refusal(kNode, {}, R"({"lockfileVersion": 1})"),
              HasSubstr("no \"packages\"; write it with npm 7"));
  EXPECT_THAT(Refusal(kNode, {}, NodePackages("")),
              HasSubstr("nothing is asked for; name libraries too"));
  EXPECT_THAT(Refusal(kNode, {}, NodePackages(R"("": {})")),
              HasSubstr("has no library"));
  EXPECT_THAT(
      Refusal(kNode, {}, NodePackages(R"("": {"dependencies": {"a": "1"}})")),
      HasSubstr("asks for \"a\" and has no such package"));
  EXPECT_THAT(Refusal(kNode, {}, std::string(100000, '[')),
              HasSubstr("too deep"));
  EXPECT_THAT(Refusal(kNode, {}, std::string("{\"a\": \"\\")),
              HasSubstr("JSON object"));
}

TEST(LibraryLock, OfNpmIsTheSameInWhateverOrder) {
  const std::string a =
      absl::StrCat(R"("node_modules/a": {"version": "1.0.0", "integrity": ")",
                   Sum('A'), R"("})");
  const std::string b =
      absl::StrCat(R"("node_modules/b": {"license": "MIT", "integrity": ")",
                   Sum('B'), R"(", "version": "1.0.0"})");
  const auto one =
      ParseLibraryRequest(kNode, {"a", "b"}, NodePackages(a + "," + b));
  const auto other =
      ParseLibraryRequest(kNode, {"b", "a"}, NodePackages(b + ", " + a));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(LockFiles(*one), LockFiles(*other));
}

TEST(LibraryLock, MayHaveNothingThatAProfileDenies) {
  LibraryPolicy policy;
  policy.profile = "p";
  policy.rules[kNode].deny = {*LibraryPattern::Parse(kNode, "ansi")};
  const auto set = ParseLibraryRequest(kNode, {}, NodeLock());
  ASSERT_TRUE(set.ok());
  const LibraryDecision decision = Decide(policy, *set);
  EXPECT_FALSE(decision.allowed);
  EXPECT_THAT(decision.reason,
              AllOf(HasSubstr("\"ansi\" is refused by \"ansi\""),
                    HasSubstr("the lock has it")));
  policy.rules[kNode].deny = {*LibraryPattern::Parse(kNode, "left-pad")};
  EXPECT_TRUE(Decide(policy, *set).allowed);
}

}  // namespace
}  // namespace sandglass::policy
