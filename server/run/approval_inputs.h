#ifndef SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_
#define SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_

#include <cstdint>

#include "sandglass/v1/policy.pb.h"
#include "server/run/run.h"

namespace sandglass::server {

// The most bytes of text of one approval's files and input that are kept for
// its approver. Together with the program's text, the answer still fits into
// the 4 MiB that clients accept.
inline constexpr uint64_t kMaxInputText = uint64_t{2} << 20;

// Shows what comes with a run's program: names, sizes and checksums, and up to
// kMaxInputText bytes of what people can read. Call it while the run still has
// its inputs.
void ShowInputs(Run& run, v1::Approval& shown);

// Bytes of all its texts together, the program's among them.
uint64_t TextBytes(const v1::Approval& approval);

// Remove texts that nobody has to read any more; names, sizes and checksums
// stay.
void ForgetInputTexts(v1::Approval& approval);
void ForgetTexts(v1::Approval& approval);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_
