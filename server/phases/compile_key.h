#ifndef SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_
#define SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_

#include <string>

#include "server/job/job.h"

namespace sandglass::server {

// False for a job whose compile phase is not to be kept: it has none, profile
// or language don't want it, or one of its files is such that the result
// depends on more than CompileKey covers.
bool MayKeepCompile(const Job& job);

// What the result of a job's compile phase depends on, as 64 hexadecimal
// digits: all that its jail is given, in what order, and its limits, except
// for those of time, which the result doesn't show. `toolchain` stands for what
// the jail has by itself (Toolchain::Identity).
// Precondition: MayKeepCompile.
std::string CompileKey(const Job& job, const std::string& toolchain);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_KEY_H_
