// What a process of a jail's has when it looks up its first path, watched from
// outside: no descriptor that leads out, and every wall around it.

#include <sys/statvfs.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/landlock.h"
#include "tests/e2e/exec/exec_fixture.h"
#include "tests/security/posture/start_watch.h"
#include "tests/support/calls/idle_jails.h"
#include "tests/support/calls/warm.h"

namespace sandglass::testing {
namespace {

constexpr char kNoCapabilities[] = "0000000000000000";
constexpr absl::Duration kSettle = absl::Seconds(20);

class StartOrder : public Exec {
 protected:
  // The init of the session's jail, as the host sees it.
  pid_t InitOfSession() {
    const std::string id = Begin(Background("exec sleep 97531"));
    std::vector<Process> sleeping;
    EXPECT_TRUE(WaitUntil(
        [&] {
          sleeping = FindByCommand(daemon().pid(), "sleep 97531");
          return sleeping.size() == 1;
        },
        kSettle));
    if (sleeping.size() != 1) return -1;
    pid_t parent = -1;
    EXPECT_TRUE(absl::SimpleAtoi(StatusOf(sleeping[0].pid)["PPid"], &parent));
    return parent;
  }

  // The walls of a process of the code's, but for the descriptors.
  static void ExpectWalls(const PathLookup& lookup) {
    EXPECT_EQ(lookup.seccomp, "2") << Describe(lookup);
    EXPECT_EQ(lookup.no_new_privs, "1") << Describe(lookup);
    EXPECT_EQ(lookup.capabilities, kNoCapabilities) << Describe(lookup);
    EXPECT_TRUE(lookup.restricted_by_landlock || os::LandlockAbi() == 0)
        << Describe(lookup);
  }

  // Nothing of the host's is open: streams, one more where there is a channel,
  // and the jail's own root, which a directory is looked up in.
  static void ExpectNoWayOut(const PathLookup& lookup) {
    for (const auto& [number, target] : lookup.directories) {
      EXPECT_EQ(target, "/") << Describe(lookup);
    }
    for (const auto& [number, target] : lookup.files) {
      EXPECT_TRUE(target == "/" || target == "/dev/null" ||
                  absl::StartsWith(target, "/dev/pts/") ||
                  absl::StartsWith(target, "pipe:") ||
                  absl::StartsWith(target, "socket:") ||
                  absl::StartsWith(target, "anon_inode:"))
          << Describe(lookup);
    }
  }

