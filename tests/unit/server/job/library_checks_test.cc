#include "server/job/library_checks.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/libraries/library_policy.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LibraryChecksTest : public ::testing::Test {
 protected:
  LibraryChecksTest() {
    language_.id = "python";
    language_.name = "Python";
    language_.libraries.emplace();
    Allow({});
  }
  void Allow(policy::LibraryRules rules) {
    policy::LibraryPolicy policy = {.profile = "p"};
    policy.rules[policy::Ecosystem::kPython] = std::move(rules);
    profile_.libraries =
        std::make_shared<const policy::LibraryPolicy>(std::move(policy));
  }
  absl::StatusOr<std::optional<LibraryRequest>> Check(const LibraryWish& wish) {
    violations_.clear();
    return CheckLibraries(wish, &language_, &profile_, violations_);
  }
  std::shared_ptr<const DecidedLibraries> Decided(const LibraryWish& wish) {
    const auto wanted = Check(wish);
    if (!wanted.ok() || !wanted->has_value()) return nullptr;
    return (*wanted)->decided;
  }

  policy::Language language_;
  policy::Profile profile_{.name = "p"};
  Violations violations_;
};

TEST_F(LibraryChecksTest, WhatIsAskedForAgainIsDecidedOnce) {
  const LibraryWish wish = {{"Six==1.16.0"}, ""};
  const auto first = Decided(wish);
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(first->names, ElementsAre("six==1.16.0"));
  EXPECT_EQ(Decided(wish), first);
  EXPECT_NE(Decided({{"six==1.16.0", "attrs"}, ""}), first);
}

TEST_F(LibraryChecksTest, AnotherPolicyDecidesAnew) {
  const LibraryWish wish = {{"six"}, ""};
  ASSERT_NE(Decided(wish), nullptr);
  // Time and again, since a policy's place in memory may be used again.
  for (int i = 0; i < 100; ++i) {
    Allow({.offline = true});
    const auto wanted = Check(wish);
    ASSERT_TRUE(wanted.ok() && wanted->has_value());
    EXPECT_TRUE((*wanted)->offline);
    Allow({});
    EXPECT_FALSE((*Check(wish))->offline);
    policy::LibraryRules none;
    none.any = false;
    Allow(std::move(none));
    EXPECT_THAT(std::string(Check(wish).status().message()), HasSubstr("six"));
  }
}

TEST_F(LibraryChecksTest, BadNamesAreToldEachTime) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Decided({{"--six"}, ""}), nullptr);
    EXPECT_THAT(violations_, SizeIs(1));
  }
}

TEST_F(LibraryChecksTest, ManySetsAreNoTrouble) {
  for (int i = 0; i < 2000; ++i) {
    const auto decided = Decided({{absl::StrCat("six==1.", i)}, ""});
    ASSERT_NE(decided, nullptr);
    EXPECT_THAT(decided->names, ElementsAre(absl::StrCat("six==1.", i)));
  }
}

TEST_F(LibraryChecksTest, AnImageIsTheProfiles) {
  const LibraryWish wish = {{"six"}, ""};
  EXPECT_EQ((*Check(wish))->image, "");
  profile_.image = "slim";
  EXPECT_EQ((*Check(wish))->image, "slim");
}

}  // namespace
}  // namespace sandglass::server
