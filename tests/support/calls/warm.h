#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_WARM_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_WARM_H_

#include <string>
#include <vector>

#include "tests/support/daemon/client.h"

// What tests of warm runs have in common.
namespace sandglass::testing {

// Whether the program ran in a zygote's child: those of a fork made for it
// count as well.
bool HadRunner(const RunResult& result);

struct ConformanceProgram {
  std::string name;
  v1::RunCodeRequest request;
};

// Those of tests/conformance/warm/`directory`; its README tells their form.
std::vector<ConformanceProgram> ConformancePrograms(
    const std::string& directory, const std::string& language,
    const std::string& extension);

// That the two runs of one program look the same to whoever sent it.
void ExpectSame(const RunResult& fresh, const RunResult& warm);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_WARM_H_
