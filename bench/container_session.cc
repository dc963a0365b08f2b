#include "bench/container_session.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/work_directory.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<std::unique_ptr<ContainerSession>> ContainerSession::Prepare(
    const char* runtime, const ContenderOptions& options) {
  const std::string program = FindDebianProgram(runtime);
  if (program.empty()) {
    return absl::NotFoundError(
        absl::StrCat("not installed; apt-get install ", runtime));
  }
  const std::string name = absl::StrCat(runtime, "-session");
  const std::string directory = absl::StrCat(options.root.scratch, "/", name);
  absl::StatusOr<nlohmann::json> config = DefaultBundle(program, directory);
  if (!config.ok()) return config.status();
  const std::string work = directory + "/program";
  std::error_code error;
  fs::create_directories(work, error);
  const absl::Status written = WriteBundle(
      {.path = directory, .work = work}, *std::move(config),
      absl::StrCat("/", options.prefix, "-", name), {"sleep", "infinity"},
      {"PATH=/usr/bin:/bin", "HOME=/home", "LANG=C.UTF-8"}, options);
  if (!written.ok()) return written;
  return std::unique_ptr<ContainerSession>(new ContainerSession(
      program, directory, absl::StrCat(options.prefix, "-", name)));
}

ContainerSession::~ContainerSession() {
  if (started_) (void)Remove();
}

std::vector<std::string> ContainerSession::Runtime(const char* verb) const {
  return {runtime_, "--root", directory_ + "/state", verb};
}

absl::StatusOr<CommandResult> ContainerSession::Start() {
  std::vector<std::string> argv = Runtime("run");
  argv.insert(argv.end(), {"--detach", "--bundle", directory_, id_});
  // What sleeps would keep the pipe of the output open.
  absl::StatusOr<CommandResult> result = RunCommand(
      {.argv = {"/bin/sh", "-c",
                absl::StrCat("exec ", absl::StrJoin(argv, " "),
                             " > /dev/null 2> ", directory_, "/error")},
       .env = {kToolEnvironment}});
  if (result.ok()) {
    started_ = true;
    return result;
  }
  std::ifstream file(directory_ + "/error");
  std::string why;
  std::getline(file, why);
  return absl::UnknownError(absl::StrCat(result.status().message(), " ", why));
}

absl::StatusOr<CommandResult> ContainerSession::Exec(
    const std::vector<std::string>& argv, const std::string& input) {
  std::vector<std::string> all = Runtime("exec");
  all.push_back(id_);
  all.insert(all.end(), argv.begin(), argv.end());
  return RunCommand(
      {.argv = std::move(all), .env = {kToolEnvironment}, .input = input});
}

absl::StatusOr<CommandResult> ContainerSession::Remove() {
  started_ = false;
  std::vector<std::string> argv = Runtime("delete");
  argv.insert(argv.end(), {"--force", id_});
  return RunCommand({.argv = std::move(argv), .env = {kToolEnvironment}});
}

}  // namespace sandglass::bench
