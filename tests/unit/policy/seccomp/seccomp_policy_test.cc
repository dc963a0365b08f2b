// Reading policies from files, and compiling rules that the shipped one lacks.

#include <gtest/gtest.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"
#include "policy/seccomp/seccomp_start.h"

namespace sandglass::policy {
namespace {

namespace fs = std::filesystem;

// A directory of policy files that goes with the test.
class SeccompPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        (fs::temp_directory_path() / "seccomp_policy_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    fs::create_directory(directory_ / "sets");
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(directory_ / file) << text;
  }

  // A policy of one set with these rules.
  absl::StatusOr<SeccompPolicy> LoadRules(const std::string& rules) {
    return LoadSet("{\"description\": \"d\", \"rules\": [" + rules + "]}");
  }
  absl::StatusOr<SeccompPolicy> LoadSet(const std::string& set) {
    Write("one.json", R"({"description": "d", "include": ["only"]})");
    Write("sets/only.json", set);
    return Load("one");
  }
  absl::StatusOr<SeccompPolicy> Load(const std::string& name) {
    return SeccompPolicy::Load(directory_.string(), name);
  }

  void ExpectRefused(const absl::StatusOr<SeccompPolicy>& policy,
                     const std::string& part) {
    ASSERT_FALSE(policy.ok()) << "expected: " << part;
    const std::string message(policy.status().message());
    EXPECT_NE(message.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << message;
  }

  fs::path directory_;
};

TEST_F(SeccompPolicyTest, ReadsRulesWithTheirReasons) {
  const auto policy = LoadRules(R"(
      // comments are fine
      {"calls": ["socket"], "action": "EAFNOSUPPORT", "reason": "because",
       "when": [{"arg": 0, "width": 32, "op": "!=", "value": "0x10"},
                {"arg": 1, "width": 64, "mask": "0xf", "op": "==",
                 "value": "3"}]},
      {"calls": ["socket", "read"], "action": "allow", "reason": "why not"})");
  ASSERT_TRUE(policy.ok()) << policy.status();
  ASSERT_EQ(policy->rules().size(), 3u);
  const SeccompPolicy::Rule& first = policy->rules()[0];
  EXPECT_EQ(first.syscall, "socket");
  EXPECT_EQ(first.number, SYS_socket);
  EXPECT_EQ(first.error, EAFNOSUPPORT);
  EXPECT_EQ(first.reason, "because");
  EXPECT_EQ(first.set, "only");
  ASSERT_EQ(first.tests.size(), 2u);
  EXPECT_EQ(first.tests[0].mask, 0xffffffffu);
  EXPECT_EQ(first.tests[0].value, 16u);
  EXPECT_EQ(first.tests[1].index, 1u);
  EXPECT_EQ(first.tests[1].mask, 0xfu);
  EXPECT_EQ(policy->rules()[2].syscall, "read");
  EXPECT_EQ(policy->rules()[2].error, 0);
}

TEST_F(SeccompPolicyTest, TakesNumbersOfCallsThatLibseccompDoesNotKnow) {
  const auto policy = LoadSet(R"({"description": "d",
      "numbers": {"future_call": 599, "fsopen": 430},
      "rules": [{"calls": ["future_call", "fsopen"], "action": "allow",
                 "reason": "r"}]})");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->rules()[0].number, 599);
  EXPECT_EQ(policy->rules()[1].number, 430);
}

TEST_F(SeccompPolicyTest, RefusesBadRules) {
  const std::string always =
      R"("calls": ["read"], "action": "allow", "reason": "r")";
  const auto with_test = [](const std::string& test) {
    return R"({"calls": ["read"], "action": "EPERM", "reason": "r",
               "when": [)" +
           test + R"(]},
              {"calls": ["read"], "action": "allow", "reason": "r"})";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "/rules: must have at least one rule"},
      {"7", "/rules/0"},
      {"{" + always + R"(, "typo": 1})", "/rules/0/typo"},
      {R"({"action": "allow", "reason": "r"})", "/rules/0/calls"},
      {R"({"calls": [], "action": "allow", "reason": "r"})",
       "must name at least one call"},
      {R"({"calls": ["read"], "action": "allow"})", "/rules/0/reason"},
      {R"({"calls": ["read"], "action": "allow", "reason": ""})",
       "/rules/0/reason: must not be empty"},
      {R"({"calls": ["read"], "reason": "r"})", "/rules/0/action"},
      {R"({"calls": ["read"], "action": "kill", "reason": "r"})",
       "\"kill\" is no answer; it takes one of allow, ignore, EPERM"},
      {R"({"calls": ["read"], "action": "EINTR", "reason": "r"})",
       "\"EINTR\" is no answer"},
      {R"({"calls": ["raed"], "action": "allow", "reason": "r"})",
       std::string("\"raed\" is no ") + kArchitectureName + " system call"},
      // Calls of i386, which libseccomp gives numbers of its own.
      {R"({"calls": ["socketcall"], "action": "allow", "reason": "r"})",
       "\"socketcall\" is no "},
      {"{" + always + "}, {" + always + "}", "this one is never reached"},
      {R"({"calls": ["read", "read"], "action": "allow", "reason": "r"})",
       "this one is never reached"},
      {R"({"calls": ["read"], "action": "EPERM", "reason": "r",
           "when": [{"arg": 0, "width": 32, "op": "==", "value": "1"}]})",
       "\"read\" ends without a rule that has no \"when\""},
      {with_test(""), "/rules/0/when: is empty"},
      {with_test(R"({"width": 32, "op": "==", "value": "1"})"),
       "/rules/0/when/0/arg"},
      {with_test(R"({"arg": 6, "width": 32, "op": "==", "value": "1"})"),
       "/rules/0/when/0/arg"},
      {with_test(R"({"arg": -1, "width": 32, "op": "==", "value": "1"})"),
       "/rules/0/when/0/arg"},
      {with_test(R"({"arg": 0, "op": "==", "value": "1"})"),
       "/rules/0/when/0/width"},
      {with_test(R"({"arg": 0, "width": 33, "op": "==", "value": "1"})"),
       "/rules/0/when/0/width: takes 32"},
      {with_test(R"({"arg": 0, "width": 32, "op": "=", "value": "1"})"),
       "/rules/0/when/0/op: \"=\" is no operator"},
      {with_test(R"({"arg": 0, "width": 32, "op": "=="})"),
       "/rules/0/when/0/value"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": 1})"),
       "/rules/0/when/0/value"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": "-1"})"),
       "\"-1\" is no number"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": " 1"})"),
       "\" 1\" is no number"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": "0x"})"),
       "\"0x\" is no number"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": ""})"),
       "is no number"},
      {with_test(R"({"arg": 0, "width": 64, "op": "==",
                     "value": "0x10000000000000000"})"),
       "is no number"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==",
                     "value": "0x100000000"})"),
       "/rules/0/when/0/value: has bits that the mask or width leaves out"},
      {with_test(R"({"arg": 0, "width": 32, "mask": "0xf0", "op": "==",
                     "value": "1"})"),
       "/rules/0/when/0/value: has bits"},
      {with_test(R"({"arg": 0, "width": 32, "mask": "0", "op": "==",
                     "value": "0"})"),
       "/rules/0/when/0/mask: must have a bit set"},
      {with_test(R"({"arg": 0, "width": 32, "mask": "0x100000000", "op": "==",
                     "value": "0"})"),
       "/rules/0/when/0/mask"},
      {with_test(R"({"arg": 0, "width": 32, "op": "==", "value": "1",
                     "note": "?"})"),
       "/rules/0/when/0/note"},
  };
  for (const auto& [rules, message] : cases) {
    SCOPED_TRACE(rules);
    ExpectRefused(LoadRules(rules), message);
    ExpectRefused(LoadRules(rules), "sets/only.json");
  }
}

