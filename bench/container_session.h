#ifndef SANDGLASS_BENCH_CONTAINER_SESSION_H_
#define SANDGLASS_BENCH_CONTAINER_SESSION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/command.h"
#include "bench/contenders.h"

namespace sandglass::bench {

// A container that crun or runc keeps, with a program in it that sleeps, and
// what is done in it by the runtime's `exec`: what others have for a session.
class ContainerSession {
 public:
  // Only prepares it. NOT_FOUND: the runtime isn't installed.
  static absl::StatusOr<std::unique_ptr<ContainerSession>> Prepare(
      const char* runtime, const ContenderOptions& options);
  // Removes it.
  ~ContainerSession();
  ContainerSession(const ContainerSession&) = delete;
  ContainerSession& operator=(const ContainerSession&) = delete;

  // Each command's own time and processor time.
  absl::StatusOr<CommandResult> Start();
  absl::StatusOr<CommandResult> Exec(const std::vector<std::string>& argv,
                                     const std::string& input = "/dev/null");
  absl::StatusOr<CommandResult> Remove();

 private:
  ContainerSession(std::string runtime, std::string directory, std::string id)
      : runtime_(std::move(runtime)),
        directory_(std::move(directory)),
        id_(std::move(id)) {}

  std::vector<std::string> Runtime(const char* verb) const;

  const std::string runtime_;
  const std::string directory_;  // of the bundle and the runtime's state
  const std::string id_;
  bool started_ = false;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_CONTAINER_SESSION_H_
