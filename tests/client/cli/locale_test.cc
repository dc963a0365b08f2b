// The binary with locales that aren't UTF-8, and names that aren't either.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using testing::WriteFile;

constexpr char kLatin1[] = "LC_ALL=de_DE.ISO-8859-1";

// U+46C6 has a byte that is the control CSI in ISO 8859-1.
constexpr char kText[] = "\xc3\xa4 \xe4\x9b\x86 31m\n";

SubprocessResult RunWith(const std::string& locale, bool terminal) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data(kText);
  daemon.Answer(response);
  SubprocessOptions options =
      daemon.Client({"run", "-q", "-l", "py", "-c", "x", "--no-stream"});
  options.terminal = terminal;
  options.env.push_back(locale);
  return RunProcess(options);
}

TEST(CliLocaleTest, ATerminalOfAnotherCharacterSetGetsAscii) {
  EXPECT_EQ(RunWith(kLatin1, true).out, "\\u00e4 \\u46c6 31m\n");
  EXPECT_EQ(RunWith("LANG=ja_JP.eucJP", true).out, "\\u00e4 \\u46c6 31m\n");
  // Programs that read it get what was printed.
  EXPECT_EQ(RunWith(kLatin1, false).out, kText);
}

TEST(CliLocaleTest, ALocaleThatNamesNoneSaysNothingOfTheTerminal) {
  for (const char* locale :
       {"LC_ALL=C", "LC_ALL=POSIX", "LC_ALL=no_SUCH", "LC_ALL=de_DE.UTF-8",
        "LC_ALL=de_DE.utf8@euro", "LC_CTYPE=UTF-8", "LC_ALL="}) {
    EXPECT_EQ(RunWith(locale, true).out, kText) << locale;
  }
}

TEST(CliLocaleTest, NamesOfFilesMayBeAnyBytes) {
  FakeDaemon daemon;
  WriteFile(daemon.directory().Path("b\xe4r.py"), "print(1)");
  for (const char* locale : {"LC_ALL=C", kLatin1, "LC_ALL=C.UTF-8"}) {
    SubprocessOptions options = daemon.Client({"run", "b\xe4r.py"});
    options.env.push_back(locale);
    SubprocessResult result = RunProcess(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    // In the jail a name is UTF-8.
    options.args = {"run", "-l", "py", "-c", "x", "--file", "b\xe4r.py"};
    result = RunProcess(options);
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, HasSubstr("b\\xe4r.py"));
    options.args.back() = "x.py=b\xe4r.py";
    EXPECT_EQ(RunProcess(options).exit_code, 0);
  }
}

}  // namespace
}  // namespace sandglass::client
