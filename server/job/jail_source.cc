#include "server/job/jail_source.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "sandbox/jail/job_frame.h"
#include "sandbox/yard/spawner_event.h"
#include "server/job/inspection.h"
#include "server/job/job_builder.h"

namespace sandglass::server {
MadeJail JailSource::Next() {
  constexpr absl::Duration kCreateTimeout = absl::Seconds(15);
  // After so many tries, a fresh interpreter will do.
  constexpr int kZygoteTries = 2;
  // Only an idle jail is used here, because starting an interpreter and waiting
  // until it is ready takes longer than starting the program itself.
  if (!job_.prestart.empty()) {
    const JailKey key = KeyOf(job_.prestart);
    if (std::unique_ptr<sandbox::Jail> jail = AcquireIdle(key)) return jail;
    // A trial, however, is meant to test exactly that.
    if (job_.is_trial) {
      if (auto jail = pool_.Fill(key); jail.ok()) return jail;
    }
  }
  if (sandbox_.Makes(job_.zygote) && zygote_tries_++ < kZygoteTries) {
    const JailKey key = KeyOf(job_.zygote);
    if (std::unique_ptr<sandbox::Jail> jail = AcquireIdle(key)) return jail;
    if (auto jail = pool_.Fill(key); jail.ok()) return jail;
    zygote_tries_ = kZygoteTries;
  }
  const JailKey key = KeyOf(sandbox::kExecKind);
  if (std::unique_ptr<sandbox::Jail> jail = AcquireIdle(key)) return jail;
  // The new jail isn't ready yet: the program is sent while init still
  // prepares.
  MadeJail jail =
      sandbox_.CreateJail(key.kind, key.profile, key.limits, kCreateTimeout,
                          sandbox::FillFor::kRun, key.layer.id);
  if (jail.ok()) (*jail)->Hold(key.layer.pin);
  warm_ = jail.ok() && (*jail)->made_ahead();
  return jail;
}

JailKey JailSource::KeyOf(const std::string& kind) const {
  return {kind, job_.template_name, job_.limits, job_.layer};
}

std::unique_ptr<sandbox::Jail> JailSource::AcquireIdle(const JailKey& key) {
  std::unique_ptr<sandbox::Jail> jail = job_.is_trial
                                            ? pool_.AcquireForTrial(key)
                                            : pool_.Acquire(key, job_.taker);
  warm_ = jail != nullptr;
  kind_ = key.kind;
  return jail;
}

absl::Status SetupError(const sandbox::FailedEvent& failed) {
  if (failed.step == sandbox::SetupStep::kStageFiles &&
      failed.error == ENOSPC) {
    return absl::InvalidArgumentError(
        "the files do not fit into /workspace; send less or ask for more "
        "limits.workspace_bytes and limits.max_files");
  }
  return sandbox::SetupFailure(static_cast<int>(failed.step), failed.error);
}

sandbox::ProgramSpec ToProgram(const Job& job, const sandbox::Jail& jail) {
  sandbox::ProgramSpec program;
  program.argv = jail.has_runner()   ? job.runner_argv
                 : jail.prestarted() ? job.prestart_argv
                                     : job.argv;
  program.env = AsWords(job.env);
  const bool looks = jail.has_runner() && LooksInRunner(job);
  const auto look_at = [&](const std::string& path) {
    return looks && std::ranges::count(job.inspection->sources, path) > 0;
  };
  if (!job.source_file.empty()) {
    program.files.push_back(
        {job.source_file, job.code, 0644, -1, look_at(job.source_file)});
  }
  for (const Job::File& file : job.files) {
    program.files.push_back({file.path,
                             {file.bytes().data(), file.bytes().size()},
                             file.executable ? 0755u : 0644u,
                             file.sealed ? file.sealed->get() : -1,
                             look_at(file.path)});
  }
  program.with_stdin = job.keeps_stdin || !job.stdin_data.empty();
  program.open_files = job.limits.open_files;
  program.file_size_bytes = job.limits.file_size_bytes;
  program.cpu_time = job.limits.cpu_time;
  return program;
}

std::string WaitingFrame(const Job& job, const sandbox::Jail& jail,
                         EndMarker& note) {
  note = EndMarker();
  if (!jail.prestarted()) return "";
  std::optional<std::string> secret;
  if (job.prestart_tells_end) secret.emplace();
  // The note of the end isn't used when files are collected: they may be
  // collected only when nobody can write to them any more.
  if (job.prestart_tells_end && job.fetch.empty()) {
    secret = sandbox::MakeEndSecret();
    note = EndMarker(sandbox::EndWord(*secret));
  }
  return sandbox::JobFrame(ToProgram(job, jail), secret);
}

}  // namespace sandglass::server
