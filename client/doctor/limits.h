#ifndef SANDGLASS_CLIENT_DOCTOR_LIMITS_H_
#define SANDGLASS_CLIENT_DOCTOR_LIMITS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/doctor/judge.h"
#include "client/doctor/report.h"

namespace sandglass::client {

// A run that goes into a limit.
struct LimitTrial {
  const char* protection;
  // What the probe is to do, against the limits that are in force.
  std::vector<std::string> (*arguments)(const v1::Limits&);
  // Tightens the run so that it takes little. `in_force` becomes what the run
  // will have.
  void (*tighten)(const Way&, v1::RunCodeRequest& request,
                  v1::Limits& in_force);
  Judgement (*judge)(const v1::RunCodeResponse&);
  // Whether its verdict must name a limit.
  bool has_evidence;
};

absl::Span<const LimitTrial> LimitTrials();

// Why a trial would take too much of the machine; empty when it doesn't.
std::string TooLarge(const v1::Limits& in_force);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_LIMITS_H_
