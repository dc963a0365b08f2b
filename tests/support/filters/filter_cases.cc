// Writes a compiled policy for another's evaluator, and what ours says of it:
//
//   filter_cases POLICY_DIRECTORY POLICY FILE
//
// FILE gets the program as the kernel takes it. On stdout a line for each case:
// architecture, number, six arguments, and the SECCOMP_RET_* value in hex.
// Cases are all numbers up to 1023, those of x32 and of i386, and for calls
// with tests every side of each.

#include <linux/audit.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "policy/seccomp/seccomp.h"

namespace {

using sandglass::policy::BpfProgram;
using sandglass::policy::EvaluateFilter;
using sandglass::policy::SeccompPolicy;

struct Architecture {
  const char* name;
  uint32_t value;
};

bool Print(const BpfProgram& program, const Architecture& architecture,
           uint32_t number, const uint64_t (&arguments)[6]) {
  const auto answer = EvaluateFilter(program, architecture.value,
                                     static_cast<int>(number), arguments);
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().ToString().c_str());
    return false;
  }
  std::printf("%s %" PRIu32, architecture.name, number);
  for (const uint64_t argument : arguments) std::printf(" %" PRIu64, argument);
  std::printf(" %08" PRIx32 "\n", *answer);
  return true;
}

bool PrintAll(const SeccompPolicy& policy, const BpfProgram& program) {
  constexpr Architecture kNative = {"x86_64", AUDIT_ARCH_X86_64};
  constexpr Architecture kForeign[] = {{"x86", AUDIT_ARCH_I386},
                                       {"aarch64", AUDIT_ARCH_AARCH64}};
  bool well = true;
  for (uint32_t number = 0; number < 1024; ++number) {
    for (const uint32_t base : {0u, 0x40000000u}) {
      well = well && Print(program, kNative, base + number, {});
    }
    for (const Architecture& foreign : kForeign) {
      well = well && Print(program, foreign, number, {});
    }
  }
  std::map<int, std::map<unsigned, std::set<uint64_t>>> tested;
  for (const auto& rule : policy.rules()) {
    for (const auto& test : rule.tests) {
      auto& values = tested[rule.number][test.index];
      for (const uint64_t high : {uint64_t{0}, uint64_t{1} << 32}) {
        for (const uint64_t value : {uint64_t{0}, test.value - 1, test.value,
                                     test.value + 1, test.mask, ~test.mask}) {
          values.insert(value | high);
        }
      }
    }
  }
  for (const auto& [number, arguments] : tested) {
    for (const auto& [first, values] : arguments) {
      for (const uint64_t value : values) {
        uint64_t each[6] = {};
        each[first] = value;
        well = well && Print(program, kNative, number, each);
        // Beside it, each value of the others.
        for (const auto& [second, others] : arguments) {
          if (second <= first) continue;
          for (const uint64_t other : others) {
            each[second] = other;
            well = well && Print(program, kNative, number, each);
          }
          each[second] = 0;
        }
      }
    }
  }
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: filter_cases POLICY_DIRECTORY POLICY FILE\n");
    return 2;
  }
  const auto policy = SeccompPolicy::Load(argv[1], argv[2]);
  if (!policy.ok()) {
    std::fprintf(stderr, "%s\n", policy.status().ToString().c_str());
    return 1;
  }
  const auto program = policy->Compile();
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    return 1;
  }
  std::ofstream file(argv[3], std::ios::binary);
  file.write(
      reinterpret_cast<const char*>(program->data()),
      static_cast<std::streamsize>(program->size() * sizeof(program->front())));
  file.close();
  return file && PrintAll(*policy, *program) ? 0 : 1;
}
