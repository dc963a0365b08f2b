#ifndef SANDGLASS_CLIENT_DOCTOR_DOCTOR_COMMAND_H_
#define SANDGLASS_CLIENT_DOCTOR_DOCTOR_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/flags/options.h"

namespace sandglass::client {

// Tries harmless forms of attacks in the daemon's own jails, prints which
// protections hold, and returns the exit code (exit_codes.h).
int DoctorCommand(const Endpoint& endpoint, const DoctorOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_DOCTOR_COMMAND_H_
