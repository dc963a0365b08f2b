// A set of system call rules. What is accepted compiles to a filter that the
// kernel would install, and that answers as the rules say when they are read
// one after another.
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

const fuzz::Directory& Policies() {
  static const fuzz::Directory* const directory = [] {
    auto* made = new fuzz::Directory();
    std::filesystem::create_directory(made->Path("sets"));
    made->Write("fuzz.json", R"({"description": "d", "include": ["set"]})");
    std::atexit([] { std::filesystem::remove_all(Policies().path()); });
    return made;
  }();
  return *directory;
}

bool Holds(const SeccompPolicy::ArgumentTest& test, uint64_t argument) {
  const uint64_t value = argument & test.mask;
  if (test.op == "==") return value == test.value;
  if (test.op == "!=") return value != test.value;
  if (test.op == "<") return value < test.value;
  if (test.op == "<=") return value <= test.value;
  if (test.op == ">") return value > test.value;
  FUZZ_CHECK(test.op == ">=");
  return value >= test.value;
}

uint32_t Wanted(const SeccompPolicy& policy, int number,
                const uint64_t (&arguments)[6]) {
  for (const SeccompPolicy::Rule& rule : policy.rules()) {
    if (rule.number != number ||
        !std::all_of(rule.tests.begin(), rule.tests.end(),
                     [&](const auto& test) {
                       return Holds(test, arguments[test.index]);
                     })) {
      continue;
    }
    if (rule.error == 0) return SECCOMP_RET_ALLOW;
    const int error = rule.error == SeccompPolicy::kIgnored ? 0 : rule.error;
    return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
  }
  return SECCOMP_RET_ERRNO | ENOSYS;
}

void CheckCall(const SeccompPolicy& policy, const BpfProgram& program,
               int number, const uint64_t (&arguments)[6]) {
  const auto got = EvaluateFilter(program, kArchitecture, number, arguments);
  FUZZ_CHECK(got.ok());
  FUZZ_CHECK(*got == Wanted(policy, number, arguments));
  // Another architecture has other numbers.
  const auto foreign =
      EvaluateFilter(program, AUDIT_ARCH_I386, number, arguments);
  FUZZ_CHECK(foreign.ok() && *foreign == (SECCOMP_RET_ERRNO | ENOSYS));
}

void Run(std::string_view text) {
  Policies().Write("sets/set.json", text);
  const auto policy = SeccompPolicy::Load(Policies().path(), "fuzz");
  if (!policy.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(policy.status()));
    return;
  }
  const auto program = policy->Compile();
  if (!program.ok()) {
    FUZZ_CHECK(absl::IsResourceExhausted(program.status()));
    return;
  }
  size_t looked_at = 0;
  for (const SeccompPolicy::Rule& rule : policy->rules()) {
    if (++looked_at > 16) break;
    // The values that its tests are about, and their neighbours.
    for (const SeccompPolicy::ArgumentTest& test : rule.tests) {
      for (const uint64_t value : {test.value - 1, test.value, test.value + 1,
                                   test.value | ~test.mask}) {
        uint64_t arguments[6] = {};
        std::fill(std::begin(arguments), std::end(arguments), value);
        CheckCall(*policy, *program, rule.number, arguments);
      }
    }
    for (const int number : {rule.number - 1, rule.number, rule.number + 1}) {
      if (number >= 0) CheckCall(*policy, *program, number, {1, 2, 3, 4, 5, 6});
    }
  }
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
