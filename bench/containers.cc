// The contenders that run containers: crun, runc and Docker.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/work_directory.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

}  // namespace

absl::StatusOr<Json> DefaultBundle(const std::string& runtime,
                                   const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const absl::StatusOr<CommandResult> spec =
      RunCommand({.argv = {runtime, "--root", directory + "/state", "spec"},
                  .env = {kToolEnvironment},
                  .directory = directory});
  if (!spec.ok()) return spec.status();
  std::ifstream in(directory + "/config.json");
  Json config = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config["mounts"].is_array()) {
    return absl::UnknownError(
        absl::StrCat(runtime, " spec wrote no bundle to ", directory));
  }
  return config;
}

absl::Status WriteBundle(const Bundle& bundle, Json config,
                         const std::string& cgroup,
                         const std::vector<std::string>& args,
                         const std::vector<std::string>& env,
                         const ContenderOptions& options) {
  config.merge_patch(
      {{"process",
        {{"terminal", false},
         {"args", args},
         {"cwd", "/program"},
         {"env", env}}},
       {"root", {{"path", options.root.rootfs}, {"readonly", true}}},
       {"linux", {{"cgroupsPath", cgroup}}}});
  const Json bind = {"rbind", "rw"};
  for (const auto& [from, to] : {std::pair(bundle.work, "/program"),
                                 std::pair(options.root.home, "/home")}) {
    config["mounts"].push_back({{"destination", to},
                                {"type", "bind"},
                                {"source", from},
                                {"options", bind}});
  }
  config["mounts"].push_back({{"destination", "/tmp"},
                              {"type", "tmpfs"},
                              {"source", "tmpfs"},
                              {"options", Json::array({"nosuid", "nodev"})}});
  std::error_code error;
  fs::create_directories(bundle.path, error);
  std::ofstream out(bundle.path + "/config.json");
  out << config.dump();
  out.close();
  if (!out) return os::ErrnoStatus("write ", bundle.path);
  return absl::OkStatus();
}

namespace {

absl::StatusOr<Sample> RunContainer(const std::string& runtime,
                                    const Json& config, const char* name,
                                    const ContenderOptions& options, int number,
                                    int worker, const Program& program,
                                    const ProgramText& text) {
  const std::string home = absl::StrCat(options.root.scratch, "/", name);
  const Bundle bundle = {.path = absl::StrCat(home, "/", worker),
                         .work = absl::StrCat(home, "-", worker)};
  absl::Status made = MakeWorkDirectory(bundle.work, program, text);
  const std::string id = absl::StrCat(options.prefix, "-", name, "-", number);
  if (made.ok()) {
    made = WriteBundle(
        bundle, config,
        absl::StrCat("/", options.prefix, "-", name, "-", worker),
        OneCommand(program), UserEnvironment(options, program, "/home", "/tmp"),
        options);
  }
  if (!made.ok()) return made;
  // Its state stays in the scratch tmpfs, its groups go with each run.
  return RunCommands({{.argv = {runtime, "--root", home + "/state", "run",
                                "--bundle", bundle.path, id},
                       .env = {kToolEnvironment}}},
                     text);
}

// Links as in the shared root, places for mounts, and nothing else.
absl::Status MakeImage(const std::string& docker, const std::string& directory,
                       const std::string& image) {
  const std::string root = directory + "/image";
  std::error_code error;
  for (const char* name : {"usr", "etc", "home", "program", "tmp", "proc"}) {
    fs::create_directories(root + "/" + name, error);
  }
  for (const char* name : {"bin", "sbin", "lib", "lib64"}) {
    fs::create_symlink(absl::StrCat("usr/", name), root + "/" + name, error);
  }
  const std::string tar = directory + "/image.tar";
  absl::StatusOr<CommandResult> made =
      RunCommand({.argv = {"/usr/bin/tar", "-C", root, "-cf", tar, "."},
                  .env = {kToolEnvironment}});
  if (made.ok()) {
    made = RunCommand(
        {.argv = {docker, "import", tar, image}, .env = {kToolEnvironment}});
  }
  return made.status();
}

absl::StatusOr<Sample> RunDocker(const std::string& docker,
                                 const std::string& image,
                                 const ContenderOptions& options, int worker,
                                 const Program& program,
                                 const ProgramText& text) {
  const std::string work = absl::StrCat(options.visible, "/docker-", worker);
  const absl::Status made = MakeWorkDirectory(work, program, text);
  if (!made.ok()) return made;
  Command command = {
      .argv = {docker, "run", "--rm", "--network", "none", "--label", image,
               "-v", "/usr:/usr:ro", "-v", "/etc:/etc:ro", "-v",
               options.visible + "/home:/home", "-v", work + ":/program", "-w",
               "/program"},
      .env = {kToolEnvironment, "HOME=" + options.visible}};
  for (const std::string& entry :
       UserEnvironment(options, program, "/home", "/tmp")) {
    command.argv.insert(command.argv.end(), {"-e", entry});
  }
  command.argv.push_back(image);
  const std::vector<std::string> inner = OneCommand(program);
  command.argv.insert(command.argv.end(), inner.begin(), inner.end());
  absl::StatusOr<Sample> sample = RunCommands({command}, text);
  // The engine does the work, not the command.
  if (sample.ok()) sample->cpu.reset();
  return sample;
}

}  // namespace

Contender OciRuntime(const char* name, const ContenderOptions& options) {
  Contender contender = {.name = name};
  const std::string runtime = FindDebianProgram(name);
  if (runtime.empty()) {
    contender.missing = absl::StrCat("not installed; apt-get install ", name);
    return contender;
  }
  const absl::StatusOr<Json> config = DefaultBundle(
      runtime, absl::StrCat(options.root.scratch, "/", name, "/spec"));
  if (!config.ok()) {
    contender.missing = std::string(config.status().message());
    return contender;
  }
  contender.run = [runtime, config = *config, name, options,
                   count = std::make_shared<std::atomic<int>>(0)](
                      const Program& program, const ProgramText& text,
                      int worker) {
    return RunContainer(runtime, config, name, options, ++*count, worker,
                        program, text);
  };
  return contender;
}

Contender Docker(const ContenderOptions& options) {
  Contender contender = {.name = kDocker};
  std::string docker = FindDebianProgram("docker");
  if (docker.empty() && ::access("/usr/local/bin/docker", X_OK) == 0) {
    docker = "/usr/local/bin/docker";
  }
  if (docker.empty()) {
    contender.missing = "not installed; apt-get install docker.io";
    return contender;
  }
  absl::Status status =
      RunCommand({.argv = {docker, "version"},
                  .env = {kToolEnvironment, "HOME=" + options.visible}})
          .status();
  if (status.ok()) {
    status = MakeImage(docker, options.visible, options.prefix);
  }
  if (!status.ok()) {
    contender.missing =
        absl::StrCat("no engine that works: ", status.message());
    return contender;
  }
  contender.run = [docker, options](const Program& program,
                                    const ProgramText& text, int worker) {
    return RunDocker(docker, options.prefix, options, worker, program, text);
  };
  return contender;
}

}  // namespace sandglass::bench
