#ifndef SANDGLASS_CLIENT_FLAGS_OPTIONS_H_
#define SANDGLASS_CLIENT_FLAGS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace sandglass::client {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The limits that were requested; one that isn't set is the profile's.
struct LimitOptions {
  std::optional<absl::Duration> timeout;
  std::optional<absl::Duration> cpu_time;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> max_processes;
};

// `sandglass run`: the content of the command line, with its syntax checked.
// Exactly one of file and code is set.
struct RunOptions {
  std::optional<std::string> file;  // "-" is standard input
  std::optional<std::string> code;
  std::string language;                   // empty: to be guessed
  std::optional<std::string> stdin_file;  // "-" is standard input
  std::vector<std::string> args;
  Pairs env;
  // The path in the jail, and the path here.
  Pairs files;
  std::vector<std::string> fetch;
  std::optional<std::string> fetch_dir;
  LimitOptions limits;
  std::optional<absl::Duration> compile_timeout;
  std::optional<uint64_t> compile_memory_bytes;
  std::string profile;
  Pairs labels;
  bool batch = false;
  std::string request_id;
  std::string approval_id;
  std::vector<std::string> libraries;
  std::optional<std::string> library_lock;  // a file; "-" is standard input
  // Set by `sandglass session run`: the program is a cell in this session.
  std::string session_id;
  std::string context;
  bool rich = false;
  std::optional<std::string> results_dir;
  bool json = false;
  bool stream = true;
  bool quiet = false;
  bool verbose = false;
  uint32_t repeat = 0;  // 0: once, in the usual way
  bool json_summary = false;
};

struct InfoOptions {
  bool json = false;
};

struct LanguagesOptions {
  bool json = false;
};

struct PsOptions {
  bool all = false;
  bool json = false;
  Pairs labels;
};

struct KillOptions {
  std::string run_id;
  bool json = false;
};

struct DoctorOptions {
  std::string profile;
  std::vector<std::string> languages;  // ids or aliases; none: all
  bool json = false;
  bool verbose = false;
  bool quick = false;
  // Variables that the operator's own policy sets for programs.
  std::vector<std::string> environment;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_FLAGS_OPTIONS_H_
