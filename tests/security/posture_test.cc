// A live jail as the host sees it: every process of ours against a table of
// what it may be. A jail that got weaker fails here even when nobody wrote an
// attack for it.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/security/posture_tables.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/idle_jails.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"
#include "tests/support/warm.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

std::string NamespaceOf(pid_t pid, const std::string& name) {
  std::error_code error;
  return std::filesystem::read_symlink(
             absl::StrCat("/proc/", pid, "/ns/", name), error)
      .string();
}

void ExpectStatus(pid_t pid, const Table& table) {
  const std::map<std::string, std::string> status = StatusOf(pid);
  for (const auto& [key, value] : table) {
    ASSERT_TRUE(status.contains(key)) << key;
    EXPECT_EQ(status.at(key), value)
        << key << " of " << Describe(Process{pid, 0});
  }
}

// First id of a line of Uid: or Gid:; all four must be the same.
int64_t OnlyId(pid_t pid, const std::string& key) {
  const std::vector<std::string> ids = Words(StatusOf(pid).at(key));
  EXPECT_EQ(ids.size(), 4U);
  for (const std::string& id : ids) EXPECT_EQ(id, ids.front()) << key;
  int64_t id = -1;
  EXPECT_TRUE(absl::SimpleAtoi(ids.front(), &id));
  return id;
}

// Of a program in a fresh interpreter, in the child of a zygote of some
// language, or in a node that was started ahead.
class Posture : public DaemonTest,
                public ::testing::WithParamInterface<std::string> {
 protected:
  struct LiveJail {
    std::unique_ptr<StreamCall> call;
    Process program;
    Process init;
  };

  // A jail whose program sleeps until the call goes.
  static LiveJail StartJail() {
    const std::string marker = MakeMarker();
    v1::RunCodeRequest request =
        Python("import time\nprint('ready', flush=True)\ntime.sleep(40)");
    if (GetParam() == "warm_ruby") {
      request.set_language("ruby");
      request.set_code("puts 'ready'; $stdout.flush; sleep 40");
    }
    if (GetParam() == "prestarted") {
      const auto waits = [] { return IdleOf(client(), "javascript-run") > 0; };
      EXPECT_TRUE(WaitUntil(waits, absl::Seconds(60)));
      request = Program("javascript",
                        "process.title = process.argv[2];\n"
                        "console.log('ready');\nsetTimeout(() => {}, 40000);");
    }
    if (GetParam() == "warm" || GetParam() == "warm_ruby") {
      v1::RunCodeRequest first = Program(request.language(), "print 1");
      if (GetParam() == "warm") first.set_code("print(1)");
      EXPECT_TRUE(
          WaitUntil([&] { return HadRunner(Run(first)); }, absl::Seconds(20)));
    }
    request.add_args(marker);
    // Acts as the interpreter starts, so it takes a fresh one.
    if (GetParam() == "fresh") (*request.mutable_env())["PYTHONHASHSEED"] = "0";
    LiveJail jail;
    jail.call = std::make_unique<StreamCall>(client().stub(), request);
    EXPECT_TRUE(jail.call->ReadUntil("ready"));
    const std::vector<Process> found = WaitForMarked(daemon(), marker);
    EXPECT_EQ(found.size(), 1U) << Describe(found);
    if (found.empty()) return jail;
    jail.program = found.front();
    // Init is the process that is 1 in the program's pid namespace.
    const std::string pids = NamespaceOf(jail.program.pid, "pid");
    for (const Process& process : daemon().Processes()) {
      if (NamespaceOf(process.pid, "pid") != pids) continue;
      const std::vector<std::string> numbers =
          Words(StatusOf(process.pid)["NSpid"]);
      if (!numbers.empty() && numbers.back() == "1") jail.init = process;
    }
    EXPECT_NE(jail.init.pid, 0) << "no init in the jail";
    return jail;
  }
};

TEST_P(Posture, TheProgramHasNoRightAtAll) {
  const LiveJail jail = StartJail();
  ExpectStatus(jail.program.pid, kProgramStatus);
  EXPECT_GT(OnlyId(jail.program.pid, "Uid"), 65536);
  EXPECT_GT(OnlyId(jail.program.pid, "Gid"), 65536);
}

TEST_P(Posture, InitHasThreeCapabilitiesAndAnotherUid) {
  const LiveJail jail = StartJail();
  ExpectStatus(jail.init.pid, kInitStatus);
  EXPECT_GT(OnlyId(jail.init.pid, "Uid"), 65536);
  EXPECT_NE(OnlyId(jail.init.pid, "Uid"), OnlyId(jail.program.pid, "Uid"));
}

