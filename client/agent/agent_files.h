#ifndef SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/agent/agent_settings.h"
#include "client/base/unique_fd.h"
#include "client/connection/daemon.h"
#include "client/llm/llm_event.h"
#include "client/run/fetch_writer.h"
#include "client/toolbox/tool_answer.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// The directory for the agent's persistent files: "sandglass" in
// $XDG_STATE_HOME or ~/.local/state. It is made if necessary, accessible only
// to its owner.
absl::StatusOr<std::string> AgentStateDirectory(
    const EnvironmentLookup& environment);

// A conversation that is kept under a name ([A-Za-z0-9._-], at most 64, not
// beginning with a dot) in the state directory; each save replaces the whole
// file. While this object lives, no other process can open the thread.
class ThreadFile {
 public:
  // INVALID_ARGUMENT: the name is invalid, or the file isn't of this kind.
  // FAILED_PRECONDITION: another process has the thread.
  static absl::StatusOr<ThreadFile> Open(const std::string& state_directory,
                                         const std::string& name);
  // The messages that were kept; turns of a model in their provider's own form
  // only if the provider is the same.
  std::vector<LlmMessage> ReleaseMessages(const std::string& provider);
  absl::Status Save(const std::string& provider,
                    const std::vector<LlmMessage>& messages) const;

 private:
  ThreadFile(std::string path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;  // on a file of its own: each save replaces path_
  std::string provider_;
  std::vector<LlmMessage> messages_;
};

// A file to which a conversation's messages are appended, one JSON object per
// line.
class Transcript {
 public:
  // Appends to an existing file; a new one is accessible only to its owner.
  static absl::StatusOr<Transcript> Open(const std::string& path);
  absl::Status Add(const LlmMessage& message) const;
  // Reads the messages of a transcript. INVALID_ARGUMENT names the line.
  static absl::StatusOr<std::vector<LlmMessage>> Read(const std::string& path);

 private:
  Transcript(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  UniqueFd file_;
};

// Where programs in sandboxes put the files for the user.
inline constexpr char kOutInSandbox[] = "/workspace/out";

// Saves the results of a conversation in a local directory: images in results
// as image-N.png and the like, and the files in kOutInSandbox; those of
// sandboxes other than the main one are below the sandbox's name.
class OutDirectory {
 public:
  static absl::StatusOr<OutDirectory> Open(const std::string& path);
  // Returns the names of new files.
  absl::StatusOr<std::vector<std::string>> SaveImages(const ToolAnswer& answer);
  // Saves the files that have changed since the last call.
  absl::StatusOr<std::vector<std::string>> SaveFiles(
      const Daemon& daemon,
      const std::map<std::string, std::string>& sandboxes);

 private:
  explicit OutDirectory(FetchWriter writer) : writer_(std::move(writer)) {}
  absl::Status SaveFilesOf(const Daemon& daemon, const std::string& sandbox,
                           const std::string& session_id,
                           std::vector<std::string>& saved);
  FetchWriter writer_;
  int images_ = 0;
  std::map<std::string, std::string> seen_;  // by local path: size and time
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_
