#ifndef SANDGLASS_TESTS_SUPPORT_HOST_WORKLOADS_H_
#define SANDGLASS_TESTS_SUPPORT_HOST_WORKLOADS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::testing {

// A program that others wrote, with its known right answer.
struct Workload {
  std::string id;
  v1::RunCodeRequest request;
  std::vector<std::string> modules;  // Python packages that it imports
  // Absent: the program never ends.
  std::optional<int> expected_exit;
  std::optional<std::string> expected_stdout;
  std::optional<std::string> expected_stdout_tail;
};

// The folder of workloads: $SANDGLASS_WORKLOADS, else ../shared/workloads next
// to the source tree. Empty when it is not there.
std::string WorkloadFolder();

// True when SANDGLASS_MUST_RUN=1: a test that can't find its input then fails.
bool MustRun();

// Reads `folder`/`name`.jsonl. The error names file and line.
absl::StatusOr<std::vector<Workload>> ReadWorkloads(const std::string& folder,
                                                    const std::string& name);

// Those of `modules` that /usr/bin/python3 of this host can't import.
std::vector<std::string> MissingModules(
    const std::vector<std::string>& modules);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HOST_WORKLOADS_H_
