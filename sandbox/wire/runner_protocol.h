#ifndef SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_
#define SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_

#include <cstdint>

namespace sandglass::sandbox {

// The messages between spawner, zygote, runner and daemon: one struct per
// SOCK_SEQPACKET datagram, in the machine's own byte order. They don't use
// protobuf, because this code is linked into an interpreter that will run a
// user's program.

// ---- spawner → zygote ----
// Comes with these descriptors: the pidfd of the jail's init, the v2 directory
// in which the runner is to start, the runner's end of its socket to the
// daemon, then the v1 tasks files. The program's filter follows as
// `filter_length` times a struct sock_filter.
struct FillOrder {
  uint64_t serial;  // not 0; comes back in the reply
  uint32_t filter_length;
  int32_t landlock_abi;
  uint32_t in_haste;  // 1: a run waits, so the runner skips its rehearsal
  uint32_t reserved;
};

// ---- zygote → spawner ----
struct FillReply {
  uint64_t serial;  // 0: the zygote is ready
  int32_t pid;      // in the yard's pid namespace, or -1
  int32_t error;    // an errno when `pid` is -1
};

// ---- runner → daemon: on the socket up to kStarted, then through the report
// pipe. Once the program runs it holds no socket to the daemon: through a
// socket it could pass descriptors, and closing some of those takes as long as
// their maker likes (SO_LINGER). The program can itself read what is in the
// pipe, by way of /proc/self/fd, so nothing may depend on what was written
// there. ----
enum class RunnerEventKind : uint32_t {
  // The runner waits for its job. Comes with these descriptors: the daemon's
  // ends of stdin, stdout, stderr and the report pipe.
  kReady = 1,
  // The user's program begins; `nanoseconds` is the time on CLOCK_MONOTONIC.
  kStarted = 2,
  // The program is over and all its output is written: `value` is the exit
  // code. From here on the process only releases memory. Any code in the jail
  // can send this too, but it only ends its own run. The daemon itself measures
  // when the run ended.
  kDone = 3,
  // A step failed: `value` is an errno, `step` a value of SetupStep.
  kFailed = 4,
  // Sent instead of kStarted when the job has files to look at. It is followed
  // by what the text of those files names (docs/policy.md). The runner then
  // waits until the daemon has sent a datagram of one byte, which is the
  // program's start. If the daemon ends the jail instead, the program never
  // starts.
  kFacts = 5,
  // Comes before kReady where the kernel has given a listener, and with it: it
  // is asked before sockets are made. From here on somebody has to answer.
  kAsks = 6,
};
struct RunnerEvent {
  RunnerEventKind kind;
  int32_t value;
  int32_t step;
  uint32_t step_count;  // with kReady: number of RunnerSteps that follow
  int64_t nanoseconds;
};
struct RunnerStep {
  int64_t step;  // a value of SetupStep
  int64_t nanoseconds;
};

// ---- daemon → runner, once ----
// The header, then NUL-terminated strings: `argument_count` arguments,
// `environment_count` times "NAME=value", and for each file its path below
// /workspace. Then for each file a RunnerFile, then the contents, one after
// another. A job of more than kMaxInlineJob bytes comes in a memfd instead, and
// the datagram is the header alone.
struct RunnerJob {
  uint32_t argument_count;
  uint32_t environment_count;
  uint32_t file_count;
  uint32_t with_stdin;  // 0: standard input ends at once
  uint64_t open_files;
  uint64_t file_size_bytes;
  uint64_t cpu_seconds;
};
struct RunnerFile {
  uint64_t size;
  uint32_t mode;
  uint32_t look_at;  // 1: kFacts tells of this file
};
inline constexpr uint64_t kMaxInlineJob = 128 * 1024;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_RUNNER_PROTOCOL_H_
