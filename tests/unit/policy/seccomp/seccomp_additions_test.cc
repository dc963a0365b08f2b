// Additions to a system call policy: what they change, what none may, and those
// that are shipped.

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

using testing::WriteFile;
namespace fs = std::filesystem;

std::string RuleSet(const std::string& rules) {
  return "{\"description\": \"d\", \"rules\": [" + rules + "]}";
}

uint32_t Ask(const absl::StatusOr<SeccompPolicy>& policy, int number,
             uint64_t first = 0) {
  EXPECT_TRUE(policy.ok()) << policy.status();
  if (!policy.ok()) return SECCOMP_RET_KILL_PROCESS;
  const auto program = policy->Compile();
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return SECCOMP_RET_KILL_PROCESS;
  const uint64_t arguments[6] = {first};
  return EvaluateFilter(*program, kArchitecture, number, arguments)
      .value_or(SECCOMP_RET_KILL_PROCESS);
}

constexpr uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;

// A policy "base" that allows read, write but to descriptor 7, and refuses
// ptrace.
class SeccompAdditionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_.Path("sets"));
    fs::create_directory(directory_.Path("additions"));
    WriteFile(directory_.Path("base.json"),
              R"({"description": "d", "include": ["only"]})");
    WriteFile(directory_.Path("sets/only.json"), RuleSet(R"(
        {"calls": ["write"], "action": "EPERM", "reason": "r",
         "when": [{"arg": 0, "width": 32, "op": "==", "value": "7"}]},
        {"calls": ["read", "write"], "action": "allow", "reason": "r"},
        {"calls": ["ptrace"], "action": "EPERM", "reason": "r"})"));
  }

  void Write(const std::string& name, const std::string& rules) {
    WriteFile(directory_.Path("additions/" + name + ".json"), RuleSet(rules));
  }
  absl::StatusOr<SeccompPolicy> Load(
      const std::vector<std::string>& additions) {
    return SeccompPolicy::Load(directory_.path(), "base", additions);
  }
  void ExpectRefused(const std::vector<std::string>& additions,
                     const std::string& part) {
    const auto policy = Load(additions);
    ASSERT_FALSE(policy.ok()) << "expected: " << part;
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(policy.status().message().find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << policy.status();
  }

  const testing::TempDir directory_;
};

TEST_F(SeccompAdditionsTest, TakesThePlaceOfAllThatThePolicySaysOfACall) {
  Write("more", R"(
      {"calls": ["write"], "action": "EACCES", "reason": "r",
       "when": [{"arg": 0, "width": 32, "op": "==", "value": "8"}]},
      {"calls": ["write"], "action": "allow", "reason": "r",
       "when": [{"arg": 0, "width": 32, "op": "<", "value": "9"}]},
      {"calls": ["write"], "action": "EPERM", "reason": "r"},
      {"calls": ["ptrace", "getcpu"], "action": "allow", "reason": "r"})");
  const auto without = Load({});
  EXPECT_EQ(Ask(without, SYS_write, 7), kRefused);
  EXPECT_EQ(Ask(without, SYS_ptrace), kRefused);
  EXPECT_EQ(Ask(without, SYS_getcpu),
            static_cast<uint32_t>(SECCOMP_RET_ERRNO | ENOSYS));

  const auto with = Load({"more"});
  EXPECT_EQ(Ask(with, SYS_read), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(with, SYS_write, 7), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(with, SYS_write, 8),
            static_cast<uint32_t>(SECCOMP_RET_ERRNO | EACCES));
  EXPECT_EQ(Ask(without, SYS_write, 9), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(with, SYS_write, 9), kRefused);
  EXPECT_EQ(Ask(with, SYS_ptrace), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(with, SYS_getcpu), SECCOMP_RET_ALLOW);
  ASSERT_TRUE(with.ok());
  for (const auto& rule : with->rules()) {
    EXPECT_EQ(rule.set, rule.syscall == "read" ? "only" : "additions/more");
  }
}