// The number of another call is no way to name one that is lacking.
TEST_F(SeccompPolicyTest, CallsThatX86AloneHasNeedNoRuleElsewhere) {
  const auto policy = LoadSet(R"({
      "description": "d", "numbers": {"open": 2}, "rules": [
      {"calls": ["open", "openat"], "action": "allow", "reason": "r"}]})");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->rules().size(), SYS_open < 0 ? 1u : 2u);
  EXPECT_EQ(policy->rules().back().number, SYS_openat);
}

TEST_F(SeccompPolicyTest, RefusesBadNumbers) {
  const auto with_numbers = [this](const std::string& numbers) {
    return LoadSet(R"({"description": "d", "numbers": )" + numbers +
                   R"(, "rules": [{"calls": ["fsopen", "future_call"],
                                   "action": "allow", "reason": "r"}]})");
  };
  EXPECT_TRUE(with_numbers(R"({"future_call": 1000})").ok());
  ExpectRefused(with_numbers(R"({"future_call": 430})"),
                "\"future_call\" has the number of \"fsopen\", 430");
  ExpectRefused(with_numbers(R"({"future_call": 1000, "fsopen": 1})"),
                "\"fsopen\" has number 430, not 1");
  ExpectRefused(with_numbers(R"({"future_call": 1000, "unused": 1001})"),
                "no rule names \"unused\"");
  ExpectRefused(with_numbers(R"({"future_call": 1073741824})"),
                "/numbers/future_call");
  ExpectRefused(with_numbers(R"({"future_call": -1})"), "/numbers/future_call");
  ExpectRefused(with_numbers(R"(["future_call"])"), "/numbers");
}

