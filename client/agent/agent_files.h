#ifndef SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_

#include <map>
#include <memory>
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

// Where the agent keeps what is to be there again: $XDG_STATE_HOME, else
// ~/.local/state, "/sandglass", made for its owner alone.
absl::StatusOr<std::string> AgentStateDirectory(
    const EnvironmentLookup& environment);

// A conversation that is kept by a name ([A-Za-z0-9._-], at most 64, not
// beginning with a dot) below the state directory, each time as a whole.
class ThreadFile {
 public:
  // INVALID_ARGUMENT: no such name, or a file that isn't one of these.
  static absl::StatusOr<ThreadFile> Open(const std::string& state_directory,
                                         const std::string& name);
  // What was kept; a model's turns as their provider wrote them only for the
  // same provider.
  std::vector<LlmMessage> TakeMessages(const std::string& provider);
  absl::Status Save(const std::string& provider,
                    const std::vector<LlmMessage>& messages) const;

 private:
  explicit ThreadFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::string provider_;
  std::vector<LlmMessage> messages_;
};

// A file to which a conversation's messages are added, a JSON object a line.
class Transcript {
 public:
  // Adds to a file that is there; a new one is for its owner alone.
  static absl::StatusOr<Transcript> Open(const std::string& path);
  absl::Status Add(const LlmMessage& message) const;
  // The messages of one. INVALID_ARGUMENT names the line.
  static absl::StatusOr<std::vector<LlmMessage>> Read(const std::string& path);

 private:
  Transcript(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  UniqueFd file_;
};

// Where programs in sandboxes put what the user is to have.
inline constexpr char kOutInSandbox[] = "/workspace/out";

// Saves what came of a conversation into a directory here: images of results as
// image-N.png and the like, and what is in kOutInSandbox, files of other
// sandboxes than the main one below its name.
class OutDirectory {
 public:
  static absl::StatusOr<OutDirectory> Open(const std::string& path);
  // Returns the names of new files.
  absl::StatusOr<std::vector<std::string>> SaveImages(const ToolAnswer& answer);
  // Those that changed since the last time.
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
  std::map<std::string, std::string> seen_;  // by place here: size and time
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_FILES_H_
