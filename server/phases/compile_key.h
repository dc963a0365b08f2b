#ifndef SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_
#define SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_

#include <string>

#include "server/job/job.h"

namespace sandglass::server {

// False for a job whose compile phase is not to be kept: it has none, the
// profile or the language doesn't want it, or one of its files makes the result
// depend on more than CompileKey covers.
bool MayKeepCompile(const Job& job);

// A digest, as 64 hexadecimal digits, of everything that the result of a job's
// compile phase depends on: all that its jail is given, in which order, and its
// limits, except for those of time, which don't show in the result. `toolchain`
// stands for what the jail has by itself (Toolchain::Identity). Precondition:
// MayKeepCompile.
std::string CompileKey(const Job& job, const std::string& toolchain);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_
