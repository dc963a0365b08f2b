#include "bench/contenders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/command.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

namespace fs = std::filesystem;

constexpr char kPython[] = "/usr/bin/python3";
constexpr char kCode[] = "print(1)";

absl::StatusOr<absl::Duration> TimePrint(const Command& command) {
  absl::StatusOr<CommandResult> result = RunCommand(command);
  if (!result.ok()) return result.status();
  if (result->output != "1\n") {
    return absl::UnknownError(absl::StrCat(command.argv[0], " printed '",
                                           result->output, "' and not 1"));
  }
  return result->time;
}

// Debian's programs only: versions and figures are those of its packages.
std::string FindProgram(const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/usr/sbin/"}) {
    std::string path = directory + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

Contender Missing(const char* name, const std::string& package) {
  return {.name = name,
          .missing = absl::StrCat("not installed; apt-get install ", package)};
}

Contender Bare(const ContenderOptions& options) {
  Command command = {.argv = {kPython, "-c", kCode}, .env = options.env};
  return {.name = kBare,
          .run = [command = std::move(command)] { return TimePrint(command); }};
}

// What a run of Sandglass does besides: a fresh directory with the program in
// it, gone afterwards.
absl::StatusOr<absl::Duration> TimeFileRun(
    const std::string& scratch, const std::vector<std::string>& env) {
  const int64_t start = os::MonotonicNanos();
  std::string directory = scratch + "/run.XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    return os::ErrnoStatus("mkdtemp ", directory);
  }
  std::ofstream file(directory + "/main.py");
  file << kCode << '\n';
  file.close();
  if (!file) return os::ErrnoStatus("write ", directory, "/main.py");
  absl::StatusOr<absl::Duration> run = TimePrint(
      {.argv = {kPython, "main.py"}, .env = env, .directory = directory});
  std::error_code error;
  fs::remove_all(directory, error);
  const absl::Duration time = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (!run.ok()) return run.status();
  return time;
}

Contender BareFile(const ContenderOptions& options) {
  return {.name = kBareFile,
          .run = [scratch = options.root.scratch, env = options.env] {
            return TimeFileRun(scratch, env);
          }};
}

Contender Bubblewrap(const ContenderOptions& options) {
  const std::string program = FindProgram("bwrap");
  if (program.empty()) return Missing(kBubblewrap, "bubblewrap");
  const std::string& root = options.root.rootfs;
  // Like Sandglass: all namespaces, a read-only root, private /tmp and /proc.
  Command command = {.argv = {program,
                              "--unshare-all",
                              "--die-with-parent",
                              "--new-session",
                              "--ro-bind",
                              root + "/usr",
                              "/usr",
                              "--symlink",
                              "usr/lib",
                              "/lib",
                              "--symlink",
                              "usr/lib64",
                              "/lib64",
                              "--symlink",
                              "usr/bin",
                              "/bin",
                              "--symlink",
                              "usr/sbin",
                              "/sbin",
                              "--ro-bind",
                              root + "/etc",
                              "/etc",
                              "--proc",
                              "/proc",
                              "--dev",
                              "/dev",
                              "--tmpfs",
                              "/tmp",
                              "--chdir",
                              "/tmp",
                              kPython,
                              "-c",
                              kCode},
                     .env = options.env};
  return {.name = kBubblewrap,
          .run = [command = std::move(command)] { return TimePrint(command); }};
}

// The runtime's own default bundle, changed only where it must be.
absl::Status WriteBundle(const std::string& program, const std::string& bundle,
                         const std::string& cgroup,
                         const ContenderOptions& options) {
  if (::mkdir(bundle.c_str(), 0755) != 0) {
    return os::ErrnoStatus("mkdir ", bundle);
  }
  const absl::StatusOr<CommandResult> spec =
      RunCommand({.argv = {program, "--root", bundle + "/state", "spec"},
                  .env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
                  .directory = bundle});
  if (!spec.ok()) return spec.status();
  const std::string path = bundle + "/config.json";
  std::ifstream in(path);
  nlohmann::json config =
      nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    return absl::UnknownError(
        absl::StrCat(program, " spec wrote no JSON object to ", path));
  }
  config.merge_patch(
      {{"process",
        {{"terminal", false},
         {"args", {kPython, "-c", kCode}},
         {"env", options.env}}},
       {"root", {{"path", options.root.rootfs}, {"readonly", true}}},
       {"linux", {{"cgroupsPath", cgroup}}}});
  std::ofstream out(path);
  out << config.dump();
  out.close();
  if (!out) return os::ErrnoStatus("write ", path);
  return absl::OkStatus();
}

Contender OciRuntime(const char* name, const ContenderOptions& options) {
  const std::string program = FindProgram(name);
  if (program.empty()) return Missing(name, name);
  const std::string bundle = absl::StrCat(options.root.scratch, "/", name);
  const std::string cgroup = absl::StrCat("/", options.prefix, "-", name);
  Contender contender = {.name = name};
  if (const absl::Status status = WriteBundle(program, bundle, cgroup, options);
      !status.ok()) {
    contender.failure = std::string(status.message());
    return contender;
  }
  // Its state stays in the scratch tmpfs, its groups go with each run.
  contender.run = [program, bundle, prefix = options.prefix, count = 0,
                   state = absl::StrCat(bundle, "/state")]() mutable {
    return TimePrint({.argv = {program, "--root", state, "run", "--bundle",
                               bundle, absl::StrCat(prefix, "-", ++count)},
                      .env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}});
  };
  return contender;
}

}  // namespace

std::vector<Contender> MakeContenders(const ContenderOptions& options) {
  std::vector<Contender> contenders;
  contenders.push_back(Bare(options));
  contenders.push_back(BareFile(options));
  contenders.push_back(Bubblewrap(options));
  contenders.push_back(OciRuntime(kCrun, options));
  contenders.push_back(OciRuntime(kRunc, options));
  return contenders;
}

}  // namespace sandglass::bench
