// A live jail as the host sees it: every process of ours, compared line by line
// with the files of tests/security/posture. A jail that got weaker fails here
// even when nobody wrote an attack for it.
//
// SANDGLASS_POSTURE_UPDATE=1 writes the files anew, for review.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/os/fd.h"
#include "tests/security/posture/posture_kinds.h"
#include "tests/support/calls/expectation.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/posture/posture_facts.h"
#include "tests/support/posture/posture_scene.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(20);
constexpr absl::Duration kTurn = absl::Seconds(2);
constexpr char kThreads[] = "'s threads";

// NOLINTNEXTLINE(concurrency-mt-unsafe)
bool Updates() { return std::getenv("SANDGLASS_POSTURE_UPDATE") != nullptr; }

bool HasOnlyV2() {
  for (const std::string& group : GroupsOf(getpid())) {
    if (absl::StartsWith(group, "memory:") ||
        absl::StrContains(group, ",memory")) {
      return false;
    }
  }
  return true;
}

// By which a spawner hears of jails that are out of memory, from v1.
constexpr char kOutOfMemory[] = "fds eventfd, rw cloexec";

// The files say of control groups what a host with those of v1 has.
bool IsOfGroups(const std::string& key) {
  return absl::StartsWith(key, "group ") ||
         absl::StartsWith(key, "in group ") ||
         absl::StartsWith(key, "fds group ");
}

std::set<std::string> Conditions(const Scene& scene) {
  std::set<std::string> conditions;
  if (scene.rootless()) conditions.insert("rootless");
  if (PoolIsOff()) conditions.insert("without-pool");
  return conditions;
}

Placeholders PlaceholdersOf(const Daemon& daemon, const Scene& scene,
                            const std::string& marker) {
  std::error_code error;
  const std::string binaries =
      std::filesystem::read_symlink(
          absl::StrCat("/proc/", scene.daemon().pid, "/exe"), error)
          .parent_path()
          .string();
  const std::string installed =
      (std::filesystem::path(binaries).parent_path() / "libexec/sandglass")
          .string();
  Placeholders placeholders = {{daemon.directory(), "DIRECTORY"},
                               {binaries + "/sandglass", "BINARIES/sandglass"},
                               // Where a package has the helpers.
                               {installed + "/sandglass", "BINARIES/sandglass"},
                               // As rootless_daemon.sh calls its own.
                               {CACHE_DIR "-rootless", "CACHE"},
                               {CACHE_DIR, "CACHE"},
                               {scene.instance(), "OURS"}};
  if (!marker.empty()) placeholders.emplace_back(marker, "MARKER");
  return placeholders;
}

// What one role has otherwise than its section says.
struct Subject {
  std::string role;
  std::string yard;  // "" is any
  std::string base;  // of a new section
};

class Comparison {
 public:
  Comparison(const Daemon& daemon, std::string file, std::string marker,
             pid_t inside)
      : daemon_(daemon),
        file_(std::move(file)),
        marker_(std::move(marker)),
        inside_(inside) {}

  // Until all is as it should be: pools fill, and threads come and go.
  // `turn_over` uses up what waits in a shape that was asked for before.
  std::string Run(const std::vector<Subject>& subjects,
                  const std::function<void()>& turn_over = {}) {
    if (HasOnlyV2()) {
      std::cout << "This host has control groups of v2 alone: lines about "
                   "groups are not compared.\n";
    }
    if (Updates()) {
      absl::SleepFor(absl::Seconds(6));
      Look(subjects, true);
    }
    std::string different;
    absl::Time next = absl::Now() + kTurn;
    WaitUntil(
        [&] {
          different = Look(subjects, false);
          if (different.empty()) return true;
          if (turn_over && absl::Now() > next) {
            turn_over();
            next = absl::Now() + kTurn;
          }
          return false;
        },
        kSettle);
    return different;
  }

