#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/language.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LanguagesInAnImage, AreStartedAnewAndNeedNothingPrepared) {
  auto table =
      LanguageTable::Load(SANDGLASS_SOURCE_DIR "/policy/data/languages");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->LanguagesIn("tiny"), nullptr);
  EXPECT_THAT(table->images(), ElementsAre("host"));
  table->AddImage({"tiny", "/srv/tiny"});
  EXPECT_THAT(table->images(), ElementsAre("host", "tiny"));
  ASSERT_NE(table->LanguagesIn("tiny"), nullptr);
  EXPECT_EQ(table->LanguagesIn("tiny")->size(), table->languages().size());

  const Language& python = *table->Find("python");
  EXPECT_EQ(&table->In("host", python), &python);
  const Language& inside = table->In("tiny", python);
  EXPECT_EQ(inside.id, "python");
  EXPECT_EQ(inside.image, "tiny");
  EXPECT_EQ(inside.image_root, "/srv/tiny");
  EXPECT_EQ(inside.run, python.run);
  EXPECT_EQ(inside.unusable, "");
  EXPECT_FALSE(inside.zygote || inside.kernel || inside.analyser ||
               inside.prepare || inside.prestart);
  EXPECT_TRUE(python.zygote && python.kernel && python.analyser);

  const Language& cpp = table->In("tiny", *table->Find("cpp"));
  EXPECT_EQ(cpp.unusable, "");
  EXPECT_FALSE(cpp.compile->cache.has_value());
  EXPECT_THAT(table->In("tiny", *table->Find("go")).unusable,
              HasSubstr("needs what is prepared"));
}

}  // namespace
}  // namespace sandglass::policy
