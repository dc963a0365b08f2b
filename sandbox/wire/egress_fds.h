#ifndef SANDGLASS_SANDBOX_WIRE_EGRESS_FDS_H_
#define SANDGLASS_SANDBOX_WIRE_EGRESS_FDS_H_

namespace sandglass::egress {

// The numbers of the descriptors that the daemon leaves open for the egress
// proxy.
inline constexpr int kChannelFd = 3;         // SOCK_SEQPACKET to the daemon
inline constexpr int kConfigFd = 4;          // memfd with internal.EgressConfig
inline constexpr int kTemplateLedgerFd = 5;  // see SandboxOptions; or absent
inline constexpr int kFirstSecretFd = 6;     // a file for each secret

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_WIRE_EGRESS_FDS_H_