 private:
  std::string Look(const std::vector<Subject>& subjects, bool update) {
    const Scene scene(daemon_.pid(), marker_, inside_);
    Expectations expectations(POSTURE_DIR, Conditions(scene));
    const Placeholders placeholders = PlaceholdersOf(daemon_, scene, marker_);
    const bool only_v2 = HasOnlyV2();
    std::string text;
    const auto compare = [&](const Subject& subject, const std::string& role,
                             Facts facts, const Member& member) {
      const auto of_groups = [&](const std::string& key) {
        return IsOfGroups(key) || (role == "spawner" && key == kOutOfMemory);
      };
      const auto known = [&](const std::string& key) {
        return HostKnows(scene, key) && !(only_v2 && of_groups(key));
      };
      if (only_v2) {
        std::erase_if(facts,
                      [&](const auto& fact) { return of_groups(fact.first); });
      }
      if (update) {
        expectations.Update(file_, role, subject.base, facts, known);
      }
      const std::vector<std::string> lines =
          expectations.Compare(file_, role, facts, known);
      if (lines.empty()) return;
      absl::StrAppend(&text, file_, ".txt [", role, "], ",
                      Describe(Process{member.pid, 0}), ":\n  ",
                      absl::StrJoin(lines, "\n  "), "\n");
    };
    for (const Subject& subject : subjects) {
      const std::vector<const Member*> members =
          scene.WithRole(subject.role, subject.yard);
      if (members.empty()) {
        absl::StrAppend(&text, file_, ".txt [", subject.role,
                        "]: there is no such process\n");
      }
      for (const Member* member : members) {
        compare(subject, subject.role, FactsOf(scene, *member, placeholders),
                *member);
        const Facts threads = ThreadFactsOf(scene, *member);
        if (!threads.empty()) {
          Subject rest = subject;
          rest.base = "";
          compare(rest, subject.role + kThreads, threads, *member);
        }
        if (update) break;
      }
    }
    for (const Member& member : scene.members()) {
      if (!member.role.empty() || !FindProcess(member.pid)) continue;
      absl::StrAppend(&text, "a process of unknown role: ",
                      Describe(Process{member.pid, 0}), "\n");
    }
    if (update) {
      EXPECT_TRUE(expectations.Save());
    }
    return text;
  }

  const Daemon& daemon_;
  const std::string file_;
  const std::string marker_;
  const pid_t inside_;
};

// What is committed is of Debian 12. Of what comes with later releases some
// interpreters and compilers have other threads, descriptors and paths of their
// own; for the rest the version makes no difference.
bool IsOfThisRelease(const std::string& kind) {
  const std::string release = ReadFile("/etc/os-release");
  static const std::set<std::string> of_debian_12 = {"ruby-lean", "java-run",
                                                     "compile", "java-compile"};
  return absl::StrContains(release, "\nID=debian\n") &&
         (absl::StrContains(release, "\nVERSION_ID=\"12\"\n") ||
          !of_debian_12.contains(kind));
}

class Posture : public DaemonTest,
                public ::testing::WithParamInterface<PostureKind> {};

TEST_P(Posture, IsAsCommitted) {
  const PostureKind& kind = GetParam();
  if (!IsOfThisRelease(kind.name)) {
    GTEST_SKIP() << "the committed posture is of Debian 12";
  }
  if (!CanBeHere(kind, client())) GTEST_SKIP() << kind.name << " isn't here";
  ASSERT_TRUE(kind.prepare(client()));
  const LiveJail jail = kind.start(daemon());
  ASSERT_FALSE(::testing::Test::HasFailure());
  std::vector<Subject> subjects;
  for (const auto& [role, base] : kind.roles) {
    if (PoolIsOff() && kRolesOfThePool.contains(role)) continue;
    const bool of_yard =
        role == "spawner" || kRolesOfThePool.contains(role) || role == "zygote";
    subjects.push_back({role, of_yard ? kind.yard : "", base});
  }
  Comparison comparison(daemon(), kind.name, jail.marker, jail.inside);
  EXPECT_EQ(comparison.Run(subjects, [&] { (void)kind.prepare(client()); }),
            "");
}

