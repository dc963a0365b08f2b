#ifndef SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_
#define SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/jail/jail.h"

// What the daemon and an interpreter that was started ahead of its program say
// to each other, through the program's own standard streams: there is nothing
// else that the interpreter would have to close, or a program could find.
namespace sandglass::sandbox {

// Written to standard output, with a line feed, by an interpreter that waits.
inline constexpr char kWaitingWord[] = "sandglass: waiting";

// What it then gets on standard input, before what is the program's: a length
// in bytes (4, big-endian), then strings, each ended by a NUL: the number of
// arguments, the arguments, the environment as "NAME=value". It must read no
// byte more. Of `program` only `argv` and `env` count.
//
// An interpreter that tells when the program is over gets a secret before all
// that. It may write to standard output, after everything else, EndWord of the
// secret, the exit code in decimal and a line feed. An empty secret: it must
// not.
std::string JobFrame(const ProgramSpec& program,
                     std::optional<absl::string_view> end_secret);

// Of 32 random hexadecimal digits, so that no output holds it by chance.
std::string MakeEndSecret();
std::string EndWord(absl::string_view secret);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JOB_FRAME_H_
