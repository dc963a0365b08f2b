#ifndef SANDGLASS_SERVER_JOB_H_
#define SANDGLASS_SERVER_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language.h"
#include "policy/limits.h"
#include "policy/profile.h"
#include "policy/redaction.h"
#include "policy/verdict.h"
#include "sandbox/os/fd.h"
#include "sandbox/refused_calls.h"

namespace sandglass::sandbox {
class Jail;
struct FileEvent;
}  // namespace sandglass::sandbox

namespace sandglass::server {

class Session;
struct Inspection;
struct Inspected;
struct SessionSpec;

// Bounds of what one run hands back, all files together. The bytes leave room
// for both streams and the rest in a message of 16 MiB.
inline constexpr uint64_t kMaxCollectedBytes = uint64_t{12} << 20;
inline constexpr uint32_t kMaxCollectedFiles = 256;

// Begins the path, inside a jail, of what was staged or compiled.
inline constexpr char kWorkspacePrefix[] = "/workspace/";

// How the result of a compile may be kept for later runs.
struct CompileCaching {
  std::string language;  // id
  // Only jobs of the same scope get it.
  std::string scope;
  std::vector<std::string> executables;  // that the compiler consists of
  policy::CompileCacheRules rules;
};

// The compile phase of a job; what differs from its run.
struct CompileJob {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> artifacts;  // paths and globs for the run's jail
  policy::Limits limits;
  std::vector<std::string> out_of_memory;
  std::optional<CompileCaching> caching;  // absent: never kept
  // As in Job.
  std::string prestart;
  std::vector<std::string> prestart_argv;
};

// A validated run, all defaults resolved. A plain value.
struct Job {
  std::string run_id;
  policy::Phase phase = policy::Phase::kRun;
  std::string template_name;  // the jail template of the profile
  std::string source_file;    // below /workspace; empty: there is no program
  std::string code;
  std::optional<CompileJob> compile;  // comes first
  std::vector<std::string> argv;      // argv[0] is the absolute executable
  // The zygote whose runner can run it as well; empty: there is none.
  std::string zygote;
  std::vector<std::string>
      runner_argv;  // for it: the program and its arguments
  // The kind of jail in which an interpreter waits that can run it as well;
  // empty: there is none.
  std::string prestart;
  std::vector<std::string> prestart_argv;  // what that one is told
  bool prestart_tells_end = false;         // it says when the program is over
  std::vector<std::pair<std::string, std::string>> env;
  struct File {
    std::string path;  // relative to /workspace, already validated
    std::string content;
    bool executable = false;
    // Instead of content: what the compile cache and others use as well.
    std::shared_ptr<const std::string> shared;
    std::shared_ptr<const os::Fd> sealed;  // with the same, or null
    std::string_view bytes() const { return shared ? *shared : content; }
  };
  std::vector<File> files;
  std::string stdin_data;
  std::vector<std::string> fetch;  // paths and globs relative to /workspace
  policy::Limits limits;
  // What the runtime says on stderr when it gives up for lack of memory.
  std::vector<std::string> out_of_memory;
  uint64_t max_collected_bytes = kMaxCollectedBytes;
  uint32_t max_collected_files = kMaxCollectedFiles;
  // Its standard input is open although there is nothing in it yet.
  bool keeps_stdin = false;
  // Its code is a cell of this session's kernel in that context.
  std::shared_ptr<Session> session;
  std::string context;
  // Its code is the only cell of a kernel of its own.
  std::shared_ptr<const SessionSpec> kernel;
  // A value is displayed, an error told by its parts.
  bool rich = false;
  // Its text is looked at before it runs; null: it isn't.
  std::shared_ptr<Inspection> inspection;
  // It ends with that: nothing is run.
  bool look_only = false;
  std::shared_ptr<const policy::Profile> profile_kept;  // where it needs that
  // Of all that it prints or displays; null: none.
  std::shared_ptr<const policy::Redactor> redactor;
};

// One thing that a kernel displays, in several ways.
struct RichOutput {
  bool is_value = false;
  std::vector<std::pair<std::string, std::string>> data;  // MIME type, bytes
  uint64_t stdout_offset = 0;
  uint64_t stderr_offset = 0;
};

// An error in the words of its language.
struct ErrorWords {
  std::string name;
  std::string value;
  std::string traceback;
};

// What a kernel adds to a run's result.
struct CellResult {
  std::vector<RichOutput> outputs;
  uint32_t dropped = 0;  // outputs that were left out, and their bytes
  uint64_t dropped_bytes = 0;
  std::optional<ErrorWords> error;
  uint32_t run_number = 0;
  bool kernel_ended = false;
  std::string state_lost;  // why the kernel had to be started anew; or empty
  std::string files_not_saved;  // why a durable session's are not; or empty
};

struct JobResult;

enum class Stream { kStdout = 1, kStderr = 2 };

// Where a run's progress goes. Called on the run's worker thread, never
// concurrently, never after JobRunner::Run returned.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // The compile phase is over, well or not; only of jobs that have one.
  virtual void OnCompiled(const JobResult& compile) { (void)compile; }
  // The user's code starts now.
  virtual void OnStarted() = 0;
  // A piece of output; `offset` is its place in its stream. Called for all
  // output, also what the answer leaves out, up to output_total_bytes.
  virtual void OnOutput(Stream stream, std::string_view data, uint64_t offset,
                        absl::Duration since_start) = 0;
  // Something that is displayed.
  virtual void OnRich(const RichOutput& output, absl::Duration since_start) {
    (void)output;
    (void)since_start;
  }
  // A file that was asked for. True when the observer has taken care of it; it
  // is then not in the result, and no bound holds for it.
  virtual bool OnFile(const sandbox::FileEvent& file) {
    (void)file;
    return false;
  }
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
  absl::Duration analysis;
  absl::Duration compile;
  absl::Duration run;
  absl::Duration drain;
  absl::Duration stage_out;
  bool warm = false;
  std::string kind;  // of the jail
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
  // What was replaced in both streams and in what was displayed; without the
  // compile phase's, which is in `compile`.
  policy::RedactionCounts redactions;
  std::vector<FileResult> files;
  bool files_left_out = false;  // more matched the patterns than are in `files`
  // Of a compile phase that was taken from the cache: nothing was run, so there
  // are no facts, usage and limits, only a verdict, output and files.
  bool cached = false;
  Timings timings;
  // Of the compile phase, for a job that has one. When that failed, this
  // result's verdict and facts are the compile phase's, and nothing was run.
  std::shared_ptr<const JobResult> compile;
  // Of a job whose text was looked at. Where the decision was not to run it,
  // nothing was run, and the verdict is that.
  std::shared_ptr<const Inspected> inspected;
  // Of a job whose text a runner was to look at and did not: why. Nothing was
  // run.
  std::optional<std::string> not_looked_at;
  // Where calls are traced (--trace-syscalls).
  sandbox::RefusedCalls refused;
  // Of a job that ran as a cell.
  std::optional<CellResult> cell;
  // Spent. Whoever lets go of it last pays for its end (about 0.3 ms), so the
  // answer goes out first.
  std::shared_ptr<sandbox::Jail> jail;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_H_
