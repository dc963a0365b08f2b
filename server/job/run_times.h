#ifndef SANDGLASS_SERVER_JOB_RUN_TIMES_H_
#define SANDGLASS_SERVER_JOB_RUN_TIMES_H_

#include "absl/time/time.h"

namespace sandglass::server {

// The times of the three loops that see code through to its end: of a program
// in a jail of its own (one_use_job.cc), of a cell in a session's kernel
// (cell_run.cc) and of a command in a session (exec.cc).

// ---- the start ----

// How long a program or command may take until it starts. A start takes some
// milliseconds; on a machine that is short of everything, a second or two.
inline constexpr absl::Duration kStartTimeout = absl::Seconds(15);

// ---- while it runs ----

// How often memory, processes and uncharged memory are measured: seldom enough
// that most runs end before the first time. Where a loop waits for something of
// which it may get no notice, it looks as often.
inline constexpr absl::Duration kSampleInterval = absl::Milliseconds(20);
// The same for the uncharged memory of a session with commands, for which one
// thread serves all sessions.
inline constexpr absl::Duration kUnchargedInterval = absl::Milliseconds(50);
// A list of many sockets takes long to read, so measurements of uncharged
// memory take at most this part of the time: one in so many.
inline constexpr int kUnchargedShare = 20;
// How soon processor time may be read again when it is almost used up. A
// command's loop serves all commands in one thread, so it does it less often.
inline constexpr absl::Duration kShortestCpuCheck = absl::Milliseconds(2);
inline constexpr absl::Duration kShortestCommandCpuCheck =
    absl::Milliseconds(10);
// Code that has had so much processor time since it began gives way to code
// that begins (see CpuTurn). Whether it has is first asked when it may have,
// and then again after a pause that doubles up to the second of these.
inline constexpr absl::Duration kLongRun = absl::Milliseconds(100);
inline constexpr absl::Duration kLongestTurnCheck = absl::Seconds(1);
// How soon after the kernel's notice that memory is short it is first asked
// again whether it has killed; the wait then doubles up to kSampleInterval.
inline constexpr absl::Duration kShortestOomCheck = absl::Milliseconds(1);

// ---- the end ----

// How long an interrupted cell may take to tidy up before its kernel is killed.
inline constexpr absl::Duration kInterruptGrace = absl::Seconds(1);
// A shell that gets the signal just before it waits for a line goes on waiting:
// of bash 5.2 shells with readline that are about to show a prompt, one in a
// thousand does. It then gets another one.
inline constexpr absl::Duration kHangUpAgain = absl::Seconds(1);
// How long a program that said that it is done may take to end, where its end
// has to be awaited.
inline constexpr absl::Duration kRunnerEndTimeout = absl::Seconds(2);

// When the daemon turns to stronger ways to end what it has killed, counted
// from the kill (docs/decisions/0042-more-than-one-way-to-kill.md).
struct DeathTimes {
  // The time when it kills again for the first time. It is not zero, so that
  // nothing is sent twice where the first kill did.
  absl::Duration again;
  absl::Duration jail;           // when it ends the jail
  absl::Duration pid_namespace;  // when it ends the jail by way of init
};
// From then on it kills again and again, so often.
inline constexpr absl::Duration kKillEvery = absl::Milliseconds(100);
// By then all ways were tried several times, and the run is given up.
inline constexpr absl::Duration kDeathTimeout = absl::Seconds(10);

inline constexpr DeathTimes kProgramDeath = {
    absl::Milliseconds(50), absl::Seconds(5), absl::Seconds(7)};
// These end a session's jail with all that runs in it, so they do it later, and
// by way of init only when the session ends. A kernel's first kill is by pid as
// well.
inline constexpr DeathTimes kKernelDeath = {kKillEvery, absl::Seconds(8),
                                            absl::InfiniteDuration()};
inline constexpr DeathTimes kCommandDeath = {
    absl::Milliseconds(50), kDeathTimeout, absl::InfiniteDuration()};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_TIMES_H_
