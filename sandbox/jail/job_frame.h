#ifndef SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_
#define SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/jail/jail.h"

// What the daemon and an interpreter that was started ahead of its program say
// to each other. They use the program's own standard streams, so that there is
// nothing else that the interpreter would have to close or a program could
// find.
namespace sandglass::sandbox {

// An interpreter that waits writes this and a line feed to standard output.
inline constexpr char kWaitingWord[] = "sandglass: waiting";

// What the interpreter then gets on standard input, before the program's own
// input: a length in bytes (4 bytes, big-endian), then strings, each ended by a
// NUL: the number of arguments, the arguments, the environment as "NAME=value".
// The interpreter must not read one byte more. Only `argv` and `env` of
// `program` count.
//
// An interpreter that can report the end of the program gets a secret before
// all that. It may write to standard output, after everything else, EndWord of
// the secret, the exit code in decimal and a line feed. It must not if the
// secret is empty.
std::string JobFrame(const ProgramSpec& program,
                     std::optional<absl::string_view> end_secret);

// Makes a secret of 32 random hexadecimal digits, so that no output contains it
// by chance.
std::string MakeEndSecret();
std::string EndWord(absl::string_view secret);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_
