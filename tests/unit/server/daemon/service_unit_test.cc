// The filter in the service's unit beside that of the daemon itself, and beside
// what programs may be allowed.
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"
#include "policy/seccomp/server_filter.h"
#include "policy/seccomp/syscall_names.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The last call of x86-64's that the daemon's filter knows.
constexpr int kLastCall = 456;

// What systemd 252 means by these; of x86-64's calls. See `systemd-analyze
// syscall-filter`.
const std::set<std::string>& CallsOf(const std::string& set) {
  static const auto& sets = *new std::map<std::string, std::set<std::string>>{
      {"@clock",
       {"adjtimex", "clock_adjtime", "clock_settime", "settimeofday"}},
      {"@cpu-emulation", {"modify_ldt"}},
      {"@keyring", {"add_key", "keyctl", "request_key"}},
      {"@module", {"delete_module", "finit_module", "init_module"}},
      {"@obsolete",
       {"_sysctl", "afs_syscall", "create_module", "get_kernel_syms", "getpmsg",
        "putpmsg", "query_module", "security", "sysfs", "tuxcall", "uselib",
        "ustat", "vserver"}},
      {"@raw-io", {"ioperm", "iopl"}},
      {"@reboot", {"kexec_file_load", "kexec_load", "reboot"}},
      {"@swap", {"swapoff", "swapon"}},
  };
  static const auto& none = *new std::set<std::string>;
  const auto found = sets.find(set);
  EXPECT_NE(found, sets.end()) << "unknown here: " << set;
  return found == sets.end() ? none : found->second;
}

// What stands behind `key` in the unit, in all its lines, word by word.
std::vector<std::string> Words(const std::string& key) {
  std::vector<std::string> words;
  std::ifstream unit(SANDGLASS_SOURCE_DIR "/deploy/systemd/sandglassd.service");
  for (std::string line; std::getline(unit, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, key)) continue;
    for (const absl::string_view word :
         absl::StrSplit(rest, ' ', absl::SkipEmpty())) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::set<std::string> RefusedByTheUnit() {
  std::set<std::string> calls;
  for (const std::string& word : Words("SystemCallFilter=~")) {
    if (word.front() == '@') {
      calls.insert(CallsOf(word).begin(), CallsOf(word).end());
    } else {
      calls.insert(word);
    }
  }
  return calls;
}

uint32_t DaemonsAnswer(int call, uint64_t first = 0) {
  static const absl::StatusOr<policy::BpfProgram> filter =
      policy::MakeServerFilter();
  EXPECT_TRUE(filter.ok()) << filter.status();
  const uint64_t arguments[6] = {first};
  return policy::EvaluateFilter(*filter, policy::kArchitecture, call, arguments)
      .value_or(SECCOMP_RET_KILL_PROCESS);
}

// That some shipped policy or addition lets pass, with some arguments at least.
std::set<std::string> AllowedToPrograms() {
  std::set<std::string> calls;
  for (const std::vector<std::string>& additions :
       {std::vector<std::string>(),
        {"debugging", "message-passing", "personality"}}) {
    const auto policy = policy::SeccompPolicy::Load(
        SANDGLASS_SOURCE_DIR "/policy/data/seccomp", "default", additions);
    EXPECT_TRUE(policy.ok()) << policy.status();
    if (!policy.ok()) continue;
    for (const policy::SeccompPolicy::Rule& rule : policy->rules()) {
      const bool is_refused = rule.error > 0;
      if (!is_refused) calls.insert(rule.syscall);
    }
  }
  return calls;
}

std::set<std::string> InBoth(const std::set<std::string>& a,
                             const std::set<std::string>& b) {
  std::set<std::string> both;
  for (const std::string& call : a) {
    if (b.contains(call)) both.insert(call);
  }
  return both;
}

// The socket outlives a restart only if somebody keeps it and its file is left.
TEST(ServiceUnit, KeepsTheSocketOverARestartAndWaitsForAReload) {
  EXPECT_THAT(Words("FileDescriptorStoreMax="), ElementsAre("1"));
  EXPECT_THAT(Words("RuntimeDirectoryPreserve="), ElementsAre("restart"));
  EXPECT_THAT(Words("ExecReload="),
              ElementsAre("sandglassd", "--reload", "--config",
                          "/etc/sandglass/sandglassd.json"));
}

TEST(ServiceUnit, RefusesNothingThatProgramsMayBeAllowed) {
  EXPECT_THAT(InBoth(RefusedByTheUnit(), AllowedToPrograms()), IsEmpty());
}

TEST(ServiceUnit, RefusesWhatTheDaemonRefusesItself) {
  // Spawners and inits make yards and jails with these.
  const std::set<std::string> makes_jails = {
      "chroot",        "fsconfig",   "fsmount",    "fsopen",
      "fspick",        "mount",      "move_mount", "mount_setattr",
      "open_tree",     "pivot_root", "seccomp",    "sethostname",
      "setdomainname", "setns",      "umount2",    "unshare"};
  // Interpreters that wait may ask for the first, and operators' own policies
  // allow the others; no kernel has the last.
  const std::set<std::string> left = {"mbind", "mq_open", "mq_unlink",
                                      "nfsservctl"};
  // Nor one of these, but for sysfs and ustat, which tell names and numbers of
  // file systems.
  const std::set<std::string> obsolete = CallsOf("@obsolete");
  const std::set<std::string> for_programs = AllowedToPrograms();
  std::set<std::string> unknown = RefusedByTheUnit();
  const std::set<std::string> unit = unknown;
  for (int number = 0; number <= kLastCall; ++number) {
    const std::string call = policy::SyscallName(policy::kArchitecture, number);
    unknown.erase(call);
    const uint32_t answer = DaemonsAnswer(number);
    const bool is_refused = answer == (SECCOMP_RET_ERRNO | EPERM);
    if (unit.contains(call)) {
      EXPECT_TRUE(is_refused || obsolete.contains(call))
          << "the daemon's own filter doesn't refuse " << call;
    } else if (is_refused) {
      EXPECT_TRUE(makes_jails.contains(call) || left.contains(call) ||
                  for_programs.contains(call))
          << "the unit doesn't refuse " << call;
    }
  }
  if (policy::kArchitecture == AUDIT_ARCH_X86_64) {
    EXPECT_THAT(unknown, IsEmpty()) << "no calls of x86-64's";
  }
  EXPECT_EQ(Words("SystemCallErrorNumber="),
            (std::vector<std::string>{"EPERM"}));
}

TEST(ServiceUnit, HasTheDaemonsFamiliesOfSockets) {
  const std::map<std::string, int> families = {{"AF_UNIX", AF_UNIX},
                                               {"AF_INET", AF_INET},
                                               {"AF_INET6", AF_INET6},
                                               {"AF_NETLINK", AF_NETLINK}};
  std::set<int> of_the_unit;
  for (const std::string& word : Words("RestrictAddressFamilies=")) {
    ASSERT_TRUE(families.contains(word)) << word;
    of_the_unit.insert(families.at(word));
  }
  for (int family = 0; family < AF_MAX; ++family) {
    const uint32_t answer =
        DaemonsAnswer(SYS_socket, static_cast<uint64_t>(family));
    EXPECT_EQ(answer == SECCOMP_RET_ALLOW, of_the_unit.contains(family))
        << family;
  }
}

}  // namespace
}  // namespace sandglass::server
