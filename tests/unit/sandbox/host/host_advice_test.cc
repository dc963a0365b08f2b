#include "sandbox/host/host_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace sandglass::sandbox {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRefused[] = "trial failed: Operation not permitted";

// A host where nothing is missing but `missing`, each for the reason after it.
HostReport Lacking(
    const std::vector<std::pair<std::string, std::string>>& missing) {
  HostReport report;
  for (const char* name :
       {"user-namespace", "pid-namespace", "network-namespace",
        "mount-namespace", "mount-api", "fresh-proc", "landlock",
        "memory-limit", "pids-limit", "cpu-limit", "cgroup-kill"}) {
    report.layers.push_back({name, LayerState::kInForce, true, "fine"});
    for (const auto& [layer, reason] : missing) {
      if (layer != name) continue;
      report.layers.back().state = LayerState::kNotAvailable;
      report.layers.back().detail = reason;
    }
  }
  return report;
}

std::string Advice(
    const std::vector<std::pair<std::string, std::string>>& missing,
    const Surroundings& around) {
  return std::string(CheckMissing(Lacking(missing), around).message());
}

TEST(HostAdvice, NothingMissingIsNoError) {
  EXPECT_TRUE(CheckMissing(Lacking({}), {}).ok());
  EXPECT_TRUE(CheckMissing(Lacking({}), {.container = true}).ok());
}

TEST(HostAdvice, LayersWithOneReasonAreNamedTogetherInOneLine) {
  EXPECT_EQ(
      Advice({{"pid-namespace", kRefused},
              {"network-namespace", kRefused},
              {"cgroup-kill", "can't make a group in /g"}},
             {.container = true, .missing_rights = {"SYS_ADMIN"}}),
      "this host lacks required isolation: pid-namespace, network-namespace "
      "(trial failed: Operation not permitted); cgroup-kill (can't make a "
      "group in /g). This is a container: it lacks CAP_SYS_ADMIN (--cap-add); "
      "its control groups can't be used (--cgroupns=private, and writable). "
      "See docs/container.md");
}

TEST(HostAdvice, AContainerWithTheRightsHasAFilter) {
  EXPECT_THAT(Advice({{"mount-namespace", kRefused}}, {.container = true}),
              AllOf(HasSubstr("seccomp="), EndsWith("See docs/container.md")));
}

TEST(HostAdvice, MaskedProcIsNamed) {
  EXPECT_THAT(Advice({{"fresh-proc", kRefused}}, {.container = true}),
              AllOf(HasSubstr("/proc is masked"), HasSubstr("systempaths="),
                    EndsWith("See docs/container.md")));
  EXPECT_THAT(
      Advice({{"fresh-proc", kRefused}}, {}),
      AllOf(HasSubstr("/proc is masked"), EndsWith("See docs/container.md")));
}

TEST(HostAdvice, RightsAloneAreEnoughToFail) {
  EXPECT_EQ(
      Advice({}, {.container = true, .missing_rights = {"CHOWN", "SETUID"}}),
      "root can't make jails here. This is a container: it lacks "
      "CAP_CHOWN, CAP_SETUID (--cap-add). See docs/container.md");
}

TEST(HostAdvice, NoUserNamespacesNamesTheSetting) {
  EXPECT_THAT(
      Advice({{"user-namespace", "trial failed: No space left on device"},
              {"pid-namespace", kRefused}},
             {}),
      AllOf(HasSubstr("user.max_user_namespaces"),
            EndsWith("See docs/rootless.md")));
}

TEST(HostAdvice, AContainerOnAHostWithoutUserNamespacesHearsOfTheSetting) {
  EXPECT_THAT(
      Advice({{"user-namespace", "trial failed: No space left on device"}},
             {.container = true}),
      AllOf(HasSubstr("user.max_user_namespaces"),
            EndsWith("See docs/container.md")));
}

TEST(HostAdvice, AChrootIsNamedAndNoSetting) {
  for (const bool container : {false, true}) {
    EXPECT_THAT(
        Advice({{"user-namespace", kRefused}},
               {.container = container, .chroot = true}),
        AllOf(HasSubstr("This is a chroot"), HasSubstr("systemd-nspawn -D"),
              Not(HasSubstr("max_user_namespaces"))));
  }
  // There it is something else.
  EXPECT_THAT(
      Advice({{"cgroup-kill", "can't make a group in /g"}}, {.chroot = true}),
      HasSubstr("Delegate=yes"));
}

TEST(HostAdvice, SeesTheChrootThatItIsIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(ReadSurroundings().chroot);
  const testing::TempDir root;  // any directory that has a /usr
  ASSERT_EQ(::mkdir((root.path() + "/usr").c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(root.path().c_str()) != 0 || ::chroot(".") != 0) ::_exit(2);
    ::_exit(ReadSurroundings().chroot ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HostAdvice, NoDelegationNamesTheUnitsWord) {
  EXPECT_THAT(Advice({{"cgroup-kill", "can't make a group in /g"}}, {}),
              AllOf(HasSubstr("Delegate=yes"), HasSubstr("cgroup_parent"),
                    EndsWith("See docs/rootless.md")));
}

TEST(HostAdvice, AnExcuseIsOfferedOnlyWhereItHelps) {
  EXPECT_THAT(
      Advice({{"landlock", "not built in"}}, {}),
      AllOf(HasSubstr("docs/security.md"), EndsWith("--excuse-missing NAME")));
  EXPECT_THAT(
      Advice({{"landlock", "not built in"}, {"fresh-proc", kRefused}}, {}),
      Not(HasSubstr("--excuse-missing")));
}

}  // namespace
}  // namespace sandglass::sandbox
