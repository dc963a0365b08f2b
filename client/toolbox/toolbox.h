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

// How much of a tool's text a model gets. Of a longer text the head and the
// tail are kept, and a line says how much was cut and where the whole text is.
struct ToolBounds {
  size_t text_bytes = 24'000;    // of an answer as a whole
  size_t images = 4;             // of an answer
  size_t image_bytes = 4 << 20;  // of each; others are named in the text
  // Sentences that tell a model what to do to get another sandbox, to get one
  // with a library that is missing, and about a command that takes long.
  std::string another = "Make another with create_sandbox.";
  std::string missing_library =
      "A sandbox has the libraries that it was made with: make another with "
      "create_sandbox that has this one, too.";
  std::string long_command = "Start what takes longer with start_command.";
};

struct SandboxOptions {
  // The language for which it is prepared and to which its libraries belong;
  // empty: each run names a language.
  std::string language;
  std::string profile;  // empty: the default one
  std::vector<std::string> libraries;
  absl::Duration idle_timeout;  // zero: the daemon's
  std::map<std::string, std::string> labels;
  // It gives way when its caller wants another and has as many as it may.
  bool evictable = false;
  // If there is a session with all of these labels, it is used.
  bool get_or_create = false;
};

struct CodeCall {
  std::string sandbox_id;  // empty: a separate jail, removed afterwards
  std::string language;    // empty: the sandbox's
  std::string code;
  std::vector<std::string> libraries;  // only without a sandbox
  std::string profile;                 // likewise
  absl::Duration timeout;              // zero: the profile's
  std::string approval_id;             // from an answer that needed one
};

struct CommandCall {
  std::string sandbox_id;
  std::string command;     // for /bin/sh -c
  std::string directory;   // empty: /workspace
  absl::Duration timeout;  // zero: only the profile's
};

// The tools that models call; each makes one or a few calls to the daemon.
// Failures are described in the answer, in words that a model can act on;
// methods don't fail in any other way. They block. Thread-safe, but a
// CallCancel may only be used for one call at a time.
class Toolbox {
 public:
  // `daemon` has to outlive this object.
  Toolbox(const Daemon& daemon, ToolBounds bounds);

  // Returns the id of a session.
  absl::StatusOr<std::string> CreateSandbox(const SandboxOptions& options,
                                            CallCancel& cancel) const;
  ToolAnswer DeleteSandbox(const std::string& sandbox_id,
                           CallCancel& cancel) const;

  // In a sandbox the kernel of each language keeps its state between calls; for
  // a language without a kernel, whole programs run with the sandbox's files.
  ToolAnswer RunCode(const CodeCall& call, CallCancel& cancel,
                     const ToolProgress& progress = {}) const;

  // The language's kernel loses its state. "" means the sandbox's own language.
  ToolAnswer RestartKernel(const std::string& sandbox_id,
                           const std::string& language,
                           CallCancel& cancel) const;

  // Returns when the command has ended. It is ended when it reaches its
  // timeout.
  ToolAnswer RunCommand(const CommandCall& call, CallCancel& cancel,
                        const ToolProgress& progress = {}) const;
  // Leaves the command running; the text has its id. Without a timeout it runs
  // as long as the sandbox lives.
  ToolAnswer StartCommand(const CommandCall& call, CallCancel& cancel) const;
  // Returns what it has printed since `from` (the text says where to go on),
  // after waiting up to `wait` for more output, or for its end.
  ToolAnswer ReadOutput(const std::string& sandbox_id,
                        const std::string& command_id, uint64_t from,
                        absl::Duration wait, CallCancel& cancel) const;
  ToolAnswer StopCommand(const std::string& sandbox_id,
                         const std::string& command_id,
                         CallCancel& cancel) const;

  // Returns text by lines, the first of which is 1; with `lines` 0 as many as
  // there is room for. Images are returned as images; for other content the
  // text says its kind and size.
  ToolAnswer ReadFile(const std::string& sandbox_id, const std::string& path,
                      uint64_t first_line, uint64_t lines,
                      CallCancel& cancel) const;
  // Makes the directories on the way, and replaces an existing file.
  ToolAnswer WriteFile(const std::string& sandbox_id, const std::string& path,
                       const std::string& content, CallCancel& cancel) const;
  // Replaces `from` by `to`: either every occurrence, or the only one.
  ToolAnswer EditFile(const std::string& sandbox_id, const std::string& path,
                      const std::string& from, const std::string& to, bool all,
                      CallCancel& cancel) const;
  // Inserts text after a line; 0: before the first.
  ToolAnswer InsertLines(const std::string& sandbox_id, const std::string& path,
                         uint64_t line, const std::string& text,
                         CallCancel& cancel) const;
  ToolAnswer ListFiles(const std::string& sandbox_id, const std::string& path,
                       CallCancel& cancel) const;

  // Returns the available languages with their versions, and what the profile
  // allows.
  ToolAnswer ListLanguages(CallCancel& cancel) const;

 private:
  const Daemon& daemon_;
  const ToolBounds bounds_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOLBOX_H_
