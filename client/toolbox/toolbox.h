#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOLBOX_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOLBOX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection/cancellable_call.h"
#include "client/connection/daemon.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/tool_progress.h"

namespace sandglass::client {

// How much of a tool's text a model gets. Of more, head and tail stay, and a
// line says how much was cut and where the whole is.
struct ToolBounds {
  size_t text_bytes = 24'000;    // of an answer, all in all
  size_t images = 4;             // of an answer
  size_t image_bytes = 4 << 20;  // of each; others are named in the text
  // What a model is told to do for another sandbox, for one with a library
  // that is missing, and for a command that takes long; sentences.
  std::string another = "Make another with create_sandbox.";
  std::string missing_library =
      "A sandbox has the libraries that it was made with: make another with "
      "create_sandbox that has this one, too.";
  std::string long_command = "Start what takes longer with start_command.";
};

struct SandboxOptions {
  // That it is made ready for and its libraries are of; empty: each run names
  // one.
  std::string language;
  std::string profile;  // empty: the default one
  std::vector<std::string> libraries;
  absl::Duration idle_timeout;  // zero: the daemon's
  std::map<std::string, std::string> labels;
  // The session with all of these labels is taken if there is one.
  bool get_or_create = false;
};

struct CodeCall {
  std::string sandbox_id;  // empty: a jail of its own, gone afterwards
  std::string language;    // empty: the sandbox's
  std::string code;
  std::vector<std::string> libraries;  // only without a sandbox
  std::string profile;                 // likewise
  absl::Duration timeout;              // zero: the profile's
  std::string approval_id;             // of an answer that asked for one
};

struct CommandCall {
  std::string sandbox_id;
  std::string command;     // for /bin/sh -c
  std::string directory;   // empty: /workspace
  absl::Duration timeout;  // zero: none but the profile's
};

// The tools that models call, each one call or a few to the daemon. What goes
// wrong is in the answer, in words that a model can act on: no method fails
// otherwise. Blocking; thread-safe, but a CallCancel is for one call at a time.
class Toolbox {
 public:
  // `daemon` outlives it.
  Toolbox(const Daemon& daemon, ToolBounds bounds);

  // The id of a session.
  absl::StatusOr<std::string> CreateSandbox(const SandboxOptions& options,
                                            CallCancel& cancel) const;
  ToolAnswer DeleteSandbox(const std::string& sandbox_id,
                           CallCancel& cancel) const;

  // In a sandbox each language's kernel keeps state from call to call; a
  // language without one runs whole programs over the sandbox's files.
  ToolAnswer RunCode(const CodeCall& call, CallCancel& cancel,
                     const ToolProgress& progress = {}) const;

  // The language's kernel loses its state; "" for the sandbox's own language.
  ToolAnswer RestartKernel(const std::string& sandbox_id,
                           const std::string& language,
                           CallCancel& cancel) const;

  // Stays until the command has ended. One that meets its timeout is ended.
  ToolAnswer RunCommand(const CommandCall& call, CallCancel& cancel,
                        const ToolProgress& progress = {}) const;
  // Leaves it running; the text has its id. One without a timeout runs as long
  // as the sandbox lives.
  ToolAnswer StartCommand(const CommandCall& call, CallCancel& cancel) const;
  // What it printed since `from` (the text says where to go on), after waiting
  // up to `wait` for more, or for its end.
  ToolAnswer ReadOutput(const std::string& sandbox_id,
                        const std::string& command_id, uint64_t from,
                        absl::Duration wait, CallCancel& cancel) const;
  ToolAnswer StopCommand(const std::string& sandbox_id,
                         const std::string& command_id,
                         CallCancel& cancel) const;

  // Text by lines, the first is 1; `lines` 0: as many as there is room for.
  // Images come as images; other bytes are told by kind and size.
  ToolAnswer ReadFile(const std::string& sandbox_id, const std::string& path,
                      uint64_t first_line, uint64_t lines,
                      CallCancel& cancel) const;
  // Makes the directories on the way; replaces what is there.
  ToolAnswer WriteFile(const std::string& sandbox_id, const std::string& path,
                       const std::string& content, CallCancel& cancel) const;
  // Replaces `from` by `to`: once, and it must be there once, or all of them.
  ToolAnswer EditFile(const std::string& sandbox_id, const std::string& path,
                      const std::string& from, const std::string& to, bool all,
                      CallCancel& cancel) const;
  // Puts text behind a line, 0: before the first.
  ToolAnswer InsertLines(const std::string& sandbox_id, const std::string& path,
                         uint64_t line, const std::string& text,
                         CallCancel& cancel) const;
  ToolAnswer ListFiles(const std::string& sandbox_id, const std::string& path,
                       CallCancel& cancel) const;

  // What can be run, with versions, and what the profile allows.
  ToolAnswer ListLanguages(CallCancel& cancel) const;

 private:
  const Daemon& daemon_;
  const ToolBounds bounds_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOLBOX_H_
