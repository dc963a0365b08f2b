// What one caller did is not told to another.

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = "int main() { return 0; }";

class CallersApart : public OwnDaemonTest {
 protected:
  // The command line tool as another account; all that it printed.
  std::string As(int uid, const std::string& words) {
    return RunShell(absl::StrCat(
        "exec 2>&1; SANDGLASS_ADDRESS=", daemon().address(),
        " setpriv --reuid ", uid, " --regid ", uid, " --clear-groups ",
        SANDGLASS_BINARY, " ", words, " </dev/null"));
  }
  std::string Compile(int uid, const std::string& more = "") {
    return As(uid, absl::StrCat("run -l cpp ", more, " -c '", kProgram, "'"));
  }
};

TEST_F(CallersApart, EachHasWhatItsOwnRunsCompiled) {
  const std::string policy = MakeTestDirectory();
  std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy,
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing);
  WriteFile(policy + "/profiles/open.json",
            R"({"description": "d", "compile_cache": "shared"})");
  const std::string cache = MakeCacheDirectory();
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"socket": {"mode": "0666"}})",
                   .extra_arguments = {"--policy-dir", policy},
                   .cache_directory = cache}));
  constexpr char kHit[] = "(compiled before)";
  EXPECT_THAT(Compile(2001), Not(HasSubstr(kHit)));
  EXPECT_THAT(Compile(2001), HasSubstr(kHit));
  EXPECT_THAT(Compile(2002), Not(HasSubstr(kHit)));
  EXPECT_THAT(Compile(2002), HasSubstr(kHit));
  // Where the profile says so all share.
  EXPECT_THAT(Compile(2001, "--profile open"), Not(HasSubstr(kHit)));
  EXPECT_THAT(Compile(2002, "--profile open"), HasSubstr(kHit));
  StopDaemon();
  std::filesystem::remove_all(policy);
  std::filesystem::remove_all(cache);
}

}  // namespace
}  // namespace sandglass::testing
