#ifndef SANDGLASS_CLIENT_CERT_CERT_COMMANDS_H_
#define SANDGLASS_CLIENT_CERT_CERT_COMMANDS_H_

#include "client/cert/cert_options.h"

namespace sandglass::client {

// `sandglass cert …`; returns the exit code. It asks no daemon.
int CertCommand(const CertOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERT_COMMANDS_H_
