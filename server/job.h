#ifndef SANDGLASS_SERVER_JOB_H_
#define SANDGLASS_SERVER_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/limits.h"
#include "policy/verdict.h"

namespace sandglass::sandbox {
class Jail;
}

namespace sandglass::server {

// A validated run, all defaults resolved. A plain value.
struct Job {
  std::string run_id;
  std::string template_name;  // the jail template of the profile
  std::string source_file;    // below /workspace
  std::string code;
  std::vector<std::string> argv;  // argv[0] is the absolute executable
  std::vector<std::pair<std::string, std::string>> env;
  struct File {
    std::string path;  // relative to /workspace, already validated
    std::string content;
    bool executable = false;
  };
  std::vector<File> files;
  std::string stdin_data;
  std::vector<std::string> fetch;  // paths and globs relative to /workspace
  policy::Limits limits;
};

enum class Stream { kStdout = 1, kStderr = 2 };

// Where a run's progress goes. Called on the run's worker thread, never
// concurrently, never after JobRunner::Run returned.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // The user's code starts now.
  virtual void OnStarted() = 0;
  // A piece of output; `offset` is its place in its stream. Called for all
  // output, also what the answer leaves out, up to output_total_bytes.
  virtual void OnOutput(Stream stream, std::string_view data, uint64_t offset,
                        absl::Duration since_start) = 0;
};

struct StreamResult {
  std::string data;
  bool truncated = false;
  uint64_t total_bytes = 0;
  uint64_t head_bytes = 0;
};

// Values equal sandglass.v1.FileError; kNone for a file that is there.
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

struct StepTime {
  std::string step;
  absl::Duration duration;
};

struct Timings {
  absl::Duration acquire;
  absl::Duration stage_in;
  absl::Duration run;
  absl::Duration drain;
  absl::Duration stage_out;
  bool warm = false;
  std::vector<StepTime> setup_steps;
};

// All that is known of a finished run.
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
  std::vector<FileResult> files;
  bool files_left_out = false;  // more matched the patterns than are in `files`
  Timings timings;
  // Spent. Whoever lets go of it last pays for its end (about 0.3 ms), so the
  // answer goes out first.
  std::shared_ptr<sandbox::Jail> jail;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_H_
