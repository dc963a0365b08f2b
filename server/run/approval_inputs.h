#ifndef SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_
#define SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_

#include <cstdint>

#include "sandglass/v1/policy.pb.h"
#include "server/run/run.h"

namespace sandglass::server {

// Texts of one approval's files and input that are kept for its approver. With
// the program's the answer still fits into the 4 MiB that clients take.
inline constexpr uint64_t kMostInputText = uint64_t{2} << 20;

// Says what comes with a run's program: names, sizes and sums, and what can be
// read of it up to kMostInputText. While the run still has its inputs.
void ShowInputs(Run& run, v1::Approval& shown);

// Bytes of the program's text, and of all texts.
uint64_t ProgramBytes(const v1::Approval& approval);
uint64_t TextBytes(const v1::Approval& approval);

// Nobody has to read them any more; names, sizes and sums stay.
void ForgetInputTexts(v1::Approval& approval);
void ForgetTexts(v1::Approval& approval);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVAL_INPUTS_H_
