#ifndef SANDGLASS_SERVER_JOB_JOB_H_
#define SANDGLASS_SERVER_JOB_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/language.h"
#include "policy/libraries/libraries.h"
#include "policy/limits/limits.h"
#include "policy/profile/profile.h"
#include "policy/redaction/redaction.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/fd.h"
#include "server/job/job_result.h"
#include "server/layers/jail_layer.h"
#include "server/layers/library_request.h"

namespace sandglass::sandbox {
struct FileEvent;
}  // namespace sandglass::sandbox

namespace sandglass::server {

class Session;
struct Inspection;
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
  std::string image;     // as in policy::Language
  // Only jobs of the same scope get it.
  std::string scope;
  // Of its callers each has a scope of its own; false where the profile shares.
  bool by_caller = true;
  std::vector<std::string> executables;  // that the compiler consists of
  policy::CompileCacheRules rules;
};

// The compile phase of a job; what differs from its run.
struct CompileJob {
  std::string template_name;  // a jail template without a network
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
  std::optional<WantedLibraries> libraries;
  // Its profile lets it want some: of a missing one a hint says so.
  std::optional<policy::Ecosystem> can_want;
  JailLayer layer;          // in which its libraries are, once they are found
  std::string source_file;  // below /workspace; empty: there is no program
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
  // The session as it is for a language that isn't its own; null: it is.
  std::shared_ptr<const SessionSpec> guest;
  // Its code is the only cell of a kernel of its own.
  std::shared_ptr<const SessionSpec> kernel;
  // A value is displayed, an error told by its parts.
  bool rich = false;
  // Its text is looked at before it runs; null: it isn't.
  std::shared_ptr<Inspection> inspection;
  // It ends with that: nothing is run.
  bool look_only = false;
  // Its profile lets it reach some hosts.
  bool has_network = false;
  // Nobody asked for it: the pool is not to keep jails for such as it.
  bool is_trial = false;
  // Of all that it prints or displays; null: none.
  std::shared_ptr<const policy::Redactor> redactor;
};

enum class Stream { kStdout = 1, kStderr = 2 };

// Where a run's progress goes. Called on the run's worker thread, never
// concurrently, never after JobRunner::Run returned.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // A line of what installs the job's libraries.
  virtual void OnLibraryProgress(std::string_view line) { (void)line; }
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

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_H_
