#include "sandbox/spawner/request.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sandglass::sandbox {
namespace {

bool SlotsWithin(const internal::JailSlots& slots,
                 const internal::JailSlots& maximum) {
  const auto within = [](uint64_t value, uint64_t highest) {
    return value > 0 && value <= highest;
  };
  return within(slots.memory_bytes(), maximum.memory_bytes()) &&
         within(slots.max_processes(), maximum.max_processes()) &&
         within(slots.cpu_millis(), maximum.cpu_millis()) &&
         within(slots.tmp_bytes(), maximum.tmp_bytes()) &&
         within(slots.workspace_bytes(), maximum.workspace_bytes()) &&
         within(slots.max_files(), maximum.max_files());
}

bool IsLayerId(const std::string& text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

absl::StatusOr<internal::SpawnerRequest> ReadRequest(
    TemplateBook& templates, const internal::Zygote* zygote,
    const os::Packet& packet) {
  internal::SpawnerRequest request;
  if (!packet.fds.empty() || !request.ParseFromString(packet.data) ||
      request.request_case() == internal::SpawnerRequest::REQUEST_NOT_SET) {
    return absl::InvalidArgumentError("malformed request; the channel is over");
  }
  if (request.has_take_stock()) return request;
  internal::CreateJail& create = *request.mutable_create();
  const internal::Template* found = templates.Find(create.template_name());
  if (found == nullptr || !SlotsWithin(create.slots(), found->maximum())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a jail outside its template was asked for (template '",
                     create.template_name(), "'); the channel is over"));
  }
  if (!create.layer().empty() && !IsLayerId(create.layer())) {
    return absl::InvalidArgumentError(
        "a layer was asked for by what is no id; the channel is over");
  }
  // These are set here, whatever the request says.
  internal::JailSlots& slots = *create.mutable_slots();
  const internal::JailSlots& decided = found->maximum();
  slots.clear_disk();
  if (decided.has_disk()) *slots.mutable_disk() = decided.disk();
  slots.set_image(decided.image());
  if (create.with_runner() &&
      (zygote == nullptr || decided.image() != zygote->image())) {
    return absl::InvalidArgumentError(
        "a runner was asked for where there is no zygote with its image; the "
        "channel is over");
  }
  return request;
}

}  // namespace sandglass::sandbox
