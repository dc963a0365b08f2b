#include "policy/language/zygote_kind.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

Language Toy() {
  Language language;
  language.id = "toy";
  language.name = "Toy";
  language.source_file = "main.toy";
  language.run = {"/usr/bin/toy", "${source}"};
  language.version = {"/usr/bin/toy", "--version"};
  language.zygote = ZygoteRecipe{
      .command = {"/usr/bin/toy"},
      .library = "zygote-toy.so",
      .script = "serve",
      .kinds = {{.name = "science", .serves = {"numpy", "pandas"}},
                {.name = "lean"},
                {.name = "web", .serves = {"flask", "requests", "numpy"}}}};
  return language;
}

std::string Chosen(const std::string& code) {
  const Language language = Toy();
  const ZygoteKind* kind = ChooseZygoteKind(language, code);
  return kind == nullptr ? "none" : ZygoteName(language, *kind);
}

TEST(ZygoteKind, ARemovedKindServesNobody) {
  absl::StatusOr<LanguageTable> table = LanguageTable::Create({Toy()});
  ASSERT_TRUE(table.ok()) << table.status();
  table->KeepZygoteKinds([](const Language& language, const ZygoteKind& kind) {
    return language.id == "toy" && kind.name != "science";
  });
  const Language& toy = *table->Find("toy");
  ASSERT_EQ(toy.zygote->kinds.size(), 2u);
  EXPECT_EQ(ChooseZygoteKind(toy, "import pandas")->name, "lean");
  table->KeepZygoteKinds([](const auto&, const auto&) { return false; });
  EXPECT_EQ(ChooseZygoteKind(toy, "import pandas"), nullptr);
}

TEST(ZygoteKind, FollowsTheImportsOfTheCode) {
  EXPECT_EQ(Chosen("print(1)"), "toy-lean");
  EXPECT_EQ(Chosen(""), "toy-lean");
  EXPECT_EQ(Chosen("import json\nimport numpy as np\n"), "toy-science");
  EXPECT_EQ(Chosen("if x:\n\tfrom pandas.core import frame"), "toy-science");
  EXPECT_EQ(Chosen("import os, numpy, requests"), "toy-web")
      << "two of its modules are named, of the other's one";
  EXPECT_EQ(Chosen("  require 'flask'\r\n"), "toy-web");
}

TEST(ZygoteKind, WordsThatAreNoImportsDontCount) {
  EXPECT_EQ(Chosen("numpy = 1"), "toy-lean");
  EXPECT_EQ(Chosen("# import numpy"), "toy-lean");
  EXPECT_EQ(Chosen("important numpy"), "toy-lean");
  EXPECT_EQ(Chosen("import numpyx, _numpy"), "toy-lean");
  EXPECT_EQ(Chosen("print('import numpy')"), "toy-lean");
}

TEST(ZygoteKind, NoneIsChosenWhereNoneServes) {
  Language language = Toy();
  language.zygote->kinds.erase(language.zygote->kinds.begin() + 1);
  EXPECT_EQ(ChooseZygoteKind(language, "print(1)"), nullptr);
  language.zygote.reset();
  EXPECT_EQ(ChooseZygoteKind(language, "import numpy"), nullptr);
}

TEST(ZygoteKind, AnyBytesAreLookedAt) {
  std::string code(100'000, 'i');
  code += std::string("\0\xff\n import \0numpy", 17);
  EXPECT_NE(Chosen(code), "none");
  EXPECT_NE(Chosen(std::string(100'000, '\n')), "none");
}

struct Fault {
  const char* name;
  std::function<void(Language&)> spoil;
  const char* message;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class RefusedZygote : public ::testing::TestWithParam<Fault> {};

TEST_P(RefusedZygote, IsReportedWithAPointer) {
  ASSERT_TRUE(LanguageTable::Create({Toy()}).ok());
  Language language = Toy();
  GetParam().spoil(language);
  const auto table = LanguageTable::Create({language});
  ASSERT_FALSE(table.ok());
  const std::string message(table.status().message());
  EXPECT_THAT(message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    ZygoteKind, RefusedZygote,
    ::testing::Values(
        Fault{"AnotherCommand",
              [](Language& l) { l.zygote->command.push_back("-O"); },
              "/zygote/command: with \"${source}\" behind it"},
        Fault{"RelativeCommand",
              [](Language& l) { l.zygote->command = {"toy"}; },
              "/zygote/command/0: \"toy\" is no absolute path"},
        Fault{"Needs",
              [](Language& l) { l.zygote->kinds[1].needs = {"numpy"}; },
              "/zygote/kinds/1/needs/0: \"numpy\" is no absolute path"},
        Fault{"NoLibrary", [](Language& l) { l.zygote->library.clear(); },
              "/zygote/library: takes the name of a file"},
        Fault{"LibraryElsewhere",
              [](Language& l) { l.zygote->library = "../toy.so"; },
              "/zygote/library: takes the name of a file"},
        Fault{"NoKinds", [](Language& l) { l.zygote->kinds.clear(); },
              "/zygote/kinds: is empty"},
        Fault{"KindName",
              [](Language& l) { l.zygote->kinds[0].name = "Big one"; },
              "/zygote/kinds/0/name: names match"},
        Fault{"SameName", [](Language& l) { l.zygote->kinds[0].name = "web"; },
              "/zygote/kinds/2/name: is there twice"},
        Fault{"TwoForAll",
              [](Language& l) { l.zygote->kinds[2].serves.clear(); },
              "/zygote/kinds/2/serves: only one kind"},
        Fault{"Compiled",
              [](Language& l) {
                l.compile = {.command = {"/usr/bin/c", "${source}"},
                             .artifacts = {"a"}};
              },
              "/zygote: serves interpreters"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sandglass::policy