TEST_F(SeccompAdditionsTest, CanTighten) {
  Write("less", R"({"calls": ["read", "clone", "socket"], "action": "EPERM",
                    "reason": "r"})");
  EXPECT_EQ(Ask(Load({"less"}), SYS_read), kRefused);
}

TEST_F(SeccompAdditionsTest, NoneUndoesWhatThePolicySaysOfArguments) {
  const std::string part =
      "allows \"write\" whatever its arguments, some of which the policy "
      "refuses (set \"only\"); say with \"when\"";
  Write("all", R"({"calls": ["write"], "action": "allow", "reason": "r"})");
  ExpectRefused({"all"}, "addition \"all\" " + part);
  // Nor what refuses something else.
  Write("other", R"({"calls": ["write"], "action": "EACCES", "reason": "r",
       "when": [{"arg": 0, "width": 32, "op": "==", "value": "8"}]},
      {"calls": ["write"], "action": "allow", "reason": "r"})");
  ExpectRefused({"other"}, "addition \"other\" " + part);
  // Of what the policy answers alike for all arguments it may decide.
  Write("plain", R"({"calls": ["read", "ptrace"], "action": "allow",
                     "reason": "r"})");
  EXPECT_EQ(Ask(Load({"plain"}), SYS_ptrace), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(Load({"plain"}), SYS_write, 7), kRefused);
}

TEST_F(SeccompAdditionsTest, OrderDecidesNothing) {
  Write("a", R"({"calls": ["ptrace", "getcpu"], "action": "allow",
                 "reason": "one"})");
  Write("b", R"({"calls": ["ptrace"], "action": "allow", "reason": "other"})");
  Write("c", R"({"calls": ["ptrace"], "action": "EACCES", "reason": "r"})");
  Write("d", R"({"calls": ["ptrace"], "action": "EPERM", "reason": "r",
                 "when": [{"arg": 0, "width": 32, "op": "==", "value": "1"}]},
                {"calls": ["ptrace"], "action": "allow", "reason": "r"})");
  for (const std::vector<std::string>& both :
       {std::vector<std::string>{"a", "b"}, {"b", "a"}}) {
    EXPECT_EQ(Ask(Load(both), SYS_ptrace), SECCOMP_RET_ALLOW);
    EXPECT_EQ(Ask(Load(both), SYS_getcpu), SECCOMP_RET_ALLOW);
  }
  ExpectRefused({"a", "c"},
                "additions \"a\" and \"c\" answer \"ptrace\" differently");
  ExpectRefused({"c", "a"}, "\"c\" and \"a\" answer");
  ExpectRefused({"b", "d"}, "answer \"ptrace\" differently");
}

TEST_F(SeccompAdditionsTest, RefusesUnknownNamesWithTheNearest) {
  Write("debugging", R"({"calls": ["ptrace"], "action": "allow",
                         "reason": "r"})");
  Write("other", R"({"calls": ["getcpu"], "action": "allow", "reason": "r"})");
  ExpectRefused({"debuging"},
                "there is no addition \"debuging\" to a system call policy; "
                "did you mean \"debugging\"? there are: debugging, other");
  ExpectRefused({"xyz"}, "there are: debugging, other");
  // No way out of the directory.
  ExpectRefused({"../sets/only"}, "there is no addition \"../sets/only\"");
  ExpectRefused({""}, "there is no addition \"\"");
  ExpectRefused({"other", "missing"}, "there is no addition \"missing\"");
  fs::remove_all(directory_.Path("additions"));
  ExpectRefused({"debugging"}, "there are none in");
}

