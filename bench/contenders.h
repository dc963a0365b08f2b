#ifndef SANDGLASS_BENCH_CONTENDERS_H_
#define SANDGLASS_BENCH_CONTENDERS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/shared_root.h"

namespace sandglass::bench {

// One row of the table: a way to run print(1) in a fresh Python.
struct Contender {
  std::string name;
  // Times one run; an error ends this contender's part.
  std::function<absl::StatusOr<absl::Duration>()> run;
  // Why it can't run at all; empty when it can.
  std::string missing;
  std::vector<absl::Duration> samples;
  // The first error of `run`; empty when there was none.
  std::string failure;
};

inline constexpr char kBare[] = "bare python3 -c";
inline constexpr char kBareFile[] = "bare python3 main.py";
inline constexpr char kBubblewrap[] = "bubblewrap";
inline constexpr char kCrun[] = "crun";
inline constexpr char kRunc[] = "runc";

struct ContenderOptions {
  SharedRoot root;
  // Environment of every contender's Python, "NAME=value".
  std::vector<std::string> env;
  // Beginning of the names of containers and of their control groups.
  std::string prefix;
};

// All but Sandglass itself. A program that isn't installed gives a contender
// with `missing` set to a sentence that names the Debian package.
std::vector<Contender> MakeContenders(const ContenderOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_CONTENDERS_H_