TEST_P(Posture, AnInitThatWaitsForItsRunIsShutInAlready) {
  const LiveJail jail = StartJail();
  std::vector<Process> waiting;
  // Those in the making are still on their way there.
  ASSERT_TRUE(WaitUntil(
      [&] {
        waiting.clear();
        for (const Process& process : daemon().Processes()) {
          if (NameOf(process.pid) == "sandglass-init" && process != jail.init) {
            waiting.push_back(process);
          }
        }
        // Those that the pool has are fit for a run already.
        std::erase_if(waiting, [](const Process& init) {
          return StatusOf(init.pid)["CapEff"] == kInitCapabilities;
        });
        return waiting.size() == kWaitingJails &&
               std::all_of(waiting.begin(), waiting.end(),
                           [](const Process& init) {
                             return StatusOf(init.pid)["CapEff"] ==
                                    kWaitingInitCapabilities;
                           });
      },
      absl::Seconds(10)))
      << Describe(waiting);
  std::set<int64_t> ids = {OnlyId(jail.init.pid, "Uid")};
  for (const Process& init : waiting) {
    ExpectStatus(init.pid, kWaitingInitStatus);
    EXPECT_GT(OnlyId(init.pid, "Uid"), 65536);
    EXPECT_TRUE(ids.insert(OnlyId(init.pid, "Uid")).second)
        << "two jails share a uid";
    for (const char* name : kNamespaces) {
      for (const pid_t other :
           {getpid(), daemon().pid(), jail.init.pid, jail.program.pid}) {
        EXPECT_NE(NamespaceOf(init.pid, name), NamespaceOf(other, name))
            << name;
      }
    }
  }
}

TEST_P(Posture, AllSevenNamespacesAreTheJailsOwn) {
  const LiveJail first = StartJail();
  const LiveJail second = StartJail();
  for (const char* name : kNamespaces) {
    const std::string own = NamespaceOf(first.program.pid, name);
    ASSERT_FALSE(own.empty()) << name;
    EXPECT_NE(own, NamespaceOf(getpid(), name)) << "shared with the host";
    EXPECT_NE(own, NamespaceOf(daemon().pid(), name))
        << "shared with the daemon";
    EXPECT_NE(own, NamespaceOf(second.program.pid, name))
        << "shared with another jail";
    EXPECT_EQ(own, NamespaceOf(first.init.pid, name)) << "init is elsewhere";
  }
}

TEST_P(Posture, IdsAreMappedOneByOneAndNeverToTheHostsRoot) {
  const LiveJail jail = StartJail();
  for (const char* file : {"uid_map", "gid_map"}) {
    const std::string map = ReadProc(jail.program.pid, file);
    EXPECT_FALSE(map.empty());
    for (const std::string& line : Lines(map)) {
      const std::vector<std::string> numbers = Words(line);
      ASSERT_EQ(numbers.size(), 3U) << line;
      int64_t outside = 0;
      int64_t count = 0;
      ASSERT_TRUE(absl::SimpleAtoi(numbers[1], &outside));
      ASSERT_TRUE(absl::SimpleAtoi(numbers[2], &count));
      EXPECT_GT(outside, 65536) << file << ": " << line;
      EXPECT_LE(count, 65536) << file << ": " << line;
    }
  }
}

TEST_P(Posture, TwoLiveJailsShareNoHostUid) {
  const LiveJail first = StartJail();
  const LiveJail second = StartJail();
  const std::set<int64_t> uids = {
      OnlyId(first.program.pid, "Uid"), OnlyId(first.init.pid, "Uid"),
      OnlyId(second.program.pid, "Uid"), OnlyId(second.init.pid, "Uid")};
  EXPECT_EQ(uids.size(), 4U);
}

TEST_P(Posture, TheProgramsGroupsAreItsOwnAndLimited) {
  const LiveJail first = StartJail();
  const LiveJail second = StartJail();
  const std::vector<std::string> own = GroupsOf(first.program.pid);
  const std::vector<std::string> test = GroupsOf(getpid());
  const std::vector<std::string> other = GroupsOf(second.program.pid);
  bool memory_limited = false;
  bool pids_limited = false;
  for (const std::string& group : own) {
    // On v2 the program is in jail-N/run and the limits are the jail's.
    const std::string directory{
        absl::StripSuffix(GroupDirectory(group), "/run")};
    if (directory.empty()) continue;
    std::error_code error;
    for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
      if (!std::filesystem::exists(absl::StrCat(directory, "/", file), error)) {
        continue;
      }
      EXPECT_THAT(test, Not(Contains(group)));
      EXPECT_THAT(other, Not(Contains(group)));
      std::string limit;
      std::ifstream(absl::StrCat(directory, "/", file)) >> limit;
      EXPECT_EQ(limit, "268435456") << directory;
      memory_limited = true;
    }
    if (std::filesystem::exists(absl::StrCat(directory, "/pids.max"), error)) {
      EXPECT_THAT(other, Not(Contains(group)));
      std::string limit;
      std::ifstream(absl::StrCat(directory, "/pids.max")) >> limit;
      EXPECT_EQ(limit, "65") << directory << ": 64 and init";
      pids_limited = true;
    }
  }
  EXPECT_TRUE(memory_limited) << absl::StrJoin(own, "\n");
  EXPECT_TRUE(pids_limited) << absl::StrJoin(own, "\n");
}