TEST_F(SeccompAdditionsTest, BadRulesAreRefusedAsInSets) {
  Write("bad", R"({"calls": ["ptrace"], "action": "allow"})");
  ExpectRefused({"bad"}, "additions/bad.json: /rules/0/reason");
  Write("bad", R"({"calls": ["ptrace"], "action": "allow", "reason": ""})");
  ExpectRefused({"bad"}, "/rules/0/reason: must not be empty");
  Write("bad", "");
  ExpectRefused({"bad"}, "must have at least one rule");
  Write("bad", R"({"calls": ["ptrce"], "action": "allow", "reason": "r"})");
  ExpectRefused({"bad"}, absl::StrCat("\"ptrce\" is no ", kArchitectureName,
                                      " system call"));
  WriteFile(directory_.Path("additions/bad.json"), "{");
  ExpectRefused({"bad"}, "additions/bad.json");
  WriteFile(directory_.Path("additions/bad.json"),
            absl::StrCat(R"({"description": "d", "numbers": {"my_read": )",
                         SYS_read, R"(}, "rules": [
                {"calls": ["my_read"], "action": "allow", "reason": "r"}]})"));
  ExpectRefused(
      {"bad"},
      absl::StrCat("\"my_read\" has the number of \"read\", ", SYS_read));
}

TEST_F(SeccompAdditionsTest, NoneMayAllowWhatLeadsOutOfTheRun) {
  for (const std::string call : {"unshare",
                                 "setns",
                                 "clone",
                                 "clone3",
                                 "mount",
                                 "umount2",
                                 "pivot_root",
                                 "chroot",
                                 "fsopen",
                                 "fsconfig",
                                 "fsmount",
                                 "fspick",
                                 "move_mount",
                                 "open_tree",
                                 "mount_setattr",
                                 "bpf",
                                 "keyctl",
                                 "add_key",
                                 "request_key",
                                 "io_uring_setup",
                                 "io_uring_enter",
                                 "io_uring_register",
                                 "perf_event_open",
                                 "userfaultfd",
                                 "open_by_handle_at",
                                 "init_module",
                                 "finit_module",
                                 "kexec_load",
                                 "reboot",
                                 "seccomp",
                                 "syslog",
                                 "settimeofday",
                                 "fanotify_init",
                                 "inotify_init1",
                                 "socket",
                                 "socketpair",
                                 "setsockopt",
                                 "prctl",
                                 "mmap",
                                 "madvise",
                                 "fcntl",
                                 "ioctl",
                                 "memfd_create",
                                 "shmget",
                                 "mknod",
                                 "mknodat",
                                 "setrlimit",
                                 "prlimit64"}) {
    if (call == "mknod" && SYS_mknod < 0) continue;  // x86-64 alone has it
    SCOPED_TRACE(call);
    Write("x", R"({"calls": [")" + call +
                   R"("], "action": "allow", "reason": "r"})");
    ExpectRefused({"x"},
                  absl::StrCat("addition \"x\" allows \"", call, "\" ("));
    // Nor in some form.
    Write("x", absl::StrCat(R"({"calls": [")", call,
                            R"("], "action": "allow", "reason": "r", "when": [
                       {"arg": 5, "width": 64, "op": "==", "value": "1"}]},
                      {"calls": [")",
                            call, R"("], "action": "EPERM", "reason": "r"})"));
    ExpectRefused({"x"}, "which no addition may");
    Write("x", R"({"calls": [")" + call +
                   R"("], "action": "EACCES", "reason": "r"})");
    EXPECT_TRUE(Load({"x"}).ok()) << Load({"x"}).status();
  }
  // Nor under another name.
  WriteFile(directory_.Path("additions/x.json"),
            absl::StrCat(R"({"description": "d", "numbers": {"innocent": )",
                         SYS_unshare, R"(}, "rules": [
                {"calls": ["innocent"], "action": "allow", "reason": "r"}]})"));
  ExpectRefused({"x"}, absl::StrCat("\"innocent\" (", SYS_unshare,
                                    "), which no addition may: it makes or "
                                    "enters namespaces"));
}

std::vector<std::string> ShippedAdditions() {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SANDGLASS_SECCOMP_DATA) / "additions")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<SeccompPolicy> LoadShipped(
    const std::vector<std::string>& additions) {
  return SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default", additions);
}

TEST(ShippedAdditions, AllGoTogetherAndChangeOnlyWhatTheyName) {
  const std::vector<std::string> names = ShippedAdditions();
  EXPECT_EQ(names, (std::vector<std::string>{"debugging", "message-passing",
                                             "personality"}));
  const auto all = LoadShipped(names);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto none = LoadShipped({});
  const std::vector<int> changed = {SYS_ptrace, SYS_process_vm_readv,
                                    SYS_process_vm_writev};
  for (int number = 0; number < 600; ++number) {
    const bool is_changed =
        std::find(changed.begin(), changed.end(), number) != changed.end();
    EXPECT_EQ(Ask(all, number),
              is_changed ? SECCOMP_RET_ALLOW : Ask(none, number))
        << number;
  }
}

