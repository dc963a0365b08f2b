// System calls that no program may make: by their plain names, with bits that
// the kernel doesn't look at, by the other doors into the kernel, and from
// children, grandchildren and threads.

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/seccomp/seccomp.h"
#include "tests/security/hostile/hostile_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

// Since Linux 5.6 and later; older headers lack some.
constexpr int kCloneNewTime = 0x80;
constexpr long kListmount = 458;
constexpr long kOpenTreeAttr = 467;
constexpr long kHighestCall = 1023;

struct DeniedCall {
  int error;
  long number;
  Attempt words;
};

const std::vector<DeniedCall>& RefusedCallLog() {
  static const std::vector<DeniedCall> calls = {
      // Namespaces: made
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWUSER)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWNS)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWNET)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWPID)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWIPC)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWUTS)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_NEWCGROUP)}},
      {EPERM, SYS_unshare, {absl::StrCat(kCloneNewTime)}},
      {EPERM, SYS_unshare, {absl::StrCat(CLONE_FILES)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWUSER | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWNS | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWNET | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWPID | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWIPC | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWUTS | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_NEWCGROUP | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_PARENT | SIGCHLD)}},
      {EPERM, SYS_clone, {absl::StrCat(CLONE_FILES | SIGCHLD)}},
      {ENOSYS, SYS_clone3, {"z:88", "88"}},
      // fields: flags, pidfd, child_tid, parent_tid, exit_signal…
      {ENOSYS,
       SYS_clone3,
       {"h:0000001000000000" + std::string(160, '0'), "88"}},
      // … and entered
      {EPERM, SYS_setns, {"fd:/proc/self/ns/user", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/mnt", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/net", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/pid", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/ipc", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/uts", "0"}},
      {EPERM, SYS_setns, {"fd:/proc/self/ns/cgroup", "0"}},
      {EPERM, SYS_setns, {"child-fd", absl::StrCat(CLONE_NEWNS)}},
      {EPERM, SYS_setns, {"child-fd", absl::StrCat(CLONE_NEWUSER)}},
      // Mounts, the old way and the new
      {EPERM, SYS_mount, {"s:none", "s:/tmp", "s:tmpfs", "0"}},
      {EPERM, SYS_mount, {"s:proc", "s:/tmp", "s:proc", "0"}},
      {EPERM, SYS_mount, {"s:/", "s:/tmp", "0", absl::StrCat(MS_BIND)}},
      {EPERM,
       SYS_mount,
       {"s:none", "s:/", "0", absl::StrCat(MS_REMOUNT | MS_BIND)}},
      {EPERM, SYS_mount, {"s:none", "s:/", "0", absl::StrCat(MS_SHARED)}},
      {EPERM, SYS_umount2, {"s:/proc", absl::StrCat(MNT_DETACH)}},
      {EPERM, SYS_umount2, {"s:/", absl::StrCat(MNT_FORCE)}},
      {EPERM, SYS_fsopen, {"s:tmpfs", "0"}},
      {EPERM, SYS_fsconfig, {"fd:/", "6"}},
      {EPERM, SYS_fsmount, {"fd:/", "0", "0"}},
      {EPERM, SYS_fspick, {absl::StrCat(AT_FDCWD), "s:/", "0"}},
      {EPERM, SYS_open_tree, {absl::StrCat(AT_FDCWD), "s:/", "1"}},
      {EPERM,
       SYS_move_mount,
       {absl::StrCat(AT_FDCWD), "s:/tmp", absl::StrCat(AT_FDCWD), "s:/mnt"}},
      {EPERM,
       SYS_mount_setattr,
       {absl::StrCat(AT_FDCWD), "s:/", "0", "z:32", "32"}},
      {ENOSYS, kListmount, {"z:32", "z:64", "8", "0"}},
      {ENOSYS,
       kOpenTreeAttr,
       {absl::StrCat(AT_FDCWD), "s:/", "1", "z:32", "32"}},
      {EPERM, SYS_pivot_root, {"s:/tmp", "s:/tmp"}},
      {EPERM, SYS_chroot, {"s:/tmp"}},
      {EPERM, SYS_name_to_handle_at, {absl::StrCat(AT_FDCWD), "s:/", "z:136"}},
      {EPERM, SYS_open_by_handle_at, {absl::StrCat(AT_FDCWD), "z:136", "0"}},
      // Other processes
      {EPERM, SYS_ptrace, {absl::StrCat(PTRACE_TRACEME)}},
      {EPERM, SYS_ptrace, {absl::StrCat(PTRACE_ATTACH), "child"}},
      {EPERM, SYS_ptrace, {absl::StrCat(PTRACE_SEIZE), "child"}},
      {EPERM, SYS_ptrace, {absl::StrCat(PTRACE_SEIZE), "1"}},
      // Of one that waited: the interpreter that it came from.
      {EPERM, SYS_ptrace, {absl::StrCat(PTRACE_SEIZE), "parent"}},
      {EPERM, SYS_process_vm_readv, {"parent", "z:16", "1", "z:16", "1"}},
      {EPERM, SYS_process_vm_writev, {"parent", "z:16", "1", "z:16", "1"}},
      {EPERM, SYS_kcmp, {"self", "parent", "0", "0", "1"}},
      {EPERM, SYS_pidfd_getfd, {"parent-fd", "1", "0"}},
      {EPERM, SYS_process_vm_readv, {"child", "z:16", "1", "z:16", "1"}},
      {EPERM, SYS_process_vm_writev, {"child", "z:16", "1", "z:16", "1"}},
      {EPERM, SYS_process_madvise, {"child-fd", "z:16", "1", "21"}},
      {EPERM, SYS_kcmp, {"self", "child", "0", "0", "1"}},
      {EPERM, SYS_pidfd_getfd, {"child-fd", "1", "0"}},
      {EPERM, SYS_move_pages, {"child", "0"}},
      {EPERM, SYS_migrate_pages, {"child", "8", "z:8", "z:8"}},
      {EPERM, SYS_kill, {"1", absl::StrCat(SIGKILL)}},
      {EPERM, SYS_kill, {"1", absl::StrCat(SIGSTOP)}},
      {EPERM, SYS_tgkill, {"1", "1", absl::StrCat(SIGKILL)}},
      {EPERM, SYS_rt_sigqueueinfo, {"1", absl::StrCat(SIGTERM), "z:128"}},
      // Parts of the kernel that no program of ours needs
      {EPERM, SYS_keyctl, {"0", "-3", "0"}},
      {EPERM, SYS_keyctl, {"1", "s:hostile"}},
      {EPERM, SYS_add_key, {"s:user", "s:hostile", "s:x", "1", "-3"}},
      {EPERM, SYS_request_key, {"s:user", "s:hostile", "0", "-3"}},
      {EPERM, SYS_bpf, {"0", "z:128", "128"}},
      {EPERM, SYS_bpf, {"5", "z:128", "128"}},
      {EPERM, SYS_perf_event_open, {"z:136", "0", "-1", "-1", "0"}},
      {EPERM, SYS_userfaultfd, {"1"}},
      {ENOSYS, SYS_io_uring_setup, {"8", "z:120"}},
      {ENOSYS, SYS_io_uring_enter, {"0", "0", "0", "0"}},
      {ENOSYS, SYS_io_uring_register, {"-1", "0", "0", "0"}},
      {ENOSYS, SYS_io_setup, {"1", "z:8"}},
      {ENOSYS, SYS_vmsplice, {"pipe", "z:16", "1", "0"}},
      {ENOSYS, SYS_remap_file_pages, {"0", "4096", "0", "0", "0"}},
      {EPERM, SYS_memfd_secret, {"0"}},
      {ENOSYS, SYS_inotify_init, {}},
      {ENOSYS, SYS_inotify_init1, {"0"}},
      {EPERM, SYS_fanotify_init, {"0", "0"}},
      {ENOSYS, SYS_mq_open, {"s:hostile", "0x42", "0600", "0"}},
      {ENOSYS, SYS_seccomp, {"1", "0", "z:16"}},
      {ENOSYS, SYS_seccomp, {"1", "8", "z:16"}},
      {EINVAL, SYS_prctl, {absl::StrCat(PR_SET_SECCOMP), "2", "z:16"}},
      {EPERM, SYS_prctl, {absl::StrCat(PR_SET_MM), "1", "0", "0", "0"}},
      {EPERM, SYS_prctl, {"62", "1", "0", "0", "0"}},   // PR_SCHED_CORE
      {EINVAL, SYS_prctl, {"67", "1", "0", "0", "0"}},  // PR_SET_MEMORY_MERGE
      {EINVAL, SYS_madvise, {"0", "4096", "12"}},       // MADV_MERGEABLE
      {EINVAL, SYS_mmap, {"0", "2097152", "3", "0x40022", "-1", "0"}},
      {EINVAL, SYS_memfd_create, {"s:hostile", "4"}},
      {EINVAL, SYS_shmget, {"0", "2097152", "0x800"}},
      {ENOSYS, SYS_mbind, {"0", "4096", "0", "0", "0", "0"}},
      // Rights
      {EPERM, SYS_setuid, {"0"}},
      {EPERM, SYS_setgid, {"0"}},
      {EPERM, SYS_setresuid, {"0", "0", "0"}},
      {EPERM, SYS_setreuid, {"0", "0"}},
      {EPERM, SYS_setresgid, {"0", "0", "0"}},
      {EPERM, SYS_setgroups, {"1", "z:4"}},
      {EPERM, SYS_capset, {"h:2205082000000000", "h:" + std::string(48, 'f')}},
      {EPERM,
       SYS_prctl,
       {absl::StrCat(PR_CAPBSET_DROP), absl::StrCat(CAP_SYS_ADMIN)}},
      {EPERM,
       SYS_prctl,
       {absl::StrCat(PR_CAP_AMBIENT), absl::StrCat(PR_CAP_AMBIENT_RAISE),
        absl::StrCat(CAP_SYS_ADMIN), "0", "0"}},
      {EINVAL, SYS_prctl, {absl::StrCat(PR_SET_NO_NEW_PRIVS), "0"}},
      {EPERM,
       SYS_prlimit64,
       {"0", absl::StrCat(RLIMIT_NOFILE), "h:" + std::string(32, 'f'), "0"}},
      {EACCES, SYS_setpriority, {"0", "0", "-10"}},
      {EPERM, SYS_ioprio_set, {"1", "0", "0x2000"}},  // IOPRIO_CLASS_RT
      {EPERM, SYS_sched_setscheduler, {"0", "1", "h:01000000"}},
      {EPERM, SYS_sched_setscheduler, {"1", "0", "z:4"}},
      {EPERM, SYS_personality, {absl::StrCat(ADDR_NO_RANDOMIZE)}},
      {EPERM, SYS_personality, {absl::StrCat(READ_IMPLIES_EXEC)}},
      // Administration
      {EPERM, SYS_sethostname, {"s:hostile", "7"}},
      {EPERM, SYS_setdomainname, {"s:hostile", "7"}},
      {EPERM, SYS_syslog, {"3", "z:64", "64"}},
      {EPERM, SYS_syslog, {"5", "0", "0"}},
      {EPERM, SYS_reboot, {"0xfee1dead", "672274793", "0"}},
      {EPERM, SYS_init_module, {"z:64", "64", "s:"}},
      {EPERM, SYS_finit_module, {"fd:/usr/bin/env", "s:", "0"}},
      {EPERM, SYS_delete_module, {"s:loop", "0"}},
      {EPERM, SYS_kexec_load, {"0", "0", "0", "0"}},
      {EPERM, SYS_kexec_file_load, {"fd:/usr/bin/env", "-1", "0", "0", "4"}},
      {EPERM, SYS_swapon, {"s:/tmp/none", "0"}},
      {EPERM, SYS_swapoff, {"s:/tmp/none"}},
      {EPERM, SYS_acct, {"s:/tmp/none"}},
      {EPERM, SYS_quotactl, {"0", "s:/", "0", "0"}},
      {EPERM, SYS_settimeofday, {"z:16", "0"}},
      {EPERM, SYS_clock_settime, {absl::StrCat(CLOCK_REALTIME), "z:16"}},
      {EPERM, SYS_adjtimex, {"z:208"}},
      {EPERM, SYS_clock_adjtime, {"0", "z:208"}},
      {EPERM, SYS_iopl, {"3"}},
      {EPERM, SYS_ioperm, {"0x80", "1", "1"}},
      {EPERM, SYS_modify_ldt, {"1", "z:16", "16"}},
      {EPERM, SYS_vhangup, {}},
      {EPERM, SYS_sync, {}},
      {EPERM, SYS_syncfs, {"fd:/"}},
      // Terminals: TIOCSTI, TIOCLINUX, TIOCSETD
      {EPERM, SYS_ioctl, {"0", "0x5412", "s:x"}},
      {EPERM, SYS_ioctl, {"0", "0x541c", "s:x"}},
      {EPERM, SYS_ioctl, {"0", "0x5423", "z:4"}},
      // Of files: FS_IOC_GETFSUUID, FS_IOC_GETFSMAP, FIEMAP; of namespaces:
      // NS_GET_USERNS, NS_GET_OWNER_UID
      {ENOTTY, SYS_ioctl, {"fd:/usr", "0x80111500", "z:32"}},
      {ENOTTY, SYS_ioctl, {"fd:/usr", "0xc0c0583b", "z:256"}},
      {ENOTTY, SYS_ioctl, {"fd:/usr", "0xc020660b", "z:256"}},
      {ENOTTY, SYS_ioctl, {"fd:/proc/self/ns/user", "0xb701"}},
      {ENOTTY, SYS_ioctl, {"fd:/proc/self/ns/user", "0xb704", "z:4"}},
  };
  return calls;
}