  static bool Has(const std::vector<PathLookup>& lookups,
                  const std::string& call, const std::string& path) {
    return std::any_of(lookups.begin(), lookups.end(), [&](const auto& l) {
      return l.call == call && l.path == path;
    });
  }
};

TEST_F(StartOrder, ACommandLooksUpItsDirectoryAndProgramBehindEveryWall) {
  ASSERT_EQ(Execute("mkdir -p /workspace/below/here").outcome(),
            v1::OUTCOME_OK);
  const pid_t init = InitOfSession();
  ASSERT_GT(init, 0);
  StartWatch watch(init);
  ASSERT_TRUE(watch.attached());

  v1::ExecSpec plain = Argv(session().id(), {"pwd"});
  plain.set_directory("below/here");
  EXPECT_EQ(Execute(plain).out(), "/workspace/below/here\n");
  v1::ExecSpec terminal = Command("pwd");
  terminal.set_directory("/tmp");
  terminal.mutable_terminal()->set_rows(20);
  EXPECT_THAT(Execute(terminal).out(), ::testing::HasSubstr("/tmp"));
  v1::ExecSpec missing = Argv(session().id(), {"none-of-this-name"});
  EXPECT_FALSE(Execute(missing).status.ok());

  const std::vector<PathLookup> lookups = watch.lookups();
  EXPECT_TRUE(Has(lookups, "openat2", "/workspace/below/here"));
  EXPECT_TRUE(Has(lookups, "openat2", "/tmp"));
  EXPECT_TRUE(Has(lookups, "execve", "/usr/bin/pwd") ||
              Has(lookups, "execve", "/bin/pwd"));
  for (const PathLookup& lookup : lookups) {
    ExpectWalls(lookup);
    ExpectNoWayOut(lookup);
  }
}

TEST_F(StartOrder, TheFileAgentStartsToServeBehindEveryWall) {
  const pid_t init = InitOfSession();
  ASSERT_GT(init, 0);
  StartWatch watch(init);
  ASSERT_TRUE(watch.attached());
  // The first call of the session's files starts their agent.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  v1::StatFileRequest stat;
  stat.set_session_id(session().id());
  stat.set_path("/workspace");
  v1::StatFileResponse answer;
  const auto files = v1::FileService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  EXPECT_THAT(files->StatFile(&context, stat, &answer), IsOk());

  const std::vector<PathLookup> lookups = watch.lookups();
  ASSERT_FALSE(lookups.empty());
  for (const PathLookup& lookup : lookups) {
    ExpectWalls(lookup);
    ExpectNoWayOut(lookup);
  }
}

TEST_F(StartOrder, AWaitingInterpreterHasNothingOfTheHostsInItsJail) {
  ASSERT_TRUE(
      WaitUntil([] { return HadRunner(Run(Python("print(1)"))); }, kSettle));
  std::vector<std::unique_ptr<StartWatch>> watches;
  for (const Process& zygote : daemon().Processes()) {
    if (!absl::StartsWith(CommandOf(zygote.pid), "sandglass-zygote")) continue;
    watches.push_back(std::make_unique<StartWatch>(zygote.pid));
    EXPECT_TRUE(watches.back()->attached());
  }
  ASSERT_FALSE(watches.empty());
  // Each takes a jail that waited, which is made anew.
  const auto seen = [&] {
    std::vector<PathLookup> all;
    for (const auto& watch : watches) {
      const std::vector<PathLookup> some = watch->lookups();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  EXPECT_TRUE(WaitUntil(
      [&] {
        EXPECT_THAT(Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
        return Has(seen(), "chdir", "/workspace");
      },
      kSettle));
  bool in_jail = false;
  for (const PathLookup& lookup : seen()) {
    if (!lookup.joined_namespaces) {
      // The zygote's own /proc, before the jail is entered.
      EXPECT_EQ(lookup.path, "/proc/self/oom_score_adj") << Describe(lookup);
      continue;
    }
    in_jail = true;
    EXPECT_EQ(lookup.capabilities, kNoCapabilities) << Describe(lookup);
    EXPECT_EQ(lookup.no_new_privs, "1") << Describe(lookup);
    EXPECT_THAT(lookup.directories, ::testing::IsEmpty()) << Describe(lookup);
    if (lookup.call == "chdir") ExpectWalls(lookup);
  }
  EXPECT_TRUE(in_jail);
}

// The one file of the host's that a process which an init starts can name:
// what it still is, before its exec.
TEST_F(StartOrder, TheSpawnersFileCantBeExecutedAgain) {
  const pid_t init = InitOfSession();
  ASSERT_GT(init, 0);
  struct statvfs file = {};
  ASSERT_EQ(::statvfs(absl::StrCat("/proc/", init, "/exe").c_str(), &file), 0);
  EXPECT_NE(file.f_flag & ST_NOEXEC, 0u);
  EXPECT_NE(file.f_flag & ST_RDONLY, 0u);
  EXPECT_NE(file.f_flag & ST_NOSUID, 0u);

  EXPECT_FALSE(Execute(Argv(session().id(), {"/proc/self/exe"})).status.ok());
  ASSERT_EQ(Execute("ln -s /proc/self/exe link; printf '#!/proc/self/exe\\n' >"
                    " script; chmod +x script")
                .outcome(),
            v1::OUTCOME_OK);
  for (const char* name : {"./link", "./script", "/workspace/link"}) {
    EXPECT_FALSE(Execute(Argv(session().id(), {name})).status.ok()) << name;
  }
}

}  // namespace
}  // namespace sandglass::testing
