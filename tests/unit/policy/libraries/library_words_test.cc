#include "policy/libraries/library_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Why(Ecosystem ecosystem, std::string_view output) {
  return LibraryFailureWords(ecosystem, 1, output);
}

TEST(CleanInstallerLine, TakesNamesAndPasswordsOutOfAddresses) {
  EXPECT_EQ(CleanInstallerLine("GET https://me:pa@ss@example.test/six, "
                               "http://token@example.test:81?a=b@c"),
            "GET https://example.test/six, http://example.test:81?a=b@c");
  EXPECT_EQ(CleanInstallerLine("https://example.test/@types/node"),
            "https://example.test/@types/node");
  EXPECT_EQ(CleanInstallerLine("https://me@"), "https://");
}

TEST(CleanInstallerLine, IsCutBehindWhatIsTakenOut) {
  const std::string secret(600, 's');
  EXPECT_EQ(CleanInstallerLine("https://" + secret + "@example.test/"),
            "https://example.test/");
  const std::string cut = CleanInstallerLine(std::string(5000, 'x'));
  EXPECT_THAT(cut, SizeIs(400));
  EXPECT_EQ(cut.substr(396), "x...");
}

TEST(CleanInstallerLine, IsPrintable) {
  EXPECT_EQ(CleanInstallerLine("\x1b[1;31merror\x1b[0m \xc3\x97 a\tb\x01\r"),
            "error ? a b?");
  EXPECT_EQ(CleanInstallerLine("end\x1b[1"), "end");
  EXPECT_EQ(CleanInstallerLine("end\x1b"), "end");
}

TEST(IsLibraryProgress, RecognisesProgressOfEachTool) {
  EXPECT_TRUE(IsLibraryProgress(Ecosystem::kPython, "Collecting six==1.16.0"));
  EXPECT_TRUE(IsLibraryProgress(Ecosystem::kPython,
                                "  Downloading six-1.16.0-py2.py3-none-any.whl "
                                "(11 kB)"));
  EXPECT_FALSE(
      IsLibraryProgress(Ecosystem::kPython, "Looking in links: /opt/wheels"));
  EXPECT_FALSE(IsLibraryProgress(
      Ecosystem::kPython, "ERROR: No matching distribution found for six"));
  EXPECT_TRUE(IsLibraryProgress(
      Ecosystem::kNode,
      "npm http fetch GET 200 https://example.test/left-pad 62ms"));
  EXPECT_FALSE(IsLibraryProgress(Ecosystem::kNode, "npm error code E404"));
  EXPECT_TRUE(IsLibraryProgress(Ecosystem::kGo,
                                "go: downloading golang.org/x/text v0.3.7"));
  EXPECT_FALSE(IsLibraryProgress(Ecosystem::kGo, "go: x@v9: invalid version"));
  EXPECT_TRUE(IsLibraryProgress(Ecosystem::kRuby,
                                "Successfully installed xq-sample-1.2.0"));
  EXPECT_TRUE(IsLibraryProgress(Ecosystem::kJava,
                                "\tfound junit#junit;4.13.2 in registry"));
  EXPECT_FALSE(IsLibraryProgress(Ecosystem::kJava, ":: problems summary ::"));
}

TEST(LibraryFailureWords, NameTheMissingVersionOfPip) {
  EXPECT_EQ(
      Why(Ecosystem::kPython,
          "Looking in indexes: https://me:secret@example.test/simple\n"
          "ERROR: Could not find a version that satisfies the requirement "
          "six==99.0 (from versions: 1.15.0, 1.16.0, 1.17.0)\n"
          "ERROR: No matching distribution found for six==99.0\n"),
      "ERROR: Could not find a version that satisfies the requirement "
      "six==99.0 (from versions: 1.15.0, 1.16.0, 1.17.0)\n"
      "ERROR: No matching distribution found for six==99.0");
}

