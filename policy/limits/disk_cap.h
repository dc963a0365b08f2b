#ifndef SANDGLASS_POLICY_LIMITS_DISK_CAP_H_
#define SANDGLASS_POLICY_LIMITS_DISK_CAP_H_

#include <cstdint>
#include <string>

#include "policy/text/json_reader.h"

namespace sandglass::policy {

// How fast a jail may read from and write to disks, per second; 0: no cap. Only
// profiles set it; requests can't.
struct DiskCap {
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint32_t reads = 0;
  uint32_t writes = 0;

  bool any() const { return *this != DiskCap(); }
  friend bool operator==(const DiskCap&, const DiskCap&) = default;
};

// Reads the key "disk_io" of a profile.
DiskCap ReadDiskCap(JsonObject& root);

// A text for people: "reads 10 MiB/s and 100 operations/s, writes 1 MiB/s".
std::string DiskCapWords(const DiskCap& cap);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_DISK_CAP_H_