TEST_F(SeccompPolicyTest, RefusesBadPolicyFiles) {
  Write("sets/good.json", R"({"description": "d", "rules": [
      {"calls": ["read"], "action": "allow", "reason": "r"}]})");
  Write("sets/other.json", R"({"description": "d", "rules": [
      {"calls": ["read"], "action": "EPERM", "reason": "r"}]})");
  const auto with_policy = [this](const std::string& text) {
    Write("one.json", text);
    return Load("one");
  };
  EXPECT_TRUE(with_policy(R"({"description": "d", "include": ["good"]})").ok());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "one.json"},
      {"[]", "one.json"},
      {R"({"include": ["good"]})", "/description"},
      {R"({"description": "", "include": ["good"]})", "/description"},
      {R"({"description": "d"})", "/include"},
      {R"({"description": "d", "include": []})", "at least one set"},
      {R"({"description": "d", "include": "good"})", "/include"},
      {R"({"description": "d", "include": ["good", "good"]})",
       "names \"good\" twice"},
      {R"({"description": "d", "include": ["good", "other"]})",
       "\"read\" already has rules in set \"good\""},
      {R"({"description": "d", "include": ["good"], "default": "allow"})",
       "/default"},
      {R"({"description": "d", "include": ["../sets/good"]})",
       "system call set \"../sets/good\""},
      {R"({"description": "d", "include": [""]})", "system call set \"\""},
      {R"({"description": "d", "include": ["Good"]})", "a-z, 0-9 and _"},
      {R"({"description": "d", "include": ["missing"]})", "sets/missing.json"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    ExpectRefused(with_policy(text), message);
  }
  ExpectRefused(Load("absent"), "absent.json");
  ExpectRefused(Load("../one"), "system call policy \"../one\"");
  ExpectRefused(Load(std::string(65, 'a')), "1 to 64");
  EXPECT_EQ(Load("absent").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SeccompPolicyTest, ShippedPolicyUsesEveryShippedSet) {
  const auto policy = SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default");
  ASSERT_TRUE(policy.ok()) << policy.status();
  std::set<std::string> used;
  for (const auto& rule : policy->rules()) used.insert(rule.set);
  for (const auto& entry :
       fs::directory_iterator(fs::path(SANDGLASS_SECCOMP_DATA) / "sets")) {
    EXPECT_TRUE(used.contains(entry.path().stem().string())) << entry.path();
  }
}

// All operators over both words of an argument.
TEST_F(SeccompPolicyTest, CompilesComparisonsOfAllWidths) {
  constexpr uint64_t kHigh = 0x500000000;
  const std::vector<uint64_t> arguments = {0,
                                           6,
                                           7,
                                           8,
                                           kHigh - 1,
                                           kHigh,
                                           kHigh + 6,
                                           kHigh + 7,
                                           kHigh + 8,
                                           kHigh * 2,
                                           ~uint64_t{0},
                                           0x400000009,
                                           0x600000001,
                                           0xffffffff,
                                           0x500000007 | uint64_t{1} << 63};
  const auto compare = [](const std::string& op, uint64_t a, uint64_t b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    return a >= b;
  };
  for (const std::string op : {"==", "!=", "<", "<=", ">", ">="}) {
    for (const uint64_t mask :
         {~uint64_t{0}, uint64_t{0xffffffff}, uint64_t{0xf},
          uint64_t{0xffffffff00000000}, uint64_t{0xf0000000f}}) {
      const uint64_t value = (kHigh + 7) & mask;
      const auto policy = LoadRules(
          R"({"calls": ["read"], "action": "EPERM", "reason": "r", "when": [
              {"arg": 5, "width": 64, "op": ")" +
          op + R"(", "value": ")" + std::to_string(value) + R"(", "mask": ")" +
          std::to_string(mask) +
          R"("}]}, {"calls": ["read"], "action": "allow", "reason": "r"})");
      ASSERT_TRUE(policy.ok()) << policy.status();
      const auto program = policy->Compile();
      ASSERT_TRUE(program.ok()) << program.status();
      for (const uint64_t argument : arguments) {
        const auto answer = EvaluateFilter(*program, kArchitecture, SYS_read,
                                           {0, 0, 0, 0, 0, argument});
        ASSERT_TRUE(answer.ok()) << answer.status();
        EXPECT_EQ(*answer, compare(op, argument & mask, value)
                               ? SECCOMP_RET_ERRNO | EPERM
                               : SECCOMP_RET_ALLOW)
            << std::hex << argument << " & " << mask << " " << op << " "
            << value;
      }
    }
  }
}

