#ifndef SANDGLASS_BENCH_CALLS_H_
#define SANDGLASS_BENCH_CALLS_H_

namespace sandglass::bench {

// Prints what single system calls take, a line "NAME NANOSECONDS" for each: the
// best of a few batches, since a disturbance only makes one slower. `file` is
// what is opened and asked for. False when a call fails.
bool PrintCalls(const char* file);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_CALLS_H_
