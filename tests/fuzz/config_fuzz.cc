// The daemon's configuration. What is accepted can be shown and read again.
#include <filesystem>

#include "server/daemon/config.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::server {
namespace {

const fuzz::Directory& Place() {
  static const fuzz::Directory* const directory = [] {
    std::atexit([] { std::filesystem::remove_all(Place().path()); });
    return new fuzz::Directory();
  }();
  return *directory;
}

absl::StatusOr<Config> Load(std::string_view text) {
  Place().Write("config.json", text);
  ConfigFlags flags;
  flags.config_file = Place().Path("config.json");
  return LoadConfig(flags);
}

void Take(std::string_view text) {
  const absl::StatusOr<Config> config = Load(text);
  if (!config.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(config.status()));
    return;
  }
  FUZZ_CHECK(config->state_dir.front() == '/');
  FUZZ_CHECK(config->policy_dir.front() == '/');
  const std::string shown = ConfigToJson(*config);
  const absl::StatusOr<Config> again = Load(shown);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(ConfigToJson(*again) == shown);
}

}  // namespace
}  // namespace sandglass::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::server::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}
