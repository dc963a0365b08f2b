#include "policy/seccomp/seccomp.h"

#include <seccomp.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp_additions.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kMaxNumber = kX32 - 1;

// The number on an architecture. Negative: no call at all (__NR_SCMP_ERROR), or
// one of other architectures, which libseccomp gives a number of its own.
int NumberOn(uint32_t architecture, const std::string& name) {
  return seccomp_syscall_resolve_name_arch(architecture, name.c_str());
}

struct Answer {
  std::string_view name;
  int error;
};
// Errors that a caller may get from a kernel that refuses a call; after EINTR
// or EAGAIN it would try again for ever.
constexpr Answer kAnswers[] = {
    {"allow", 0},
    {"ignore", SeccompPolicy::kIgnored},
    {"EPERM", EPERM},
    {"EACCES", EACCES},
    {"EBADF", EBADF},
    {"EINVAL", EINVAL},
    {"ENOSYS", ENOSYS},
    {"ENOTTY", ENOTTY},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EAFNOSUPPORT", EAFNOSUPPORT},
    {"EPROTONOSUPPORT", EPROTONOSUPPORT},
    {"ESOCKTNOSUPPORT", ESOCKTNOSUPPORT},
};
constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};

// The names of policies and sets become parts of paths.
bool IsName(const std::string& name) {
  if (name.empty() || name.size() > 64) return false;
  for (const char c : name) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') {
      return false;
    }
  }
  return true;
}

// Parses a number such as "0x1f" or "31".
std::optional<uint64_t> ParseNumber(const std::string& text) {
  const bool is_hex = text.size() > 2 && text[0] == '0' && text[1] == 'x';
  const std::string digits = is_hex ? text.substr(2) : text;
  const char* allowed = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
  uint64_t number = 0;
  if (digits.empty() ||
      digits.find_first_not_of(allowed) != std::string::npos ||
      !(is_hex ? absl::SimpleHexAtoi(digits, &number)
               : absl::SimpleAtoi(digits, &number))) {
    return std::nullopt;
  }
  return number;
}

uint64_t ReadNumber(JsonObject& object, const char* key,
                    std::optional<std::string> fallback = std::nullopt) {
  const std::string text = object.String(key, std::move(fallback));
  const std::optional<uint64_t> number = ParseNumber(text);
  if (!number && object.Has(key)) {
    object.AddError(key, absl::StrCat("\"", text,
                                      "\" is no number; write it like \"31\" "
                                      "or \"0x1f\", below 2^64"));
  }
  return number.value_or(0);
}

SeccompPolicy::ArgumentTest ReadTest(JsonObject object) {
  SeccompPolicy::ArgumentTest test;
  test.index = static_cast<unsigned>(object.Unsigned("arg", {.max = 5}));
  const uint64_t width = object.Unsigned("width", {.min = 32, .max = 64});
  if (width != 32 && width != 64) {
    object.AddError("width", "takes 32 (an int in the kernel) or 64");
  }
  const uint64_t whole = width == 32 ? uint64_t{0xffffffff} : ~uint64_t{0};
  test.mask = object.Has("mask") ? ReadNumber(object, "mask") : whole;
  test.op = object.String("op");
  test.value = ReadNumber(object, "value");

  bool known = false;
  for (const std::string_view op : kOperators) known |= op == test.op;
  if (!known) {
    object.AddError("op", absl::StrCat("\"", test.op,
                                       "\" is no operator; use ==, !=, <, <=, "
                                       "> or >="));
  }
  if (test.mask == 0 || (test.mask & ~whole) != 0) {
    object.AddError("mask", "must have a bit set, and none beyond the width");
  } else if ((test.value & ~test.mask) != 0) {
    object.AddError("value",
                    "has bits that the mask or width leaves out; the argument "
                    "could never equal it");
  }
  return test;
}

// Reads the rules of a policy from its files.
class Loader {
 public:
  explicit Loader(const std::string& directory) : directory_(directory) {}

