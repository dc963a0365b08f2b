// Runs of a session in a language that has no kernel.
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/session/cell_files.h"
#include "server/session/cell_run.h"
#include "server/session/file_status.h"
#include "server/session/jail_kernels.h"
#include "server/session/jail_times.h"

namespace sandglass::server {
namespace {

constexpr uint32_t kProgramMode = 0755;

// The files that make up a job's program: what was compiled, or its code.
std::vector<Job::File> ProgramFiles(const Job& job) {
  if (!job.compile) return {{.path = job.source_file, .content = job.code}};
  std::vector<Job::File> files;
  for (const Job::File& file : job.files) {
    if (file.shared != nullptr) files.push_back(file);
  }
  return files;
}

// The command changed as if /workspace had the files that are in `directory`;
// the arguments of the request, which begin at index `own`, stay as they are.
std::vector<std::string> Relocated(std::vector<std::string> argv, size_t own,
                                   const std::vector<Job::File>& files,
                                   const std::string& directory) {
  for (size_t i = 0; i < argv.size() && i < own; ++i) {
    for (const Job::File& file : files) {
      if (argv[i] == file.path ||
          argv[i] == absl::StrCat(kWorkspacePrefix, file.path)) {
        argv[i] = absl::StrCat(directory, "/", file.path);
        break;
      }
    }
  }
  return argv;
}

absl::Status Stage(const std::vector<Job::File>& program,
                   const std::string& directory, sandbox::FileAgent& files,
                   const sandbox::FileLimits& limits) {
  sandbox::WriteOptions options;
  options.make_parents = true;
  options.mode = kProgramMode;
  for (const Job::File& file : program) {
    const std::string path = absl::StrCat(directory, "/", file.path);
    const std::string_view bytes = file.bytes();
    const auto written =
        file.sealed != nullptr
            ? files.WriteFrom(path, *file.sealed, bytes.size(), options, limits)
            : files.Write(path, AbslView(bytes), options, limits);
    if (!written.ok()) return FileStatus(written.result, path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobResult> JailKernels::RunProgram(const Job& job,
                                                  CancelToken& cancel,
                                                  RunListener* listener) {
  const MonotonicTime began = Now();
  absl::StatusOr<SharedAgent> files = files_.Agent(cancel);
  if (!files.ok()) return files.status();
  Kernel& program = BeginProgram(ContextOf(job.target));
  const MonotonicTime acquired = Now();
  // The directory isn't in /workspace, since a file there may have its name.
  const std::string directory =
      absl::StrCat("/tmp/.sandglass-", program.process);
  absl::StatusOr<JobResult> result =
      RunStaged(job, directory, **files, program, cancel, listener);
  (void)(*files)->Remove(directory, sandbox::FileAgent::Depth::kRecursive, {});

  absl::MutexLock lock(&jail_.mutex());
  Place& place = places_[ContextOf(job.target)];
  // One that never started left nothing to kill.
  if (!result.ok() && program.pid > 1) KillLocked(program);
  jail_.ForgetProcess(program.process);
  place.started = false;
  place.why_ended.clear();
  place.kernel.reset();
  place.status.set_state(v1::KERNEL_STATE_IDLE);
  if (!result.ok()) return result;
  place.status.set_runs(result->cell->run_number);
  result->timings.acquire = Between(began, acquired);
  return result;
}

Kernel& JailKernels::BeginProgram(const std::string& context) {
  absl::MutexLock lock(&jail_.mutex());
  Place& place = places_[context];
  place.kernel = std::make_unique<Kernel>();
  place.kernel->is_program = true;
  place.kernel->process = jail_.NextProcess();
  place.kernel->runs = place.status.runs();
  place.status.set_context(context);
  place.status.set_state(v1::KERNEL_STATE_BUSY);
  return *place.kernel;
}

absl::StatusOr<JobResult> JailKernels::RunStaged(
    const Job& job, const std::string& directory, sandbox::FileAgent& files,
    Kernel& program, CancelToken& cancel, RunListener* listener) {
  const MonotonicTime began = Now();
  const std::vector<Job::File> staged = ProgramFiles(job);
  if (absl::Status status =
          Stage(staged, directory, files, {.cancel_fd = cancel.fd()});
      !status.ok()) {
    return status;
  }
  if (absl::Status put = PutFiles(job, files, cancel); !put.ok()) return put;
  // Its processor time is measured; the kernel's own limit would count what
  // comes after it, too.
  sandbox::ProcessSpec process = ProcessOf(job);
  process.argv =
      Relocated(job.argv, SpecOf(job).language->run.size(), staged, directory);
  if (absl::Status spawned =
          Spawn(process, cancel, After(Now(), kSetupTimeout), program);
      !spawned.ok()) {
    return spawned;
  }
  {
    absl::MutexLock lock(&jail_.mutex());
    places_[ContextOf(job.target)].started = true;
  }
  const MonotonicTime started = Now();
  absl::StatusOr<JobResult> result =
      RunCellIn(*this, program, job, cancel, listener);
  if (!result.ok()) return result;
  result->timings.stage_in = Between(began, started);
  if (!job.fetch.empty()) FetchFiles(job, &files, *result);
  return result;
}

}  // namespace sandglass::server
