#ifndef SANDGLASS_BENCH_ROUNDS_H_
#define SANDGLASS_BENCH_ROUNDS_H_

#include <string>

namespace sandglass::bench {

// Rounds that don't count, before those that do.
inline constexpr int kWarmUpRounds = 3;

// "what done of of" on stderr.
void Progress(const std::string& what, int done, int of);

// What others do on the machine while nothing of ours runs. Takes a second.
std::string LoadFromOthers();

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_ROUNDS_H_