  absl::Status ReadPolicy(const std::string& name) {
    if (!IsName(name)) return BadName("policy", name);
    absl::StatusOr<JsonDocument> document =
        JsonDocument::ReadFile(absl::StrCat(directory_, "/", name, ".json"));
    if (!document.ok()) return document.status();
    JsonObject root = document->root();
    RequireText(root, "description");
    const std::vector<std::string> sets = root.Strings("include");
    if (sets.empty()) root.AddError("include", "must name at least one set");
    std::set<std::string> seen;
    for (const std::string& set : sets) {
      if (!seen.insert(set).second) {
        root.AddError("include", absl::StrCat("names \"", set, "\" twice"));
      }
    }
    absl::Status status = document->Finish();
    for (size_t i = 0; status.ok() && i < sets.size(); ++i) {
      status = ReadSet(sets[i]);
    }
    return status;
  }

  absl::Status ReadAddition(const std::string& name) {
    return ReadRules(absl::StrCat("additions/", name));
  }

  std::vector<SeccompPolicy::Rule> ReleaseRules() { return std::move(rules_); }

 private:
  // What the rules read so far say about a call.
  struct Call {
    std::string set;
    bool decided = false;  // a rule without tests was read
  };

  static absl::Status BadName(const char* what, const std::string& name) {
    return absl::InvalidArgumentError(
        absl::StrCat("system call ", what, " \"", name,
                     "\": a name has 1 to 64 of a-z, 0-9 and _"));
  }

  static std::string RequireText(JsonObject& object, const char* key) {
    std::string text = object.String(key);
    if (text.empty() && object.Has(key)) {
      object.AddError(key, "must not be empty: it explains");
    }
    return text;
  }

  absl::Status ReadSet(const std::string& set) {
    if (!IsName(set)) return BadName("set", set);
    return ReadRules(absl::StrCat("sets/", set));
  }

  // Reads a file in the directory; `file` has no ".json".
  absl::Status ReadRules(const std::string& file) {
    absl::StatusOr<JsonDocument> document =
        JsonDocument::ReadFile(absl::StrCat(directory_, "/", file, ".json"));
    if (!document.ok()) return document.status();
    // A set's name doesn't include its directory.
    const std::string set =
        file.rfind("sets/", 0) == 0 ? file.substr(std::strlen("sets/")) : file;
    JsonObject root = document->root();
    RequireText(root, "description");
    std::map<std::string, uint64_t> numbers;
    if (std::optional<JsonObject> listed = root.OptionalObject("numbers")) {
      for (const std::string& call : listed->Keys()) {
        numbers[call] = listed->Unsigned(call, {.max = kMaxNumber});
      }
    }
    std::vector<JsonObject> rules = root.Objects("rules");
    if (rules.empty() && root.Has("rules")) {
      root.AddError("rules", "must have at least one rule");
    }
    for (JsonObject& rule : rules) ReadRule(set, numbers, rule);
    for (const auto& [call, state] : calls_) {
      if (state.set == set && !state.decided) {
        root.AddError("rules",
                      absl::StrCat("\"", call,
                                   "\" ends without a rule that has no "
                                   "\"when\"; say what else happens"));
      }
    }
    for (const auto& [call, number] : numbers) {
      if (!calls_.contains(call)) {
        root.AddError("numbers", absl::StrCat("no rule names \"", call, "\""));
      }
    }
    return document->Finish();
  }

  void ReadRule(const std::string& set,
                const std::map<std::string, uint64_t>& numbers,
                JsonObject& object) {
    SeccompPolicy::Rule rule = {.set = set};
    const std::vector<std::string> names = object.Strings("calls");
    rule.error = ReadAnswer(object);
    rule.reason = RequireText(object, "reason");
    if (object.Has("when")) {
      for (JsonObject& test : object.Objects("when")) {
        rule.tests.push_back(ReadTest(test));
      }
      if (rule.tests.empty()) {
        object.AddError("when", "is empty; leave it out for \"always\"");
      }
    }
    if (names.empty() && object.Has("calls")) {
      object.AddError("calls", "must name at least one call");
    }
    for (const std::string& name : names) {
      const std::optional<int> number = Number(name, numbers, object);
      if (!number) continue;
      rule.syscall = name;
      rule.number = *number;
      if (Register(set, rule, object) && *number >= 0) rules_.push_back(rule);
    }
  }

