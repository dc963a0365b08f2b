#ifndef SANDGLASS_BENCH_WORK_DIRECTORY_H_
#define SANDGLASS_BENCH_WORK_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/command.h"
#include "bench/contenders.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

// Makes the directory `path` anew with the program in it and nothing else.
absl::Status MakeWorkDirectory(const std::string& path, const Program& program,
                               const ProgramText& text);

// What a program finds as a user's environment, `home` and `tmp` being its
// directories: caches are below HOME and stay warm.
std::vector<std::string> UserEnvironment(const ContenderOptions& options,
                                         const Program& program,
                                         const std::string& home,
                                         const std::string& tmp);

// The program's commands as one.
std::vector<std::string> OneCommand(const Program& program);

// Runs them one after the other; their times and processor times together.
// Other output than the text says is an error.
absl::StatusOr<Sample> RunCommands(const std::vector<Command>& commands,
                                   const ProgramText& text);

// Debian's programs only, in /usr/bin and /usr/sbin: versions and figures are
// those of its packages. Empty: not there.
std::string FindDebianProgram(const std::string& name);

// Of the tools that run containers.
inline constexpr char kToolEnvironment[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

struct Bundle {
  std::string path;
  std::string work;  // a directory, /program in the container
};

// An OCI runtime's own default bundle; its state is kept below `directory`.
absl::StatusOr<nlohmann::json> DefaultBundle(const std::string& runtime,
                                             const std::string& directory);
// That bundle, changed only where it must be.
absl::Status WriteBundle(const Bundle& bundle, nlohmann::json config,
                         const std::string& cgroup,
                         const std::vector<std::string>& args,
                         const std::vector<std::string>& env,
                         const ContenderOptions& options);

// crun or runc.
Contender OciRuntime(const char* name, const ContenderOptions& options);
// An engine that answers, by its command line; the processor time that it takes
// can't be told apart from others'.
Contender Docker(const ContenderOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_WORK_DIRECTORY_H_
