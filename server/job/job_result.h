#ifndef SANDGLASS_SERVER_JOB_JOB_RESULT_H_
#define SANDGLASS_SERVER_JOB_JOB_RESULT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "policy/redaction/redaction.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/jail_event.h"
#include "sandbox/wire/network_use.h"
#include "sandbox/wire/refused_calls.h"
#include "server/layers/library_request.h"

namespace sandglass::sandbox {
class Jail;
}

namespace sandglass::server {

struct Inspected;

// One thing that a kernel displays, in several formats.
struct RichOutput {
  bool is_value = false;
  std::vector<std::pair<std::string, std::string>> data;  // MIME type, bytes
  uint64_t stdout_offset = 0;
  uint64_t stderr_offset = 0;
};

// An error as its language words it.
struct ErrorWords {
  std::string name;
  std::string value;
  std::string traceback;
};

// What a kernel adds to the result of a run.
struct CellResult {
  std::vector<RichOutput> outputs;
  uint32_t dropped = 0;  // outputs that were left out, and their bytes
  uint64_t dropped_bytes = 0;
  std::optional<ErrorWords> error;
  uint32_t run_number = 0;
  bool kernel_ended = false;
  std::string state_lost;  // why the kernel had to be started anew, or empty
  // Why a durable session's files are not saved, or empty.
  std::string files_not_saved;
};

struct StreamResult {
  std::string data;
  bool truncated = false;
  uint64_t total_bytes = 0;
  uint64_t head_bytes = 0;
};

// The values equal those of sandglass.v1.FileError; kNone is for a file that is
// there.
enum class FileError {
  kNone = 0,
  kNotFound = 1,
  kPermissionDenied = 2,
  kIsDirectory = 3,
  kNotRegular = 4,
  kTooLarge = 5,
  kUnavailable = 6,
};

struct FileResult {
  std::string path;
  std::string content;
  uint32_t mode = 0;
  uint64_t size = 0;
  FileError error = FileError::kNone;
};

struct Timings {
  absl::Duration acquire;
  absl::Duration stage_in;
  absl::Duration analysis;
  absl::Duration compile;
  absl::Duration run;
  absl::Duration drain;
  absl::Duration stage_out;
  bool warm = false;
  std::string kind;  // the jail's
  std::vector<sandbox::StepTiming> setup_steps;
};

// Everything that is known about a finished run.
struct JobResult {
  policy::Verdict verdict;
  policy::RunFacts facts;
  policy::Limits limits;
  absl::Time start_time;  // wall clock, start of the user's code
  absl::Duration cpu_user;
  absl::Duration cpu_system;
  uint64_t peak_anonymous_bytes = 0;
  uint64_t peak_shared_bytes = 0;
  StreamResult stdout_result;
  StreamResult stderr_result;
  // What was replaced in both streams and in what was displayed, without the
  // compile phase's, which are in `compile`.
  policy::RedactionCounts redactions;
  std::vector<FileResult> files;
  bool files_left_out = false;  // more matched the patterns than are in `files`
  // True for a compile phase that was taken from the cache: nothing was run, so
  // there are no facts, usage and limits, only a verdict, output and files.
  bool cached = false;
  Timings timings;
  // The result of the compile phase, for a job that has one. When that failed,
  // this result's verdict and facts are those of the compile phase, and nothing
  // was run.
  std::shared_ptr<const JobResult> compile;
  // Set for a job whose text was inspected. If the decision was not to run it,
  // nothing was run, and the verdict says so.
  std::shared_ptr<const Inspected> inspected;
  // Set for a job whose text a runner should have inspected but did not; says
  // why. Nothing was run.
  std::optional<std::string> not_looked_at;
  // Absent when the job asked for none.
  std::optional<UsedLibraries> libraries;
  // What it used of the network; absent when it had none.
  std::optional<sandbox::NetworkUse> network;
  // The calls that were refused, when calls are traced (--trace-syscalls).
  sandbox::RefusedCalls refused;
  // Set for a job that ran as a cell.
  std::optional<CellResult> cell;
  // The used-up jail. Whoever releases it last pays for its end (about 0.3 ms),
  // so the answer is sent first.
  std::shared_ptr<sandbox::Jail> jail;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_RESULT_H_
