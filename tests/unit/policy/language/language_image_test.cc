#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/language/language.h"
#include "policy/language/zygote_kind.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;

TEST(LanguagesInAnImage, UseTheImagesFiles) {
  auto table =
      LanguageTable::Load(SANDGLASS_SOURCE_DIR "/policy/data/languages");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->LanguagesIn("tiny"), nullptr);
  EXPECT_THAT(table->images(), ElementsAre("host"));
  table->AddImage({"tiny", "/srv/tiny"});
  EXPECT_THAT(table->images(), ElementsAre("host", "tiny"));
  ASSERT_NE(table->LanguagesIn("tiny"), nullptr);
  EXPECT_EQ(table->LanguagesIn("tiny")->size(), table->languages().size());
  EXPECT_EQ(table->InAllImages().size(), 2 * table->languages().size());

  const Language& python = *table->Find("python");
  EXPECT_EQ(&table->In("host", python), &python);
  const Language& inside = table->In("tiny", python);
  EXPECT_EQ(inside.id, "python");
  EXPECT_EQ(inside.image, "tiny");
  EXPECT_EQ(inside.image_root, "/srv/tiny");
  EXPECT_EQ(inside.run, python.run);
  EXPECT_TRUE(inside.zygote && inside.kernel && inside.analyser &&
              inside.prepare && inside.libraries);
  const ZygoteKind& lean = python.zygote->kinds.front();
  EXPECT_EQ(ZygoteName(python, lean), "python-lean");
  EXPECT_EQ(ZygoteName(inside, lean), "python-lean-tiny");
}

TEST(LanguagesInAnImage, HaveDirectoriesAndZygotesOfTheirOwn) {
  auto table =
      LanguageTable::Load(SANDGLASS_SOURCE_DIR "/policy/data/languages");
  ASSERT_TRUE(table.ok()) << table.status();
  table->AddImage({"tiny", "/srv/tiny"});
  table->SetPreparedDirs([](const Language& language) {
    return "/" + language.id + language.image;
  });
  table->KeepZygoteKinds([](const Language& language, const ZygoteKind&) {
    return language.image.empty();
  });
  const Language& python = *table->Find("python");
  const Language& inside = table->In("tiny", python);
  EXPECT_EQ(python.prepared_dir, "/python");
  EXPECT_EQ(inside.prepared_dir, "/pythontiny");
  EXPECT_FALSE(python.zygote->kinds.empty());
  EXPECT_TRUE(inside.zygote->kinds.empty());
}

}  // namespace
}  // namespace sandglass::policy