Attempt AsAttempt(const DeniedCall& call) {
  return Attempt{"call", absl::StrCat(call.number)} + call.words;
}

std::string PolicyDirectory() {
  return SANDGLASS_SOURCE_DIR "/policy/data/seccomp";
}

class HostileCalls : public HostileTest,
                     public ::testing::WithParamInterface<Way> {
 protected:
  static std::vector<Case> Cases() {
    std::vector<Case> cases;
    for (const DeniedCall& call : RefusedCallLog()) {
      cases.push_back({AsAttempt(call), Refused(call.error)});
    }
    return cases;
  }
};

TEST_P(HostileCalls, EachIsRefused) { RunCases(GetParam(), Cases()); }

TEST_P(HostileCalls, EachIsRefusedToAGrandchildsThread) {
  RunCases(GetParam(), Cases(), {"--depth", "2", "--thread"});
}

INSTANTIATE_TEST_SUITE_P(Ways, HostileCalls, ::testing::ValuesIn(kAllWays),
                         [](const auto& each) { return NameOf(each.param); });

class HostileCallsInAllWays : public HostileTest {};

TEST_F(HostileCallsInAllWays, EachIsRefusedFiftyTimesAndToFiftyAtOnce) {
  std::vector<Case> cases;
  for (const DeniedCall& call : RefusedCallLog()) {
    const Attempt words = AsAttempt(call);
    cases.push_back({Attempt{"--times", "50"} + words, Refused(call.error)});
    // Each has two processes where a call has a victim.
    cases.push_back({Attempt{"--at-once", "25", "--times", "2"} + words,
                     Refused(call.error)});
  }
  // The options are each attempt's own, which a list of attempts can't have.
  RunEach(cases, {});
}

