#ifndef SANDGLASS_CLIENT_DOCTOR_GAINS_H_
#define SANDGLASS_CLIENT_DOCTOR_GAINS_H_

#include <string>
#include <vector>

#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// Something that the daemon's machine doesn't have.
struct Gain {
  std::string what;  // a layer
  std::string how;   // what would add it, on one line
};

// What the machine could still gain, by what the daemon says of itself: layers
// that aren't in force, or that a newer kernel makes stronger. Nothing is
// guessed of a machine that may be another one.
std::vector<Gain> GainsOf(const v1::GetServerInfoResponse& info);

// What would add this layer, which isn't in force.
std::string HowToGain(const v1::IsolationLayer& layer,
                      const std::string& kernel);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_GAINS_H_