  static int ReadAnswer(JsonObject& object) {
    const std::string action = object.String("action");
    std::string choices;
    for (const Answer& answer : kAnswers) {
      if (answer.name == action) return answer.error;
      absl::StrAppend(&choices, choices.empty() ? "" : ", ",
                      std::string(answer.name));
    }
    object.AddError("action",
                    absl::StrCat("\"", action,
                                 "\" is no answer; it takes one of ", choices));
    return EPERM;
  }

  std::optional<int> Number(const std::string& name,
                            const std::map<std::string, uint64_t>& numbers,
                            JsonObject& object) {
    const int known = NumberOn(kArchitecture, name);
    // x86-64 alone has it: absent here, whatever the rules say.
    if (known < 0 && NumberOn(AUDIT_ARCH_X86_64, name) >= 0) return known;
    const auto listed = numbers.find(name);
    if (listed == numbers.end()) {
      if (known >= 0) return known;
      const scmp_version* version = seccomp_version();
      object.AddError(
          "calls", absl::StrCat("\"", name, "\" is no ", kArchitectureName,
                                " system call that libseccomp ", version->major,
                                ".", version->minor, ".", version->micro,
                                " knows; for a newer one write its ",
                                "number under \"numbers\""));
      return std::nullopt;
    }
    const int number = static_cast<int>(listed->second);
    if (known >= 0 && known != number) {
      object.AddError(
          "calls", absl::StrCat("\"", name, "\" has number ", known, ", not ",
                                number, " as \"numbers\" says"));
      return std::nullopt;
    }
    return number;
  }

  // Checks that `rule` can follow the rules that were read before it.
  bool Register(const std::string& set, const SeccompPolicy::Rule& rule,
                JsonObject& object) {
    const auto [owner, is_new_number] =
        names_.try_emplace(rule.number, rule.syscall);
    if (!is_new_number && owner->second != rule.syscall) {
      object.AddError(
          "calls", absl::StrCat("\"", rule.syscall, "\" has the number of \"",
                                owner->second, "\", ", rule.number));
      return false;
    }
    Call& call =
        calls_.try_emplace(rule.syscall, Call{.set = set}).first->second;
    if (call.set != set) {
      object.AddError("calls", absl::StrCat("\"", rule.syscall,
                                            "\" already has rules in set \"",
                                            call.set, "\""));
      return false;
    }
    if (call.decided) {
      object.AddError("calls",
                      absl::StrCat("\"", rule.syscall,
                                   "\" was decided by an earlier rule without "
                                   "\"when\"; this one is never reached"));
      return false;
    }
    call.decided = rule.tests.empty();
    return true;
  }

  const std::string& directory_;
  std::vector<SeccompPolicy::Rule> rules_;
  std::map<std::string, Call> calls_;
  std::map<int, std::string> names_;
};

}  // namespace

absl::StatusOr<SeccompPolicy> SeccompPolicy::Load(
    const std::string& directory, const std::string& name,
    const std::vector<std::string>& additions) {
  Loader loader(directory);
  if (absl::Status read = loader.ReadPolicy(name); !read.ok()) return read;
  SeccompPolicy policy;
  policy.rules_ = loader.ReleaseRules();
  RuleAdder adder(policy.rules_);
  for (const std::string& addition : additions) {
    if (absl::Status known = CheckAdditionName(directory, addition);
        !known.ok()) {
      return known;
    }
    // Read separately, whatever the policy or another addition says about the
    // same calls.
    Loader own(directory);
    absl::Status status = own.ReadAddition(addition);
    if (status.ok()) status = adder.Add(addition, own.ReleaseRules());
    if (!status.ok()) return status;
  }
  return policy;
}

}  // namespace sandglass::policy