TEST_P(Posture, RlimitsAreSet) {
  const LiveJail jail = StartJail();
  const std::string limits = ReadProc(jail.program.pid, "limits");
  for (const auto& [name, expected] : kProgramRlimits) {
    bool found = false;
    for (const std::string& line : Lines(limits)) {
      if (line.rfind(name, 0) != 0) continue;
      found = true;
      const std::vector<std::string> words = Words(line.substr(name.size()));
      ASSERT_GE(words.size(), 2U);
      EXPECT_EQ(absl::StrCat(words[0], " ", words[1]), expected) << name;
    }
    EXPECT_TRUE(found) << name;
  }
}

TEST_P(Posture, MountsAreReadOnlyButForTheScratchPlaces) {
  const LiveJail jail = StartJail();
  const std::string mounts = ReadProc(jail.program.pid, "mountinfo");
  std::set<std::string> seen;
  for (const std::string& line : Lines(mounts)) {
    const std::vector<std::string> words = Words(line);
    ASSERT_GE(words.size(), 10U) << line;
    const std::string& point = words[4];
    const std::vector<std::string> options = absl::StrSplit(words[5], ',');
    seen.insert(point);
    const bool listed = kMountOptions.contains(point);
    // Files put over dangerous parts of /proc, and device nodes, keep only
    // what the file below can't do without.
    const bool masking = point.rfind("/proc/", 0) == 0;
    const bool device = point.rfind("/dev/", 0) == 0 && !listed;
    if (device) {
      EXPECT_THAT(options, AllOf(Contains("nosuid"), Contains("noexec")))
          << line;
      continue;
    }
    for (const std::string& option :
         kMountOptions.at(listed ? point : std::string())) {
      EXPECT_THAT(options, Contains(option)) << line;
    }
    if (!masking && point != "/dev") {
      EXPECT_THAT(options, Contains("nodev")) << line;
    }
    // Nothing may travel between the jail's tree and another.
    EXPECT_EQ(line.find(" shared:"), std::string::npos) << line;
  }
  for (const char* point :
       {"/", "/tmp", "/workspace", "/proc", "/var/cache/sandglass"}) {
    EXPECT_TRUE(seen.contains(point)) << point << " is no mount";
  }
}

TEST_P(Posture, TheProgramHoldsNoDescriptorOfOurs) {
  const LiveJail jail = StartJail();
  std::set<std::string> fds;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", jail.program.pid, "/fd"), error)) {
    fds.insert(entry.path().filename().string());
  }
  EXPECT_FALSE(error) << error.message();
  std::set<std::string> expected = {"0", "1", "2"};
  if (GetParam() == "prestarted") {
    std::map<std::string, int> ends;  // of pipes: both ends are node's own
    const std::string place = absl::StrCat("/proc/", jail.program.pid, "/fd/");
    for (const std::string& fd : fds) {
      const auto target = std::filesystem::read_symlink(place + fd, error);
      EXPECT_FALSE(target.string().starts_with("socket:")) << target;
      if (!expected.contains(fd)) ++ends[target.string()];
    }
    for (const auto& [pipe, count] : ends) {
      if (pipe.starts_with("pipe:")) {
        EXPECT_EQ(count, 2) << pipe;
      }
    }
    return;
  }
  if (GetParam() == "warm_ruby") {
    // With which Ruby wakes itself; not its zygote's, see below.
    expected.insert({"3", "4"});
  }
  if (GetParam() != "fresh") {
    // Through which it can say that it is over, and nothing else.
    const std::string report = "254";
    expected.insert(report);
    EXPECT_THAT(
        std::filesystem::read_symlink(
            absl::StrCat("/proc/", jail.program.pid, "/fd/", report), error)
            .string(),
        ::testing::StartsWith("pipe:"));
  }
  EXPECT_EQ(fds, expected);
}

// What goes into the one must not come out of the other.
TEST_P(Posture, TheProgramsEventsAreNoOtherProcesses) {
  const LiveJail jail = StartJail();
  const auto events = [](pid_t pid) {
    std::set<std::string> ids;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(
             absl::StrCat("/proc/", pid, "/fdinfo"), error)) {
      std::ifstream info(entry.path());
      for (std::string line; std::getline(info, line);) {
        if (absl::StartsWith(line, "eventfd-id:")) ids.insert(line);
      }
    }
    return ids;
  };
  const std::set<std::string> own = events(jail.program.pid);
  // Node has those of its own event loops.
  if (GetParam() != "prestarted") {
    EXPECT_EQ(own.size(), GetParam() == "warm_ruby" ? 2U : 0U);
  }
  for (const Process& process : daemon().Processes()) {
    if (process == jail.program) continue;
    for (const std::string& id : events(process.pid)) {
      EXPECT_FALSE(own.contains(id)) << Describe(process) << " has " << id;
    }
  }
}