// Puts a file of the host's into the jail, in a place that the program's
// Landlock rules don't let it read, and in one that they do. Mounts and
// permissions are the same.
bool PlantFiles(pid_t inside) {
  const os::Fd there(
      open(absl::StrCat("/proc/", inside, "/ns/mnt").c_str(), O_CLOEXEC));
  const pid_t child = fork();
  if (child == 0) {
    bool planted = setns(there.get(), CLONE_NEWNS) == 0;
    for (const char* place : {"/var/empty", "/run"}) {
      planted = planted && mount("none", place, "tmpfs", 0, "mode=755") == 0 &&
                chdir(place) == 0;
      const int file = open("a", O_WRONLY | O_CREAT | O_EXCL, 0644);
      planted = planted && write(file, "1", 1) == 1 && close(file) == 0;
    }
    _exit(planted ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// /proc doesn't say who is under Landlock.
class PostureOfPrograms : public Posture {};

TEST_P(PostureOfPrograms, LandlockStandsWhereMountsWouldLetThrough) {
  const PostureKind& kind = GetParam();
  if (!CanBeHere(kind, client())) GTEST_SKIP() << kind.name << " isn't here";
  ASSERT_TRUE(kind.prepare(client()));
  const LiveJail jail = kind.start(daemon());
  const Scene scene(daemon().pid(), jail.marker, jail.inside);
  const std::vector<const Member*> shells = scene.WithRole("grandchild", "");
  ASSERT_EQ(shells.size(), 1U);
  ASSERT_TRUE(PlantFiles(shells[0]->pid));
  const std::string tmp = absl::StrCat("/proc/", shells[0]->pid, "/root/tmp/");
  std::ofstream(tmp + "go") << "\n";
  ASSERT_TRUE(jail.call->ReadUntil("tried"));
  EXPECT_TRUE(std::filesystem::exists(tmp + "a"));
  EXPECT_FALSE(std::filesystem::exists(tmp + "b"));
}

// A compiler can't be asked to try.
std::vector<PostureKind> KindsOfPrograms() {
  std::vector<PostureKind> kinds = PostureKinds();
  std::erase_if(kinds, [](const PostureKind& kind) {
    return absl::StrContains(kind.name, "compile");
  });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds, PostureOfPrograms,
                         ::testing::ValuesIn(KindsOfPrograms()),
                         [](const auto& each) { return each.param.test_name; });
INSTANTIATE_TEST_SUITE_P(Kinds, Posture, ::testing::ValuesIn(PostureKinds()),
                         [](const auto& each) { return each.param.test_name; });

class PostureOfServer : public OwnDaemonTest {};

TEST_F(PostureOfServer, IsAsCommitted) {
  StartDaemon({.extra_arguments = {"--supervise"}});
  ASSERT_FALSE(HasFatalFailure());
  // So that there is one of each descriptor.
  LiveJail jail = PostureKinds().front().start(daemon());
  Comparison comparison(daemon(), "server", jail.marker, 0);
  EXPECT_EQ(comparison.Run({{"daemon", "", ""},
                            {"egress", "", ""},
                            {"policy-reader", "", ""},
                            {"unpacker", "", ""},
                            {"supervisor", "", ""}}),
            "");
  // A daemon that is to end would wait for it.
  jail.call.reset();
  StopDaemon();
}

// Every jail by itself may be as it should, and yet not by itself.
class PostureOfAll : public DaemonTest {};

TEST_F(PostureOfAll, NoTwoJailsHaveAnythingInCommon) {
  const PostureKind& kind = PostureKinds().front();
  const LiveJail first = kind.start(daemon());
  const LiveJail second = kind.start(daemon());
  std::string common;
  // Those in the making are still on their way there.
  EXPECT_TRUE(WaitUntil(
      [&] {
        common.clear();
        const Scene scene(daemon().pid(), first.marker, 0);
        std::map<std::string, std::string> owners;
        size_t jails = 0;
        for (const Member& member : scene.members()) {
          if (member.jail.empty() || scene.Init(member) != &member) continue;
          ++jails;
          std::vector<std::string> own = Lines(ReadProc(member.pid, "uid_map"));
          for (std::string& line : own) {
            line = "uid " + Words(line)[1];
          }
          for (const std::string& group : GroupsOf(member.pid)) {
            if (absl::StrContains(group, scene.instance()))
              own.push_back(group);
          }
          for (const auto& [type, link] : member.namespaces) {
            if (!absl::StartsWith(type, "time") && type != "pid_for_children") {
              own.push_back(link);
            }
          }
          for (const std::string& each : own) {
            const std::string name = Describe(Process{member.pid, 0});
            const auto [found, is_new] = owners.emplace(each, name);
            if (!is_new) {
              absl::StrAppend(&common, each, ": ", name, " and ", found->second,
                              "\n");
            }
          }
        }
        return jails >= 2 && common.empty();
      },
      kSettle))
      << common;
}

}  // namespace
}  // namespace sandglass::testing
