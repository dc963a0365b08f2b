#ifndef SANDGLASS_SANDBOX_WIRE_SPAWNER_FDS_H_
#define SANDGLASS_SANDBOX_WIRE_SPAWNER_FDS_H_

namespace sandglass::sandbox {

// The numbers of the descriptors that the daemon leaves open for a spawner. The
// directories of controllers that are on v2 are absent.
inline constexpr int kChannelFd = 3;   // SOCK_SEQPACKET to the daemon
inline constexpr int kConfigFd = 4;    // memfd with internal.SpawnerConfig
inline constexpr int kCgroupV2Fd = 5;  // the yard's delegated directories
inline constexpr int kCgroupMemoryFd = 6;
inline constexpr int kCgroupPidsFd = 7;
inline constexpr int kCgroupCpuFd = 8;
inline constexpr int kTemplateLedgerFd = 12;  // see SandboxOptions; or absent
// Only for a yard with a zygote; the spawner passes them on to the zygote.
inline constexpr int kZygoteLibraryFd = 9;  // memfd with its library
inline constexpr int kZygoteScriptFd = 10;  // memfd with what it executes
// Only where caps of disk I/O are on v1.
inline constexpr int kCgroupIoFd = 11;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_SPAWNER_FDS_H_