// The kernel looks at the lower half of an int only; so must the filter.
TEST_F(HostileCallsInAllWays, BitsThatTheKernelDoesNotLookAtChangeNothing) {
  constexpr uint64_t kHighBit = uint64_t{1} << 40;
  std::vector<Case> cases;
  for (const DeniedCall& call : RefusedCallLog()) {
    Attempt words = AsAttempt(call);
    bool changed = false;
    for (size_t i = 2; i < words.size(); ++i) {
      uint64_t value = 0;
      int64_t signed_value = 0;
      const bool hexadecimal = absl::StartsWith(words[i], "0x");
      if (hexadecimal ? absl::SimpleHexAtoi(words[i], &value)
                      : absl::SimpleAtoi(words[i], &signed_value)) {
        if (!hexadecimal) value = static_cast<uint32_t>(signed_value);
        words[i] = absl::StrCat(value | kHighBit);
        changed = true;
      }
    }
    // prctl's further arguments are longs.
    if (changed) {
      cases.push_back({words, Refused(call.error),
                       call.number == SYS_prctl ? Refused(EINVAL) : 0});
    }
  }
  RunCases(Way::kPython, cases);
}

// ---- every number there is ----

// Names that the policy lets through for some arguments.
std::set<std::string> AllowedCalls() {
  std::set<std::string> names;
  std::ifstream file(SANDGLASS_SOURCE_DIR
                     "/tests/security/hostile/allowed_calls.txt");
  for (std::string name; std::getline(file, name);) {
    if (!name.empty() && name.front() != '#') names.insert(name);
  }
  return names;
}

