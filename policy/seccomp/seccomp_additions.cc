#include "policy/seccomp/seccomp_additions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/architecture/architecture.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {
namespace {

struct Family {
  const char* what;
  std::vector<int> calls;
};

// Calls that reach beyond the run: an operator who needs one should choose
// another base policy knowingly. They are listed by number, because a file may
// give a number any name.
const std::vector<Family>& NeverAllowed() {
  static const auto& families = *new std::vector<Family>{
      {"it makes or enters namespaces",
       {SYS_unshare, SYS_setns, SYS_clone, SYS_clone3}},
      // 467: open_tree_attr (Linux 6.15).
      {"it changes the view of files",
       {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen,
        SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_move_mount, SYS_open_tree,
        SYS_mount_setattr, 467}},
      {"file handles reach files past any view",
       {SYS_open_by_handle_at, SYS_name_to_handle_at}},
      {"it leads to kernel code that exploits are made of",
       {SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
        SYS_io_uring_enter, SYS_io_uring_register, SYS_vmsplice, SYS_modify_ldt,
        SYS_iopl, SYS_ioperm}},
      {"keyrings belong to a user and not to a jail",
       {SYS_keyctl, SYS_add_key, SYS_request_key}},
      {"filters of a program's own are code in the kernel's memory",
       {SYS_seccomp}},
      {"it administers the host",
       {SYS_init_module,   SYS_finit_module,    SYS_delete_module,
        SYS_kexec_load,    SYS_kexec_file_load, SYS_reboot,
        SYS_swapon,        SYS_swapoff,         SYS_acct,
        SYS_quotactl,      SYS_quotactl_fd,     SYS_sethostname,
        SYS_setdomainname, SYS_vhangup,         SYS_settimeofday,
        SYS_clock_settime, SYS_adjtimex,        SYS_clock_adjtime,
        SYS_syslog,        SYS_lookup_dcookie,  SYS_sync,
        SYS_syncfs}},
      {"it watches files that jails and the host have in common",
       {SYS_fanotify_init, SYS_fanotify_mark, SYS_inotify_init,
        SYS_inotify_init1, SYS_inotify_add_watch}},
      {"it takes memory that no limit counts",
       {SYS_memfd_secret, SYS_mbind, SYS_set_mempolicy_home_node}},
      // For these, what the shipped policy allows is all that is safe.
      {"some of what its arguments select leads out of the run",
       {SYS_socket, SYS_socketpair, SYS_setsockopt, SYS_prctl, SYS_mmap,
        SYS_madvise, SYS_fcntl, SYS_ioctl, SYS_memfd_create, SYS_shmget,
        SYS_mknod, SYS_mknodat, SYS_setrlimit, SYS_prlimit64}},
  };
  return families;
}

absl::Status CheckAllowed(const std::string& addition,
                          const SeccompPolicy::Rule& rule) {
  if (rule.error != 0) return absl::OkStatus();
  for (const Family& family : NeverAllowed()) {
    if (std::find(family.calls.begin(), family.calls.end(), rule.number) ==
        family.calls.end()) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "addition \"", addition, "\" allows \"", rule.syscall, "\" (",
        rule.number, "), which no addition may: ", family.what,
        "; take the rule out, or have the profile name a policy of your own "
        "under \"seccomp\""));
  }
  return absl::OkStatus();
}

// Whether the existing rules for a call refuse it for some arguments, which a
// rule that allows it with any arguments would undo.
bool RefusesSome(const std::vector<SeccompPolicy::Rule>& there) {
  const auto has_tests = [](const SeccompPolicy::Rule& rule) {
    return !rule.tests.empty();
  };
  const auto refuses = [](const SeccompPolicy::Rule& rule) {
    return rule.error != 0;
  };
  return std::any_of(there.begin(), there.end(), has_tests) &&
         std::any_of(there.begin(), there.end(), refuses);
}

// Precondition: the rules for a call end with one that has no tests.
bool EndsWithAllowing(const std::vector<SeccompPolicy::Rule>& own) {
  return own.back().error == 0;
}

bool SameTest(const SeccompPolicy::ArgumentTest& a,
              const SeccompPolicy::ArgumentTest& b) {
  return a.index == b.index && a.op == b.op && a.value == b.value &&
         a.mask == b.mask;
}

bool SameRule(const SeccompPolicy::Rule& a, const SeccompPolicy::Rule& b) {
  return a.error == b.error &&
         std::equal(a.tests.begin(), a.tests.end(), b.tests.begin(),
                    b.tests.end(), SameTest);
}

std::vector<SeccompPolicy::Rule> RulesOf(
    int number, const std::vector<SeccompPolicy::Rule>& rules) {
  std::vector<SeccompPolicy::Rule> own;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(own),
               [number](const SeccompPolicy::Rule& rule) {
                 return rule.number == number;
               });
  return own;
}

}  // namespace

absl::Status CheckAdditionName(const std::string& directory,
                               const std::string& name) {
  const auto files = ListJsonFiles(absl::StrCat(directory, "/additions"));
  std::vector<std::string> names;
  if (files.ok()) {
    for (const auto& [known, path] : *files) names.push_back(known);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return absl::OkStatus();
  }
  const std::string nearest = NearestWord(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no addition \"", name, "\" to a system call policy",
      nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"),
      nearest.empty() ? "; " : " ",
      names.empty()
          ? absl::StrCat("there are none in ", directory, "/additions")
          : absl::StrCat("there are: ", absl::StrJoin(names, ", "))));
}

absl::Status RuleAdder::Add(const std::string& addition,
                            std::vector<SeccompPolicy::Rule> rules) {
  std::map<int, std::string> named;
  for (const SeccompPolicy::Rule& rule : rules) {
    if (absl::Status allowed = CheckAllowed(addition, rule); !allowed.ok()) {
      return allowed;
    }
    named[rule.number] = rule.syscall;
  }
  for (const auto& [number, name] : named) {
    const std::vector<SeccompPolicy::Rule> there = RulesOf(number, rules_);
    if (!there.empty() && there.front().syscall != name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "addition \"", addition, "\": \"", name, "\" has the number of \"",
          there.front().syscall, "\", ", number));
    }
    const std::vector<SeccompPolicy::Rule> own = RulesOf(number, rules);
    const auto earlier = added_.find(number);
    if (earlier == added_.end()) {
      if (!RefusesSome(there) || !EndsWithAllowing(own)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "addition \"", addition, "\" allows \"", name,
          "\" whatever its arguments, some of which the policy refuses (set \"",
          there.front().set,
          "\"); say with \"when\" which it allows, and end with a rule that "
          "refuses the others"));
    }
    if (!std::equal(there.begin(), there.end(), own.begin(), own.end(),
                    SameRule)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "additions \"", earlier->second, "\" and \"", addition,
          "\" answer \"", name,
          "\" differently; leave one of them out of \"seccomp_add\""));
    }
  }
  std::erase_if(rules_, [&](const SeccompPolicy::Rule& rule) {
    return named.contains(rule.number);
  });
  std::move(rules.begin(), rules.end(), std::back_inserter(rules_));
  for (const auto& [number, name] : named) added_.try_emplace(number, addition);
  return absl::OkStatus();
}

}  // namespace sandglass::policy
