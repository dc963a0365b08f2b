#include "policy/limits/disk_cap.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/text/units.h"

namespace sandglass::policy {
namespace {

// With a lower cap, an interpreter that isn't in memory takes minutes to start.
constexpr UnsignedRange kBytes = {uint64_t{64} << 10, uint64_t{1} << 40};
constexpr UnsignedRange kOperations = {10, 100'000'000};

uint64_t Bytes(JsonObject& object, const char* key) {
  return object.Has(key) ? object.ByteSize(key, kBytes, 0) : 0;
}

uint32_t Operations(JsonObject& object, const char* key) {
  return object.Has(key)
             ? static_cast<uint32_t>(object.Unsigned(key, kOperations, 0))
             : 0;
}

// Empty when there is no cap.
std::string Words(const char* what, uint64_t bytes, uint32_t operations) {
  std::vector<std::string> caps;
  if (bytes > 0) caps.push_back(absl::StrCat(FormatBytes(bytes), "/s"));
  if (operations > 0) {
    caps.push_back(absl::StrCat(operations, " operations/s"));
  }
  if (caps.empty()) return "";
  return absl::StrCat(what, " ", absl::StrJoin(caps, " and "));
}

}  // namespace

DiskCap ReadDiskCap(JsonObject& root) {
  DiskCap cap;
  std::optional<JsonObject> object = root.OptionalObject("disk_io");
  if (!object) return cap;
  cap.read_bytes = Bytes(*object, "read_bytes_per_second");
  cap.write_bytes = Bytes(*object, "write_bytes_per_second");
  cap.reads = Operations(*object, "reads_per_second");
  cap.writes = Operations(*object, "writes_per_second");
  return cap;
}

std::string DiskCapWords(const DiskCap& cap) {
  const std::string reads = Words("reads", cap.read_bytes, cap.reads);
  const std::string writes = Words("writes", cap.write_bytes, cap.writes);
  return absl::StrCat(reads, reads.empty() || writes.empty() ? "" : ", ",
                      writes);
}

}  // namespace sandglass::policy
