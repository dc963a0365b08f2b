// What a spawner reads from the daemon, which faces the network: the first byte
// says whether the yard has a zygote and whether a descriptor comes along, the
// rest is the request. Nothing gets through but a jail within its template, and
// the question what there is.
#include <fcntl.h>

#include "sandbox/spawner/request.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

internal::JailSlots Slots(uint32_t max) {
  internal::JailSlots slots;
  slots.set_memory_bytes(uint64_t{max} << 20);
  slots.set_max_processes(max);
  slots.set_cpu_millis(max);
  slots.set_tmp_bytes(max);
  slots.set_workspace_bytes(max);
  slots.set_max_files(max);
  return slots;
}

internal::SpawnerConfig Config(bool with_zygote) {
  internal::SpawnerConfig config;
  for (const uint32_t max : {64u, 4096u}) {
    internal::Template& added = *config.add_templates();
    added.set_name(max == 64 ? "default" : "large");
    *added.mutable_maximum() = Slots(max);
  }
  if (with_zygote) config.mutable_zygote()->set_renew_after(1);
  return config;
}

void Within(uint64_t value, uint64_t max) {
  FUZZ_CHECK(value > 0 && value <= max);
}

void Run(fuzz::Input input) {
  const uint8_t shape = input.Byte();
  const internal::SpawnerConfig config = Config((shape & 1) != 0);
  os::Packet packet;
  if ((shape & 2) != 0) {
    packet.fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  packet.data = input.Rest();
  TemplateBook templates(config, os::Fd());
  const absl::StatusOr<internal::SpawnerRequest> read =
      ReadRequest(templates, ZygoteOf(config), packet);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(read.status()));
    return;
  }
  FUZZ_CHECK(packet.fds.empty());
  FUZZ_CHECK(read->has_create() || read->has_take_stock());
  if (!read->has_create()) return;
  const internal::CreateJail* request = &read->create();
  FUZZ_CHECK(config.has_zygote() || !request->with_runner());
  const internal::Template* found = templates.Find(request->template_name());
  FUZZ_CHECK(found != nullptr);
  const internal::JailSlots& max = found->maximum();
  const internal::JailSlots& slots = request->slots();
  Within(slots.memory_bytes(), max.memory_bytes());
  Within(slots.max_processes(), max.max_processes());
  Within(slots.cpu_millis(), max.cpu_millis());
  Within(slots.tmp_bytes(), max.tmp_bytes());
  Within(slots.workspace_bytes(), max.workspace_bytes());
  Within(slots.max_files(), max.max_files());
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::sandbox::Run({data, size});
  return 0;
}
