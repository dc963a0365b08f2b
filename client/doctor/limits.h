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
  // The arguments for the probe, given the limits that are in force.
  std::vector<std::string> (*arguments)(const v1::Limits&);
  // Tightens the run's limits so that it takes little time and memory.
  // `in_force` becomes the limits that the run will have.
  void (*tighten)(const Way&, v1::RunCodeRequest& request,
                  v1::Limits& in_force);
  Judgement (*judge)(const v1::RunCodeResponse&);
  // Whether the run's verdict must name a limit.
  bool has_evidence;
};

absl::Span<const LimitTrial> LimitTrials();

// Why a trial would use too much of the machine; empty when it wouldn't.
std::string TooLarge(const v1::Limits& in_force);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_LIMITS_H_
