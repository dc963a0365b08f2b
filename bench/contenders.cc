#include "bench/contenders.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/command.h"
#include "bench/work_directory.h"

namespace sandglass::bench {
namespace {

std::string DirectoryOf(const ContenderOptions& options, const char* name,
                        int worker) {
  return absl::StrCat(options.root.scratch, "/", name, "-", worker);
}

// The commands alone; making the directory doesn't count.
Contender Bare(const ContenderOptions& options) {
  return {.name = kBare,
          .run = [options](const Program& program, const ProgramText& text,
                           int worker) -> absl::StatusOr<Sample> {
            const std::string directory = DirectoryOf(options, kBare, worker);
            const absl::Status made =
                MakeWorkDirectory(directory, program, text);
            if (!made.ok()) return made;
            std::vector<Command> commands;
            for (const std::vector<std::string>& argv : program.commands) {
              commands.push_back(
                  {.argv = argv,
                   .env = UserEnvironment(options, program, options.root.home,
                                          options.root.scratch),
                   .directory = directory,
                   .timed = commands.size() >= program.making_commands});
              if (program.input_bytes > 0) {
                commands.back().input = directory + "/input";
              }
            }
            return RunCommands(commands, text);
          }};
}

// Like Sandglass: all namespaces, a read-only root, private /tmp and /proc.
std::vector<std::string> BubblewrapArguments(const std::string& program,
                                             const SharedRoot& root,
                                             const std::string& directory) {
  return {program,
          "--unshare-all",
          "--die-with-parent",
          "--new-session",
          "--info-fd",
          "3",
          "--ro-bind",
          root.rootfs + "/usr",
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
          root.rootfs + "/etc",
          "/etc",
          "--proc",
          "/proc",
          "--dev",
          "/dev",
          "--tmpfs",
          "/tmp",
          "--bind",
          root.home,
          "/home",
          "--bind",
          directory,
          "/program",
          "--chdir",
          "/program"};
}

Contender Bubblewrap(const ContenderOptions& options) {
  const std::string bwrap = FindDebianProgram("bwrap");
  if (bwrap.empty()) {
    return {.name = kBubblewrap,
            .missing = "not installed; apt-get install bubblewrap"};
  }
  return {
      .name = kBubblewrap,
      .run = [options, bwrap](const Program& program, const ProgramText& text,
                              int worker) -> absl::StatusOr<Sample> {
        const std::string directory = DirectoryOf(options, kBubblewrap, worker);
        const absl::Status made = MakeWorkDirectory(directory, program, text);
        if (!made.ok()) return made;
        Command command = {
            .argv = BubblewrapArguments(bwrap, options.root, directory),
            .env = UserEnvironment(options, program, "/home", "/tmp"),
            .leaves_child = true};
        const std::vector<std::string> inner = OneCommand(program);
        command.argv.insert(command.argv.end(), inner.begin(), inner.end());
        return RunCommands({command}, text);
      }};
}

}  // namespace

std::vector<Contender> MakeContenders(const ContenderOptions& options) {
  std::vector<Contender> contenders;
  contenders.push_back(Bare(options));
  contenders.push_back(Bubblewrap(options));
  contenders.push_back(OciRuntime(kCrun, options));
  contenders.push_back(OciRuntime(kRunc, options));
  contenders.push_back(Docker(options));
  return contenders;
}

}  // namespace sandglass::bench
