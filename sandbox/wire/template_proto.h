#ifndef SANDGLASS_SANDBOX_WIRE_TEMPLATE_PROTO_H_
#define SANDGLASS_SANDBOX_WIRE_TEMPLATE_PROTO_H_

#include "internal/spawner.pb.h"
#include "policy/language/image.h"
#include "policy/limits/disk_cap.h"
#include "policy/limits/limits.h"
#include "sandbox/wire/jail_template.h"
#include "sandbox/wire/network_proto.h"

namespace sandglass::sandbox {

// Converts those of the limits that a jail is built with.
inline internal::JailSlots ToSlots(const policy::Limits& limits) {
  internal::JailSlots slots;
  slots.set_memory_bytes(limits.memory_bytes);
  slots.set_max_processes(limits.max_processes);
  slots.set_cpu_millis(limits.cpu_millis);
  slots.set_tmp_bytes(limits.tmp_bytes);
  slots.set_workspace_bytes(limits.workspace_bytes);
  slots.set_max_files(limits.max_files);
  return slots;
}

inline internal::DiskCap ToDiskCap(const policy::DiskCap& cap) {
  internal::DiskCap disk;
  disk.set_read_bytes(cap.read_bytes);
  disk.set_write_bytes(cap.write_bytes);
  disk.set_reads(cap.reads);
  disk.set_writes(cap.writes);
  return disk;
}

inline internal::Template ToProto(const JailTemplate& jail) {
  internal::Template proto;
  proto.set_name(jail.name);
  *proto.mutable_maximum() = ToSlots(jail.maximum);
  if (jail.disk.any()) {
    *proto.mutable_maximum()->mutable_disk() = ToDiskCap(jail.disk);
  }
  if (jail.image != policy::kHostImage) {
    proto.mutable_maximum()->set_image(jail.image);
  }
  proto.set_seccomp(jail.seccomp.data(),
                    jail.seccomp.size() * sizeof(jail.seccomp[0]));
  if (jail.network) *proto.mutable_network() = ToProto(*jail.network);
  return proto;
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_TEMPLATE_PROTO_H_