TEST(LibraryFailureWords, NameTheConflictOfPip) {
  EXPECT_EQ(
      Why(Ecosystem::kPython,
          "Collecting requests==2.31.0\n"
          "  Downloading requests-2.31.0-py3-none-any.whl (62 kB)\n"
          "\nThe conflict is caused by:\n"
          "    The user requested urllib3<1.0\n"
          "    requests 2.31.0 depends on urllib3<3 and >=1.21.1\n"
          "ERROR: Cannot install requests==2.31.0 and urllib3<1.0 because "
          "these package versions have conflicting dependencies.\n"
          "ERROR: ResolutionImpossible: for help visit "
          "https://example.test/#dealing-with-dependency-conflicts\n"),
      "The conflict is caused by:\n"
      "    The user requested urllib3<1.0\n"
      "ERROR: Cannot install requests==2.31.0 and urllib3<1.0 because these "
      "package versions have conflicting dependencies.\n"
      "    requests 2.31.0 depends on urllib3<3 and >=1.21.1");
}

TEST(LibraryFailureWords, NameThePackageThatPipCannotBuild) {
  const std::string words =
      Why(Ecosystem::kPython,
          "  Preparing metadata (setup.py): started\n"
          "  error: subprocess-exited-with-error\n  \n"
          "  \xc3\x97 python setup.py egg_info did not run successfully.\n"
          "  \xe2\x94\x82 exit code: 1\n"
          "  \xe2\x95\xb0\xe2\x94\x80> [15 lines of output]\n"
          "      The 'sklearn' PyPI package is deprecated, use 'scikit-learn'\n"
          "      rather than 'sklearn' for pip commands.\n"
          "      [end of output]\n  \n"
          "  note: This error originates from a subprocess, and is likely not "
          "a problem with pip.\n"
          "error: metadata-generation-failed\n");
  EXPECT_THAT(words, StartsWith("  error: subprocess-exited-with-error\n"
                                "error: metadata-generation-failed\n"));
  EXPECT_THAT(words, HasSubstr("'sklearn' PyPI package is deprecated"));
  EXPECT_THAT(words, HasSubstr("  ? exit code: 1\n  ?"
                               "?> [15 lines"));
  EXPECT_THAT(words, Not(HasSubstr("note:")));
}

TEST(LibraryFailureWords, NameTheErrorOfNpm) {
  EXPECT_EQ(
      Why(Ecosystem::kNode,
          "npm warn Unknown user config \"nodedir\".\n"
          "npm http fetch GET 200 https://example.test/left-pad 62ms\n"
          "npm error code ETARGET\n"
          "npm error notarget No matching version found for left-pad@99.\n"
          "npm error A complete log of this run can be found in: "
          "/tmp/npm/_logs/debug-0.log\n"),
      "npm error code ETARGET\n"
      "npm error notarget No matching version found for left-pad@99.");
  EXPECT_EQ(
      Why(Ecosystem::kNode,
          "npm error code E404\n"
          "npm error 404 Not Found - GET "
          "https://u:secret@example.test/@nowhere%2fno-such\n"
          "npm error 404\n"
          "npm error 404  The requested resource '@nowhere/no-such@*' could "
          "not be found or you do not have permission to access it.\n"
          "npm error 404\n"
          "npm error 404 Note that you can also install from a\n"
          "npm error 404 tarball, folder, http url, or git url.\n"),
      "npm error code E404\n"
      "npm error 404 Not Found - GET https://example.test/@nowhere%2fno-such\n"
      "npm error 404\n"
      "npm error 404  The requested resource '@nowhere/no-such@*' could not be "
      "found or you do not have permission to access it.");
}

TEST(LibraryFailureWords, NameTheConflictOfNpm) {
  EXPECT_EQ(Why(Ecosystem::kNode,
                "npm error code ERESOLVE\n"
                "npm error\n"
                "npm error Found: react@16.0.0\n"
                "npm error peer react@\"^18.2.0\" from react-dom@18.2.0\n"
                "npm error\n"
                "npm error For a full report see:\n"
                "npm error /tmp/npm/_logs/eresolve-report.txt\n"),
            "npm error code ERESOLVE\n"
            "npm error Found: react@16.0.0\n"
            "npm error peer react@\"^18.2.0\" from react-dom@18.2.0");
}