// Far more code than an 8-bit jump can pass.
TEST_F(SeccompPolicyTest, CompilesLongPolicies) {
  std::string rules;
  for (int i = 0; i < 600; ++i) {
    rules += R"({"calls": ["read"], "action": "EPERM", "reason": "r", "when": [
        {"arg": 0, "width": 64, "op": "==", "value": ")" +
             std::to_string(uint64_t{0x100000001} * static_cast<uint64_t>(i)) +
             R"("}]},)";
  }
  const auto policy =
      LoadRules(rules + R"({"calls": ["read", "write"], "action": "allow",
                  "reason": "r"})");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const auto program = policy->Compile();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_GT(program->size(), 1200u);
  const auto ask = [&program](int number, uint64_t argument) {
    return *EvaluateFilter(*program, kArchitecture, number, {argument});
  };
  for (uint64_t i = 0; i < 700; ++i) {
    EXPECT_EQ(ask(SYS_read, 0x100000001 * i),
              i < 600 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW)
        << i;
    EXPECT_EQ(ask(SYS_read, 0x100000001 * i + (uint64_t{1} << 60)),
              SECCOMP_RET_ALLOW)
        << i;
  }
  EXPECT_EQ(ask(SYS_write, 0), SECCOMP_RET_ALLOW);
  EXPECT_EQ(ask(SYS_close, 0), SECCOMP_RET_ERRNO | ENOSYS);
}

TEST_F(SeccompPolicyTest, RefusesToCompileMoreThanTheKernelTakes) {
  std::string rules;
  for (int i = 0; i < 2000; ++i) {
    rules += R"({"calls": ["read"], "action": "EPERM", "reason": "r", "when": [
        {"arg": 0, "width": 64, "op": "==", "value": ")" +
             std::to_string(uint64_t{0x100000001} * static_cast<uint64_t>(i)) +
             R"("}]},)";
  }
  const auto policy = LoadRules(
      rules + R"({"calls": ["read"], "action": "allow", "reason": "r"})");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->Compile().status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(SeccompPolicyTest, SaysWhichCallsOfAStartAFilterRefuses) {
  const std::string all =
      R"("sendmsg", "close", "openat", "openat2", "fchdir", "execve",
         "clock_gettime", "exit_group")";
  const auto check = [&](const std::string& rules) {
    const auto policy = LoadRules(rules);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return CheckStartsPrograms(*policy->Compile());
  };
  EXPECT_TRUE(
      check(R"({"calls": [)" + all + R"(], "action": "allow", "reason": "r"})")
          .ok());
  // One that no rule names, one that is refused, and one that only pretends.
  const absl::Status without = check(
      R"({"calls": ["sendmsg", "close", "openat", "execve", "clock_gettime",
                    "exit_group"], "action": "allow", "reason": "r"},
         {"calls": ["fchdir"], "action": "EPERM", "reason": "r"})");
  EXPECT_EQ(without.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(without.message().find("its filter refuses openat2, fchdir, "),
            std::string::npos)
      << without;
  EXPECT_FALSE(CheckStartsPrograms({}).ok());
}

