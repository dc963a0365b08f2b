#include "client/session/session_get_command.h"

#include <unistd.h>

#include <memory>

#include "absl/status/statusor.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/local_files.h"
#include "client/base/utf8_check.h"
#include "client/connection/daemon.h"
#include "client/run/output_printer.h"
#include "client/session/download.h"
#include "client/session/remote_files.h"
#include "client/session/session_calls.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

// Sets up what copying needs and calls `copy`.
template <typename Copy>
int WithRemote(const Endpoint& endpoint, const std::string& session_id,
               Copy copy) {
  const absl::Status checked = CheckId(session_id);
  if (!checked.ok()) return Fail(checked);
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  return copy(RemoteFiles(*daemon, session_id, **interrupts));
}

// A file to standard output, made harmless where that is a terminal.
int PrintFile(const RemoteFiles& remote, const std::string& path) {
  OutputPrinter printer(STDOUT_FILENO, STDERR_FILENO);
  uint64_t offset = 0;
  int error = 0;
  v1::FileInfo info;
  const CopyEnd end = remote.Read(
      path,
      [&](absl::string_view data) {
        error = printer.Chunk(v1::OUTPUT_STREAM_STDOUT, offset, data);
        offset += data.size();
        return absl::ErrnoToStatus(error, "cannot write the output");
      },
      info);
  if (error == 0) error = printer.Finish();
  return error != 0 ? OutputFailure(error) : remote.Explain(end, path);
}

int SaveSnapshot(const RemoteFiles& remote,
                 const SessionSnapshotOptions& options) {
  std::string name;
  absl::StatusOr<UniqueFd> parent = OpenParent(*options.output, name);
  if (!parent.ok()) return Fail(parent.status());
  absl::StatusOr<NewFile> file =
      NewFile::Create(parent->get(), name, ExistingFile::kReplace);
  if (!file.ok()) return Fail(file.status());
  WaitLine waiting(absl::StrCat("writing ", VisibleText(*options.output)));
  CopyEnd end = remote.Snapshot(
      options.path, [&](absl::string_view data) { return file->Write(data); });
  waiting.End();
  if (end.ok()) end.local = file->Place(0644);
  return remote.Explain(end, *options.output);
}

int PrintSnapshot(const RemoteFiles& remote,
                  const SessionSnapshotOptions& options) {
  int error = 0;
  WaitLine waiting("writing the archive");
  const CopyEnd end =
      remote.Snapshot(options.path, [&](absl::string_view data) {
        error = WriteAll(STDOUT_FILENO, data);
        return absl::ErrnoToStatus(error, "cannot write the output");
      });
  waiting.End();
  return error != 0 ? OutputFailure(error)
                    : remote.Explain(end, "standard output");
}

}  // namespace

int SessionGetCommand(const Endpoint& endpoint,
                      const SessionGetOptions& options) {
  const absl::Status checked = CheckUtf8("REMOTE", options.remote);
  if (!checked.ok()) return Fail(checked);
  return WithRemote(
      endpoint, options.session_id, [&](const RemoteFiles& remote) {
        return options.local == "-"
                   ? PrintFile(remote, options.remote)
                   : Download(remote).Run(options.remote, options.local);
      });
}

int SessionCatCommand(const Endpoint& endpoint,
                      const SessionCatOptions& options) {
  absl::Status checked;
  for (const std::string& path : options.remote) {
    checked.Update(CheckUtf8("REMOTE", path));
  }
  if (!checked.ok()) return Fail(checked);
  return WithRemote(endpoint, options.session_id,
                    [&](const RemoteFiles& remote) {
                      int code = kExitOk;
                      for (const std::string& path : options.remote) {
                        const int done = PrintFile(remote, path);
                        if (code == kExitOk) code = done;
                        if (done > kExitSignalBase) break;
                      }
                      return code;
                    });
}

int SessionSnapshotCommand(const Endpoint& endpoint,
                           const SessionSnapshotOptions& options) {
  const absl::Status checked = CheckUtf8("PATH", options.path);
  if (!checked.ok()) return Fail(checked);
  if (!options.output && isatty(STDOUT_FILENO) == 1) {
    return Fail(absl::FailedPreconditionError(
        "an archive is nothing for a terminal; name a file with -o FILE or "
        "redirect standard output"));
  }
  return WithRemote(endpoint, options.session_id,
                    [&](const RemoteFiles& remote) {
                      return options.output ? SaveSnapshot(remote, options)
                                            : PrintSnapshot(remote, options);
                    });
}

}  // namespace sandglass::client