// Of every call that the shipped policy answers by its arguments.
TEST(ShippedPolicy, NoAdditionAllowsWhateverTheArguments) {
  const testing::TempDir directory;
  fs::copy(SANDGLASS_SECCOMP_DATA, directory.Path("seccomp"),
           fs::copy_options::recursive);
  const auto policy = LoadShipped({});
  ASSERT_TRUE(policy.ok()) << policy.status();
  std::set<std::string> with_tests;
  for (const SeccompPolicy::Rule& rule : policy->rules()) {
    if (!rule.tests.empty()) with_tests.insert(rule.syscall);
  }
  EXPECT_GE(with_tests.size(), 20u);
  for (const std::string& call : with_tests) {
    WriteFile(directory.Path("seccomp/additions/all.json"),
              RuleSet(R"({"calls": [")" + call +
                      R"("], "action": "allow", "reason": "r"})"));
    const auto undone =
        SeccompPolicy::Load(directory.Path("seccomp"), "default", {"all"});
    EXPECT_EQ(undone.status().code(), absl::StatusCode::kInvalidArgument)
        << call << ": " << undone.status();
  }
}

TEST(ShippedAdditions, DebuggingAllowsTracing) {
  const auto policy = LoadShipped({"debugging"});
  EXPECT_EQ(Ask(policy, SYS_ptrace), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(policy, SYS_process_vm_readv), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(policy, SYS_pidfd_getfd), kRefused);
  EXPECT_EQ(Ask(policy, SYS_personality, 0x40000), kRefused);
}

TEST(ShippedAdditions, PersonalityAllowsFixedAddressesAndNoMore) {
  const auto policy = LoadShipped({"personality"});
  EXPECT_EQ(Ask(policy, SYS_personality, 0), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(policy, SYS_personality, 0x40000), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(policy, SYS_personality, 0xffffffff), SECCOMP_RET_ALLOW);
  // ADDR_COMPAT_LAYOUT, READ_IMPLIES_EXEC, PER_SVR4, and with high bits.
  for (const uint64_t value : {uint64_t{0x200000}, uint64_t{0x400000},
                               uint64_t{0x440000}, uint64_t{0x4100001}}) {
    EXPECT_EQ(Ask(policy, SYS_personality, value), kRefused) << value;
    EXPECT_EQ(Ask(policy, SYS_personality, value | uint64_t{1} << 40),
              kRefused);
  }
  EXPECT_EQ(Ask(policy, SYS_ptrace), kRefused);
}

// "Receiving signals." and longer.
TEST(ShippedPolicy, EveryRuleHasASentenceForItsReason) {
  const auto policy = LoadShipped(ShippedAdditions());
  const auto plain = LoadShipped({});
  ASSERT_TRUE(policy.ok() && plain.ok());
  std::vector<SeccompPolicy::Rule> rules = policy->rules();
  rules.insert(rules.end(), plain->rules().begin(), plain->rules().end());
  for (const std::string& name : ShippedAdditions()) {
    const auto own = LoadShipped({name});
    ASSERT_TRUE(own.ok()) << own.status();
    rules.insert(rules.end(), own->rules().begin(), own->rules().end());
  }
  for (const SeccompPolicy::Rule& rule : rules) {
    SCOPED_TRACE(rule.set + ": " + rule.syscall + ": " + rule.reason);
    ASSERT_GE(rule.reason.size(), 15u);
    EXPECT_EQ(rule.reason.back(), '.');
    EXPECT_FALSE(std::isspace(static_cast<unsigned char>(rule.reason.front())));
    EXPECT_GE(std::count(rule.reason.begin(), rule.reason.end(), ' '), 1);
  }
}

}  // namespace
}  // namespace sandglass::policy
