#ifndef SANDGLASS_TESTS_PAYLOADS_HOSTILE_ARGUMENTS_H_
#define SANDGLASS_TESTS_PAYLOADS_HOSTILE_ARGUMENTS_H_

#include <errno.h>

// Words of the command line as arguments of a system call:
//
//   12, 0x1f, -1     the number
//   s:TEXT           a pointer to the text
//   z:SIZE           a pointer to so many zero bytes
//   h:HEX            a pointer to these bytes
//   fd:PATH          a descriptor, open for reading
//   rw:PATH          a descriptor, open for both; the file is made if need be
//   path:PATH        a descriptor, opened with O_PATH
//   self, parent     a pid
//   child            the pid of a new child that sleeps
//   child-fd         a pidfd of such a child
//   parent-fd        a pidfd of the parent
//   tcp, tcp6        one end of a connection over the loopback
//   udp, udp6        a socket that is bound to the loopback
//   unix, packet     one end of a pair, of streams or SOCK_SEQPACKET
//   netlink          a socket of NETLINK_ROUTE
//   pipe             the writing end of a pipe
//
// What can't be had ends the process with kNoSetUp.
namespace sandglass::hostile {

// Exit codes of the payload. An attempt that was refused: kWentThrough plus the
// errno, so that the kernel's own word for the exit tells the answer.
inline constexpr int kWentThrough = 100;
inline constexpr int kUsage = 90;
inline constexpr int kNoSetUp = 91;
// Repetitions that were to be the same were not.
inline constexpr int kVaries = 92;
// A child was ended by a signal.
inline constexpr int kSignal = 93;
// A sweep met an answer that is not the expected one.
inline constexpr int kUnexpected = 94;

// Of a conversation: all was sent; nothing was heard.
inline constexpr int kSent = 95;
inline constexpr int kSilence = 96;

// 0, or errno where a call's result says that it failed.
inline int Answer(long result) { return result < 0 ? errno : 0; }

[[noreturn]] void NoSetUp(const char* what);

// The value of one word. What it made lives to the process's end.
unsigned long Value(const char* word);

// Through a socket, up to 253 at once, without waiting. 0 or errno.
int SendDescriptors(int over, const int* fds, int count);

}  // namespace sandglass::hostile

#endif  // SANDGLASS_TESTS_PAYLOADS_HOSTILE_ARGUMENTS_H_