TEST_F(SeccompPolicyTest, LooksForAStartWithItsOwnArguments) {
  // Allows all calls of a start but one, which it refuses by one argument.
  const auto check = [&](const std::string& call, const std::string& test) {
    std::string rules = R"({"calls": [")" + call +
                        R"("], "action": "EPERM", "reason": "r", "when": [{)" +
                        test + "}]}";
    for (const char* each : {"close", "openat", "openat2", "fchdir", "execve",
                             "clock_gettime", "exit_group"}) {
      rules += std::string(R"(, {"calls": [")") + each +
               R"("], "action": "allow", "reason": "r"})";
    }
    const auto policy = LoadRules(rules);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return CheckStartsPrograms(*policy->Compile());
  };
  struct Case {
    const char* call;
    const char* test;
  };
  for (const auto& [call, test] : {
           Case{"close", R"("arg": 0, "width": 32, "op": ">", "value": "2")"},
           Case{"openat", R"("arg": 0, "width": 32, "op": "==",
                             "value": "0xffffff9c")"},
           // The same descriptor in both of its forms.
           Case{"openat", R"("arg": 0, "width": 64, "op": "==",
                             "value": "0xffffff9c")"},
           Case{"openat", R"("arg": 0, "width": 64, "op": "==",
                             "value": "0xffffffffffffff9c")"},
           // O_PATH.
           Case{"openat", R"("arg": 2, "width": 32, "mask": "0x200000",
                             "op": "!=", "value": "0")"},
           Case{"openat2", R"("arg": 3, "width": 64, "op": ">=",
                              "value": "24")"},
           Case{"fchdir", R"("arg": 0, "width": 32, "op": "==",
                             "value": "4")"},
           Case{"execve", R"("arg": 0, "width": 64, "op": "!=",
                             "value": "0")"},
           Case{"execve", R"("arg": 2, "width": 64, "op": ">",
                             "value": "0x7f0000000000")"},
           // No argument of the call's.
           Case{"execve", R"("arg": 5, "width": 64, "op": "!=",
                             "value": "0")"},
           Case{"clock_gettime", R"("arg": 0, "width": 32, "op": "==",
                                    "value": "1")"},
           Case{"exit_group", R"("arg": 0, "width": 32, "op": "==",
                                 "value": "127")"},
       }) {
    SCOPED_TRACE(std::string(call) + ": " + test);
    const absl::Status starts = check(call, test);
    EXPECT_EQ(starts.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(starts.message().find(std::string("its filter refuses ") + call +
                                    ", without which"),
              std::string::npos)
        << starts;
  }
  // What no start asks for.
  for (const auto& [call, test] : {
           Case{"close", R"("arg": 0, "width": 32, "op": "<", "value": "3")"},
           // O_CREAT.
           Case{"openat", R"("arg": 2, "width": 32, "mask": "0x40",
                             "op": "!=", "value": "0")"},
           Case{"execve", R"("arg": 0, "width": 64, "op": "==",
                             "value": "0")"},
           Case{"clock_gettime", R"("arg": 0, "width": 32, "op": "==",
                                    "value": "0")"},
           Case{"exit_group", R"("arg": 0, "width": 32, "op": "==",
                                 "value": "0")"},
       }) {
    EXPECT_TRUE(check(call, test).ok()) << call << ": " << test;
  }
}

TEST_F(SeccompPolicyTest, AStartNeedsBothFormsOfANegativeArgument) {
  const auto check = [&](const std::vector<std::string>& forms) {
    std::string rules =
        R"({"calls": ["close", "openat2", "fchdir", "execve", "clock_gettime",
                      "exit_group"], "action": "allow", "reason": "r"})";
    for (const std::string& form : forms) {
      rules += R"(, {"calls": ["openat"], "action": "allow", "reason": "r",
                     "when": [{"arg": 0, "width": 64, "op": "==", "value": ")" +
               form + "\"}]}";
    }
    rules += R"(, {"calls": ["openat"], "action": "EPERM", "reason": "r"})";
    const auto policy = LoadRules(rules);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return CheckStartsPrograms(*policy->Compile());
  };
  const std::string narrow = "0xffffff9c";
  const std::string wide = "0xffffffffffffff9c";
  for (const std::string& form : {narrow, wide}) {
    const absl::Status starts = check({form});
    EXPECT_EQ(starts.code(), absl::StatusCode::kInvalidArgument) << form;
    EXPECT_NE(starts.message().find("its filter refuses openat, without which"),
              std::string::npos)
        << starts;
  }
  const absl::Status starts = check({narrow, wide});
  EXPECT_TRUE(starts.ok()) << starts;
}

TEST_F(SeccompPolicyTest, TheShippedPolicyStartsPrograms) {
  for (const std::vector<std::string>& additions :
       {std::vector<std::string>(),
        {"debugging", "message-passing", "personality"}}) {
    const auto policy =
        SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default", additions);
    ASSERT_TRUE(policy.ok()) << policy.status();
    const absl::Status starts = CheckStartsPrograms(*policy->Compile());
    EXPECT_TRUE(starts.ok()) << starts;
  }
}

}  // namespace
}  // namespace sandglass::policy
