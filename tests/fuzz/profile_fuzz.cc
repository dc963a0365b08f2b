// A profile's file, and wishes applied to it: what is accepted works, and no
// wish gets past the maximum. The first eight bytes are the wish, the next says
// for which limit.
#include <filesystem>

#include "policy/limits/limit_fields.h"
#include "policy/network/network_words.h"
#include "policy/profile/profile.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

const fuzz::Directory& Profiles() {
  static const fuzz::Directory* const directory = [] {
    std::atexit([] { std::filesystem::remove_all(Profiles().path()); });
    return new fuzz::Directory();
  }();
  return *directory;
}

LimitRequest Wish(uint8_t kind, uint64_t value) {
  LimitRequest wish;
  switch (kind % 5) {
    case 0:
      wish.wall_time = absl::Nanoseconds(static_cast<int64_t>(value));
      break;
    case 1:
      wish.memory_bytes = value;
      break;
    case 2:
      wish.max_processes = static_cast<uint32_t>(value);
      break;
    case 3:
      wish.tmp_bytes = value;
      break;
    case 4:
      wish.output_bytes = value;
      break;
  }
  return wish;
}

void Run(fuzz::Input input) {
  const uint64_t value = input.Number();
  const uint8_t kind = input.Byte();
  Profiles().Write("fuzz.json", input.Rest());
  const auto profiles = LoadProfiles(Profiles().path());
  if (!profiles.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(profiles.status()));
    return;
  }
  FUZZ_CHECK(profiles->size() == 1);
  const Profile& profile = profiles->front();
  FUZZ_CHECK(CheckLimits(profile.limits, "limits").empty());
  FUZZ_CHECK(CheckLimits(profile.maximum, "maximum").empty());
  if (profile.network != nullptr) {
    FUZZ_CHECK(Check(*profile.network).ok());
    // A sentence for each host and one for the limits.
    FUZZ_CHECK(DescribeNetwork(profile.network.get()).size() ==
               profile.network->hosts.size() + 1);
  }
  std::vector<FieldViolation> violations;
  const Limits limits = ApplyRequest(profile, Wish(kind, value), violations);
  for (const LimitField& field : kLimitFields) {
    FUZZ_CHECK(field.get(profile.limits) <= field.get(profile.maximum));
    if (!violations.empty()) continue;
    FUZZ_CHECK(field.get(limits) <= field.get(profile.maximum));
  }
  if (violations.empty()) FUZZ_CHECK(CheckLimits(limits, "limits").empty());
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
