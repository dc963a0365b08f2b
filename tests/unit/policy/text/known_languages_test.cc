#include "policy/text/known_languages.h"

#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

TEST(KnownLanguages, AreFoundByNameAliasAndEndingOfFiles) {
  for (const char* word : {"typescript", "ts", "TSX"}) {
    const KnownLanguage* found = FindKnownLanguage(word);
    ASSERT_NE(found, nullptr) << word;
    EXPECT_EQ(found->name, "TypeScript");
  }
  EXPECT_EQ(FindKnownLanguage("c#")->name, "C#");
  for (const char* word : {"", " ", "python", "js", "xyz"}) {
    EXPECT_EQ(FindKnownLanguage(word), nullptr) << word;
  }
}

}  // namespace
}  // namespace sandglass::policy