TEST(HostileCallsPolicy, AllowsWhatTheListSaysAndNoMore) {
  const auto policy = policy::SeccompPolicy::Load(PolicyDirectory(), "default");
  ASSERT_TRUE(policy.ok()) << policy.status();
  std::set<std::string> allowed;
  for (const auto& rule : policy->rules()) {
    if (rule.error == 0) allowed.insert(rule.syscall);
  }
  EXPECT_EQ(allowed, AllowedCalls())
      << "a call that programs may make from now on belongs into "
         "tests/security/hostile/allowed_calls.txt, after somebody has asked "
         "what an "
         "attacker gets by it";
}

TEST(HostileCallsPolicy, IsDescribedWithItsNumbers) {
  std::ifstream file(SANDGLASS_SOURCE_DIR "/docs/security.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<long> numbers;
  for (const DeniedCall& call : RefusedCallLog()) numbers.insert(call.number);
  EXPECT_THAT(text, HasSubstr(absl::StrCat(
                        RefusedCallLog().size(), " calls that are refused (",
                        numbers.size(), " system calls with")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("those ", RefusedCallLog().size(),
                                           " in all these forms")));
  EXPECT_THAT(text,
              HasSubstr(absl::StrCat(AllowedCalls().size(),
                                     " calls, some with some arguments")));
}

// Lines for the attempt "sweep".
std::string SweepList() {
  const auto policy = policy::SeccompPolicy::Load(PolicyDirectory(), "default");
  EXPECT_TRUE(policy.ok()) << policy.status();
  const std::set<std::string> allowed = AllowedCalls();
  std::set<long> skipped;
  std::string list;
  std::map<long, int> refused;
  for (const auto& rule : policy->rules()) {
    if (allowed.contains(rule.syscall) || rule.error == -1) {
      skipped.insert(rule.number);
    } else if (rule.tests.empty()) {
      refused[rule.number] = rule.error;
    }
  }
  for (long number = 0; number <= kHighestCall; ++number) {
    if (!skipped.contains(number)) {
      const auto found = refused.find(number);
      absl::StrAppend(&list, "call ", number, " ",
                      found == refused.end() ? ENOSYS : found->second, "\n");
    }
    // x32
    absl::StrAppend(&list, "call ", number | 0x40000000, " ", ENOSYS, "\n");
    if (number <= 512) absl::StrAppend(&list, "i386 ", number, " ENOSYS\n");
  }
  // Numbers of no architecture.
  for (const long number : {-1L, 0x7fffffffL, 0x3fffffffL, -0x80000000L}) {
    absl::StrAppend(&list, "call ", number, " ", ENOSYS, "\n");
  }
  return absl::StrReplaceAll(list, {{"ENOSYS", absl::StrCat(ENOSYS)}});
}

TEST_F(HostileCallsInAllWays, EveryOtherNumberOfEveryDoorIsRefused) {
  const std::string list = SweepList();
  for (const Way way : kAllWays) {
    const RunResult result = RunIn(way, {"sweep", "list"}, list);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
    // Every line was as listed.
    EXPECT_EQ(result.response.exit_code(), Refused(0))
        << NameOf(way) << ": " << result.response.stderr().data();
  }
}

}  // namespace
}  // namespace sandglass::testing
