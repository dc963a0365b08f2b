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
#include "policy/verdict/hints.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/fd.h"
#include "server/job/job_result.h"
#include "server/job/job_target.h"
#include "server/layers/jail_layer.h"
#include "server/layers/library_request.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

struct Inspection;

// Bounds of what one run hands back, all files together. The bytes leave room
// for both streams and everything else in a message of 16 MiB.
inline constexpr uint64_t kMaxCollectedBytes = uint64_t{12} << 20;
inline constexpr uint32_t kMaxCollectedFiles = 256;

// The beginning of the path, inside a jail, of everything that was staged or
// compiled.
inline constexpr char kWorkspacePrefix[] = "/workspace/";

// How the result of a compile may be kept for later runs.
struct CompileCaching {
  std::string language;  // id
  std::string image;     // as in policy::Language
  // Only jobs of the same scope get the result.
  std::string scope;
  // True when each caller has a scope of its own within this one; false when
  // the profile shares results between callers.
  bool by_caller = true;
  std::vector<std::string> executables;  // the compiler consists of these
  policy::CompileCacheRules rules;
};

// What a phase of a job starts, and in which jail.
struct PhaseProgram {
  // The jail template of the profile; for a compile one without a network.
  std::string template_name;
  std::vector<std::string> argv;  // argv[0] is the absolute executable
  std::vector<std::pair<std::string, std::string>> env;
  policy::Limits limits;
  // What the runtime writes to stderr when it gives up for lack of memory.
  std::vector<std::string> out_of_memory;
  // The kind of jail in which an interpreter waits that can run the program as
  // well; empty when there is none.
  std::string prestart;
  std::vector<std::string> prestart_argv;  // what that interpreter is told
};

// The compile phase of a job: what differs from its run.
struct CompileJob : PhaseProgram {
  std::vector<std::string> artifacts;     // paths and globs for the run's jail
  std::optional<CompileCaching> caching;  // absent: never kept
};

// A validated run with all defaults filled in. A plain value.
struct Job : PhaseProgram {
  std::string run_id;
  policy::Phase phase = policy::Phase::kRun;
  std::optional<LibraryRequest> libraries;
  // The ecosystem whose libraries its profile lets it ask for; when one is
  // missing, a hint says so.
  std::optional<policy::Ecosystem> can_want;
  policy::LibraryOffer library_offer = policy::LibraryOffer::kNothing;
  JailLayer layer;          // has its libraries, once they are found
  std::string source_file;  // below /workspace; empty when there is no program
  std::string code;
  std::optional<CompileJob> compile;  // comes first
  // The zygote whose runner can run the job as well; empty when there is none.
  std::string zygote;
  std::vector<std::string>
      runner_argv;  // for that: the program and its arguments
  // Whether the interpreter that waits says when the program is over.
  bool prestart_tells_end = false;
  struct File {
    std::string path;  // relative to /workspace, already validated
    std::string content;
    bool executable = false;
    // Used instead of `content` for bytes that others, such as the compile
    // cache, use as well.
    std::shared_ptr<const std::string> shared;
    std::shared_ptr<const os::Fd> sealed;  // has the same bytes; may be null
    bool of_language = false;  // put beside each program, and not brought
    std::string_view bytes() const { return shared ? *shared : content; }
  };
  std::vector<File> files;
  std::string stdin_data;
  std::vector<std::string> fetch;  // paths and globs relative to /workspace
  uint64_t max_collected_bytes = kMaxCollectedBytes;
  uint32_t max_collected_files = kMaxCollectedFiles;
  // Its standard input stays open although there is nothing to write to it yet.
  bool keeps_stdin = false;
  JobTarget target;  // where it runs
  // A value is displayed, an error told by its parts.
  bool rich = false;
  // What a kernel's cell has for the arguments of a program.
  std::vector<std::string> cell_args;
  // How its text is inspected before it runs; null when it isn't.
  std::shared_ptr<Inspection> inspection;
  // Its profile lets it reach some hosts.
  bool has_network = false;
  // Nobody asked for this job, so the pool is not to keep jails for others like
  // it.
  bool is_trial = false;
  // For whom its jails are taken.
  JailTaker taker;
  // Redacts everything that it prints or displays; null when nothing is
  // redacted.
  std::shared_ptr<const policy::Redactor> redactor;
};

enum class Stream { kStdout = 1, kStderr = 2 };

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_H_