TEST_P(Posture, TheProgramsEnvironmentIsNotOurs) {
  const LiveJail jail = StartJail();
  const std::string environment = ReadProc(jail.program.pid, "environ");
  // A runner's is set as it runs, so the kernel shows none.
  EXPECT_EQ(environment.find("PATH=") != std::string::npos,
            GetParam() != "warm" && GetParam() != "warm_ruby");
  EXPECT_EQ(environment.find("SANDGLASS"), std::string::npos);
  EXPECT_EQ(environment.find("do-not-leak-me"), std::string::npos);
}

TEST_P(Posture, TheKernelPrefersToKillTheProgram) {
  const LiveJail jail = StartJail();
  int program = -1;
  int server = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(ReadProc(jail.program.pid, "oom_score_adj"), &program));
  ASSERT_TRUE(
      absl::SimpleAtoi(ReadProc(daemon().pid(), "oom_score_adj"), &server));
  EXPECT_GT(program, server);
}

TEST_P(Posture, OnlyTheProgramIsDumpable) {
  // A process that isn't dumpable has its /proc files owned by the root of its
  // user namespace, or the host's, instead of by its own uid.
  const LiveJail jail = StartJail();
  struct stat facts = {};
  ASSERT_EQ(
      stat(absl::StrCat("/proc/", jail.init.pid, "/environ").c_str(), &facts),
      0);
  EXPECT_NE(static_cast<int64_t>(facts.st_uid),
            OnlyId(jail.program.pid, "Uid"));
  ASSERT_EQ(
      stat(absl::StrCat("/proc/", daemon().pid(), "/environ").c_str(), &facts),
      0);
  EXPECT_NE(static_cast<int64_t>(facts.st_uid), OnlyId(daemon().pid(), "Uid"));
}

TEST_P(Posture, TheServerHasNoRightLeft) {
  const LiveJail jail = StartJail();
  ExpectStatus(daemon().pid(), kServerStatus);
}

TEST_P(Posture, NoProcessOfOursIsTheHostsRoot) {
  const LiveJail jail = StartJail();
  const std::vector<Process> all = daemon().Processes();
  EXPECT_GE(all.size(), 4U)
      << "server, spawner, init, program: " << Describe(all);
  for (const Process& process : all) {
    for (const char* key : {"Uid", "Gid"}) {
      for (const std::string& id : Words(StatusOf(process.pid)[key])) {
        EXPECT_NE(id, "0") << key << " of " << Describe(process);
      }
    }
  }
}

TEST_P(Posture, EveryThreadOfTheServerIsAsWeakAsItsFirst) {
  const LiveJail jail = StartJail();
  std::error_code error;
  size_t threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", daemon().pid(), "/task"), error)) {
    pid_t thread = 0;
    ASSERT_TRUE(absl::SimpleAtoi(entry.path().filename().string(), &thread));
    ExpectStatus(thread, kServerStatus);
    EXPECT_NE(OnlyId(thread, "Uid"), 0);
    ++threads;
  }
  EXPECT_GT(threads, 1U);
}

TEST_P(Posture, TheSpawnerLivesInAYardOfItsOwnWithOneThread) {
  const LiveJail jail = StartJail();
  // The parent of init, in a user namespace that is neither the host's nor the
  // jail's.
  pid_t spawner = 0;
  ASSERT_TRUE(absl::SimpleAtoi(StatusOf(jail.init.pid)["PPid"], &spawner));
  ASSERT_NE(spawner, daemon().pid());
  for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts"}) {
    EXPECT_NE(NamespaceOf(spawner, name), NamespaceOf(getpid(), name)) << name;
    EXPECT_NE(NamespaceOf(spawner, name), NamespaceOf(jail.init.pid, name))
        << name;
  }
  const std::map<std::string, std::string> status = StatusOf(spawner);
  EXPECT_EQ(status.at("Threads"), "1");
  EXPECT_EQ(Words(status.at("NSpid")).back(), "1")
      << "it must be the first process of its yard";
  EXPECT_EQ(status.at("NoNewPrivs"), "1");
  for (const std::string& line : Lines(ReadProc(spawner, "uid_map"))) {
    EXPECT_NE(Words(line)[1], "0") << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Posture,
                         ::testing::Values("fresh", "warm", "warm_ruby",
                                           "prestarted"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace sandglass::testing
