#include "policy/libraries/missing_import.h"

#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "policy/libraries/import_names.h"

namespace sandglass::policy {
namespace {

using enum Ecosystem;

// The library, "" when there is none.
std::string LibraryFor(Ecosystem ecosystem, const std::string& text) {
  const auto missing = FindMissingImport(ecosystem, text);
  return missing ? missing->library : "";
}

std::string Python(const std::string& module) {
  return LibraryFor(kPython,
                    "Traceback (most recent call last):\n"
                    "ModuleNotFoundError: No module named '" +
                        module + "'\n");
}

TEST(MissingImport, OfPythonHasItsLibrary) {
  const struct {
    const char* module;
    const char* library;
  } cases[] = {{"cv2", "opencv-python"},
               {"PIL", "pillow"},
               {"PIL.Image", "pillow"},
               {"sklearn.linear_model", "scikit-learn"},
               {"yaml", "pyyaml"},
               {"bs4", "beautifulsoup4"},
               {"google.protobuf.message", "protobuf"},
               {"numpy", "numpy"},
               {"numpy.linalg", "numpy"},
               {"typing_extensions", "typing-extensions"},
               {"Xlib", "python-xlib"},
               // Projects of other people have these names.
               {"z3", "z3-solver"},
               {"pysat.solvers", "python-sat"},
               {"imblearn", "imbalanced-learn"},
               {"constraint", "python-constraint"},
               {"websocket", "websocket-client"},
               {"barcode", "python-barcode"},
               {"ffmpeg", "ffmpeg-python"},
               {"camelot", "camelot-py"},
               {"tabula", "tabula-py"},
               {"decouple", "python-decouple"},
               {"surprise", "scikit-surprise"},
               // The first and the last of the list.
               {"AnyQt", "anyqt"},
               {"zstandard", "zstandard"},
               // A namespace of one distribution, and of many.
               {"langgraph", "langgraph"},
               {"google", ""},
               {"zope", ""}};
  for (const auto& each : cases) EXPECT_EQ(Python(each.module), each.library);
}

TEST(MissingImport, OfTheOtherLanguagesHasItsLibrary) {
  const struct {
    Ecosystem ecosystem;
    const char* text;
    const char* library;
  } cases[] = {
      {Ecosystem::kNode,
       "Error: Cannot find module 'lodash/fp'\nRequire stack:", "lodash"},
      {Ecosystem::kNode,
       "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@types/node' "
       "imported from /workspace/main.mjs",
       "@types/node"},
      {Ecosystem::kGo,
       "main.go:3:8: no required module provides package "
       "github.com/acme/x/deep: go.mod file not found",
       "github.com/acme/x"},
      {Ecosystem::kGo,
       "main.go:3:8: no required module provides package "
       "golang.org/x/text/language; to add it:",
       "golang.org/x/text"},
      {Ecosystem::kGo,
       "main.go:3:8: no required module provides package gopkg.in/yaml.v3; to",
       "gopkg.in/yaml.v3"},
      {Ecosystem::kRuby,
       "require: cannot load such file -- active_record (LoadError)\n",
       "activerecord"},
      {Ecosystem::kRuby, "cannot load such file -- nokogiri (LoadError)",
       "nokogiri"},
      {Ecosystem::kRuby, "cannot load such file -- zip (LoadError)", "rubyzip"},
      {Ecosystem::kRuby, "cannot load such file -- net/ssh (LoadError)",
       "net-ssh"},
      {Ecosystem::kJava,
       "Main.java:1: error: package com.google.gson does not exist\n",
       "com.google.code.gson:gson"},
      {Ecosystem::kJava,
       "Main.java:1: error: package org.apache.poi.xssf.usermodel does not "
       "exist\n",
       "org.apache.poi:poi-ooxml"}};
  for (const auto& each : cases) {
    EXPECT_EQ(LibraryFor(each.ecosystem, each.text), each.library) << each.text;
  }
}

TEST(MissingImport, IsNoneForTheStandardLibraryAndFilesOfTheProgram) {
  EXPECT_EQ(Python("tkinter"), "");
  EXPECT_EQ(Python("distutils.core"), "");
  EXPECT_EQ(Python("xml.nothing"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kNode, "Cannot find module './x'"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kNode, "Cannot find module '/workspace/x'"),
            "");
  EXPECT_EQ(LibraryFor(Ecosystem::kNode, "Cannot find module 'node:x'"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kNode, "Cannot find module 'fs/x'"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kGo,
                       "no required module provides package foo/bar; x"),
            "");
  EXPECT_EQ(LibraryFor(Ecosystem::kRuby,
                       "cannot load such file -- /workspace/x (LoadError)"),
            "");
  EXPECT_EQ(LibraryFor(Ecosystem::kRuby, "cannot load such file -- net/x"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kJava,
                       "error: package javax.swing.x does not exist"),
            "");
  EXPECT_EQ(LibraryFor(Ecosystem::kJava, "error: package a.b does not exist"),
            "");
}

TEST(MissingImport, IsNoneForWhatAProgramMakesUp) {
  for (const std::string& module :
       {std::string(), std::string("-e"), std::string("../x"),
        std::string("a b"), std::string("a\nb"), std::string("a;id"),
        std::string("$(id)"), std::string("\xd1\x96"), std::string("\x1b[1m"),
        std::string("a\0b", 3), std::string(10'000, 'a'), std::string(64, '.'),
        std::string("--index-url=x"), std::string("_"), std::string("a/b")}) {
    EXPECT_EQ(Python(module), "") << module;
  }
  EXPECT_EQ(LibraryFor(kPython, ""), "");
  EXPECT_EQ(LibraryFor(kPython, "ModuleNotFoundError: No module named '"), "");
  EXPECT_EQ(LibraryFor(Ecosystem::kJava, "error: package org.json is odd"), "");
  // Another language's words.
  EXPECT_EQ(LibraryFor(kPython, "Cannot find module 'lodash'"), "");
}

TEST(MissingImport, IsTheLastOfTheTail) {
  EXPECT_EQ(LibraryFor(kPython,
                       "ModuleNotFoundError: No module named 'a'\n"
                       "ModuleNotFoundError: No module named 'yaml'\n"),
            "pyyaml");
  EXPECT_EQ(LibraryFor(kPython, "ModuleNotFoundError: No module named 'a'\n" +
                                    std::string(8192, '\n')),
            "");
}

TEST(MissingImport, GetsNoNameThatWasNotChecked) {
  for (const auto& [ecosystem, text] :
       {std::pair(kPython, "ModuleNotFoundError: No module named 'helper'"),
        std::pair(kRuby, "cannot load such file -- helper (LoadError)")}) {
    const std::optional<MissingImport> missing =
        FindMissingImport(ecosystem, text);
    ASSERT_TRUE(missing.has_value()) << text;
    EXPECT_EQ(missing->library, "");
    const std::string words = MissingImportWords(ecosystem, *missing);
    EXPECT_THAT(words, ::testing::HasSubstr("The import \"helper\""));
    EXPECT_THAT(words, ::testing::HasSubstr("--library NAME"));
    EXPECT_THAT(words, ::testing::Not(::testing::HasSubstr("library helper")));
  }
}

TEST(MissingImport, SaysHowToRequestTheLibrary) {
  EXPECT_EQ(MissingImportWords(kPython, {"PIL", "pillow"}),
            "The import \"PIL\" is in the library \"pillow\": ask for it with "
            "--library pillow, or \"libraries\": [\"pillow\"] in the request.");
  EXPECT_THAT(
      MissingImportWords(Ecosystem::kJava, {"org.json", "org.json:json"}),
      ::testing::HasSubstr("--library org.json:json:VERSION"));
}

}  // namespace
}  // namespace sandglass::policy
