#ifndef SANDGLASS_CLIENT_DOCTOR_EXAMINE_H_
#define SANDGLASS_CLIENT_DOCTOR_EXAMINE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "client/doctor/asker.h"
#include "client/doctor/report.h"
#include "client/flags/options.h"

namespace sandglass::client {

// Tries everything that the options ask for. `examination` already has the
// daemon's info and the profile; the rest is filled in. `progress` is called
// with what is being tried. The error is a usage error: a profile or language
// that the daemon doesn't have.
absl::Status Examine(const DoctorOptions& options, Asker& asker,
                     const std::function<void(const std::string&)>& progress,
                     Examination& examination);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_EXAMINE_H_
