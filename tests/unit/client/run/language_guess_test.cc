#include "client/run/language_guess.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

struct Case {
  const char* file;
  const char* code;
  const char* language;
};

TEST(GuessLanguageTest, PrefersTheExtensionToTheShebang) {
  const std::vector<Case> cases = {
      {"a.py", "", "python"},
      {"/x.d/A.PY", "", "python"},
      {"a.sh", "", "bash"},
      {"a.py", "#!/bin/bash\n", "python"},
      {"tool", "#!/usr/bin/python3\nprint(1)", "python"},
      {"tool", "#!/usr/bin/python3.11 -u\n", "python"},
      {"tool.d/tool", "#!/bin/sh", "bash"},
      {"tool", "#! /usr/bin/env python3\r\n", "python"},
      {"tool", "#!/usr/bin/env -S LANG=C bash -eu\n", "bash"},
      {"tool.txt", "#!/bin/bash\n", "bash"},
      {"", "#!/bin/bash\n", "bash"}};
  for (const Case& test : cases) {
    const auto guess = GuessLanguage(test.file, test.code, FakeInfo());
    ASSERT_TRUE(guess.ok()) << test.file << ": " << guess.status();
    EXPECT_EQ(*guess, test.language) << test.file << " " << test.code;
  }
}

TEST(GuessLanguageTest, ExplainsWhyNoLanguageIsFound) {
  EXPECT_EQ(GuessLanguage("a.xyz", "code", FakeInfo()).status().message(),
            "cannot tell the program's language: no language has the "
            "extension '.xyz' and it has no #! line; give --lang with one of: "
            "python, bash");
  EXPECT_EQ(GuessLanguage("main.rs", "code", FakeInfo()).status().message(),
            "cannot tell the program's language: '.rs' is Rust, which this "
            "daemon does not offer: a file languages/rust.json in the daemon's "
            "policy_dir adds it (Debian package rustc) and it has no #! line; "
            "give --lang with one of: python, bash");
  EXPECT_EQ(
      GuessLanguage("", "#!/bin/per\x1bl5\n", FakeInfo()).status().message(),
      "cannot tell the program's language: no language is called "
      "'per\\x1bl5' as its #! line says; give --lang with one of: "
      "python, bash");
  for (const char* code : {"#!", "#!\n", "#!/usr/bin/env\n", "#!env -S\n",
                           "#!/1.2\n", "print('#!/bin/sh')"}) {
    EXPECT_FALSE(GuessLanguage("x", code, FakeInfo()).ok()) << code;
  }
  EXPECT_FALSE(GuessLanguage(".py", "", FakeInfo()).ok());
  EXPECT_FALSE(GuessLanguage("a.py", "", v1::GetServerInfoResponse()).ok());
}

}  // namespace
}  // namespace sandglass::client
