#ifndef SANDGLASS_SANDBOX_JOB_FRAME_H_
#define SANDGLASS_SANDBOX_JOB_FRAME_H_

#include <string>

#include "sandbox/jail.h"

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
std::string JobFrame(const ProgramSpec& program);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JOB_FRAME_H_
