#ifndef SANDGLASS_BENCH_COMPARE_LANGUAGES_H_
#define SANDGLASS_BENCH_COMPARE_LANGUAGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/language_report.h"

namespace sandglass::bench {

struct LanguageOptions {
  std::string address;    // of the daemon
  std::string directory;  // an empty one, to mount things in
  std::string programs;   // bench/programs
  int rounds = 60;        // of interpreted languages; compiled ones have half
  int gap_ms = 0;
};

// Times one small program in each language, through the daemon and bare.
// Preconditions: root; single-threaded.
absl::StatusOr<LanguageReport> CompareLanguages(const LanguageOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_COMPARE_LANGUAGES_H_