TEST(LibraryFailureWords, NameTheErrorOfGo) {
  EXPECT_EQ(
      Why(Ecosystem::kGo,
          "go: downloading golang.org/x/tools v0.1.0\n"
          "go: golang.org/x/text@v9.9.9: reading https://u:p@example.test/"
          "golang.org/x/text/@v/v9.9.9.info: 403 Forbidden\n"
          "\tserver response: This module version is not available.\n"),
      "go: golang.org/x/text@v9.9.9: reading https://example.test/"
      "golang.org/x/text/@v/v9.9.9.info: 403 Forbidden\n"
      " server response: This module version is not available.");
}

TEST(LibraryFailureWords, NameTheErrorOfGem) {
  EXPECT_EQ(
      Why(Ecosystem::kRuby,
          "ERROR:  Could not find a valid gem 'rack' (= 2.2.3), here is why:\n"
          "          Unable to download data from https://u:p@example.test/ - "
          "SocketError: Failed to open TCP connection\n"),
      "ERROR:  Could not find a valid gem 'rack' (= 2.2.3), here is why:\n"
      "          Unable to download data from https://example.test/ - "
      "SocketError: Failed to open TCP connection");
}

TEST(LibraryFailureWords, NameTheErrorOfIvy) {
  EXPECT_EQ(Why(Ecosystem::kJava,
                ":: loading settings :: file = /tmp/ivy/settings.xml\n"
                ":: resolving dependencies :: sandglass#libraries;1\n"
                "\tconfs: [default]\n"
                "\tfound org.hamcrest#hamcrest-core;1.3 in registry\n"
                ":: problems summary ::\n"
                ":::: WARNINGS\n"
                "\t\tmodule not found: junit#junit;99.9\n"
                "\n"
                "\t==== registry: tried\n"
                "\n"
                "\t  https://u:p@example.test/junit/junit/99.9/junit-99.9.pom\n"
                "\n"
                "\t  -- artifact junit#junit;99.9!junit.jar:\n"
                "\n"
                "\t\t::::::::::::::::::::::::::::::::::::::::::::::\n"
                "\t\t::          UNRESOLVED DEPENDENCIES         ::\n"
                "\t\t:: junit#junit;99.9: not found\n"
                "\t\t::::::::::::::::::::::::::::::::::::::::::::::\n"
                ":::: ERRORS\n"
                "\tServer access error at url https://example.test/junit.pom "
                "(java.net.ConnectException: Connection refused)\n"),
            "  module not found: junit#junit;99.9\n"
            " Server access error at url https://example.test/junit.pom "
            "(java.net.ConnectException: Connection refused)\n"
            "   https://example.test/junit/junit/99.9/junit-99.9.pom");
}

TEST(LibraryFailureWords, EndWithTheLastLinesOfTheOutput) {
  std::string output = "ERROR: it failed\n";
  for (int i = 0; i < 1000; ++i) {
    output += "line " + std::to_string(i) + "\n";
  }
  const std::string words = Why(Ecosystem::kPython, output);
  EXPECT_LE(words.size(), kMaxFailureWords);
  EXPECT_THAT(words, StartsWith("ERROR: it failed\nline "));
  EXPECT_THAT(words, HasSubstr("\nline 998\nline 999"));
  EXPECT_THAT(words, Not(HasSubstr("line 0\n")));
}

TEST(LibraryFailureWords, AreBoundedWhateverTheToolSays) {
  std::string output;
  for (int i = 0; i < 1000; ++i) {
    output += "ERROR: number " + std::to_string(i) + std::string(300, '!');
    output += "\n";
  }
  for (const Ecosystem ecosystem : kEcosystems) {
    EXPECT_LE(Why(ecosystem, output).size(), kMaxFailureWords);
  }
}

TEST(LibraryFailureWords, AreNeverEmpty) {
  EXPECT_EQ(LibraryFailureWords(Ecosystem::kNode, 137, "\n \n"),
            "the installer ended with status 137 and did not say why");
}

}  // namespace
}  // namespace sandglass::policy
