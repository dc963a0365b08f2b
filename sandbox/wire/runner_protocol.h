#ifndef SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_
#define SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_

#include <cstdint>

namespace sandglass::sandbox {

// What spawner, zygote, runner and daemon say to each other: one struct per
// SOCK_SEQPACKET datagram, in the machine's own byte order. No protobuf: this
// is linked into an interpreter that will run a user's program.

// ---- spawner → zygote ----
// Descriptors: the pidfd of the jail's init, the v2 directory to be born in,
// the runner's end of its socket to the daemon, then the v1 tasks files. The
// program's filter follows, as so many struct sock_filter.
struct FillOrder {
  uint64_t serial;  // not 0; comes back in the reply
  uint32_t filter_length;
  int32_t landlock_abi;
  uint32_t in_haste;  // 1: a run waits, so the runner doesn't rehearse
  uint32_t reserved;
};

// ---- zygote → spawner ----
struct FillReply {
  uint64_t serial;  // 0: the zygote is ready
  int32_t pid;      // as the yard sees it, or -1
  int32_t error;    // errno then
};

// ---- runner → daemon: on the socket up to kStarted, then through the report
// pipe. Once the program runs it holds no socket of the daemon's: through one
// it could pass descriptors, and closing some takes as long as their maker
// likes (SO_LINGER). What is in the pipe the program may read again itself, by
// way of /proc/self/fd, so nothing may depend on what was written there. ----
enum class RunnerEventKind : uint32_t {
  // Waits for its job. Descriptors: the daemon's ends of stdin, stdout, stderr
  // and the report pipe.
  kReady = 1,
  // The user's program begins; `nanoseconds` is CLOCK_MONOTONIC.
  kStarted = 2,
  // It is over and all its output written: `value` is the exit code. From here
  // on only memory is given back. Whoever runs in the jail can say this too;
  // it ends nothing but its own run. When that was is the daemon's to measure.
  kDone = 3,
  // A step failed: `value` is errno, `step` a value of SetupStep.
  kFailed = 4,
  // Instead of kStarted, of a job with files to look at: what their text names
  // follows (docs/policy.md). The runner waits until the daemon has sent a
  // datagram of one byte, which is the program's start; the program of one that
  // ends instead never starts.
  kFacts = 5,
};
struct RunnerEvent {
  RunnerEventKind kind;
  int32_t value;
  int32_t step;
  uint32_t step_count;  // of kReady: so many RunnerSteps follow
  int64_t nanoseconds;
};
struct RunnerStep {
  int64_t step;  // a value of SetupStep
  int64_t nanoseconds;
};

// ---- daemon → runner, once ----
// The header, then NUL-terminated strings: `argument_count` arguments,
// `environment_count` times "NAME=value", and per file its path below
// /workspace; then per file a RunnerFile; then the contents, one after another.
// Larger than kMaxInlineJob bytes it comes in a memfd instead, and the datagram
// is the header alone.
struct RunnerJob {
  uint32_t argument_count;
  uint32_t environment_count;
  uint32_t file_count;
  uint32_t with_stdin;  // 0: standard input is at its end at once
  uint64_t open_files;
  uint64_t file_size_bytes;
  uint64_t cpu_seconds;
};
struct RunnerFile {
  uint64_t size;
  uint32_t mode;
  uint32_t look_at;  // 1: it is one of the files that kFacts is about
};
inline constexpr uint64_t kMaxInlineJob = 128 * 1024;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_
