// What the daemon reads from a yard's spawner: the first byte is the number of
// descriptors that come along, the rest the event. A yard that was taken over
// must not bring the daemon down.
#include <fcntl.h>

#include "internal/spawner.pb.h"
#include "sandbox/yard/spawner_event.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

int LowestFreeFd() {
  const os::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fd.get();
}

void CheckAnswer(const JailAnswered& answer) {
  if (!answer.parts.ok()) {
    FUZZ_CHECK(absl::IsResourceExhausted(answer.parts.status()) ||
               absl::IsUnavailable(answer.parts.status()) ||
               absl::IsInternal(answer.parts.status()));
    return;
  }
  const Jail::Parts& parts = *answer.parts;
  FUZZ_CHECK(parts.id == answer.jail_id);
  FUZZ_CHECK(parts.steps.size() <= 4 * size_t{kSetupStepCount});
  for (const StepTiming& timing : parts.steps) {
    FUZZ_CHECK(static_cast<int>(timing.step) >= 0 &&
               static_cast<int>(timing.step) < kSetupStepCount);
    FUZZ_CHECK(timing.duration >= absl::ZeroDuration());
  }
  // Without these it can't be killed, told anything, or measured.
  for (const os::Fd* fd :
       {&parts.init_pidfd, &parts.control, &parts.kill_jail, &parts.kill_run,
        &parts.run_events, &parts.freeze_run, &parts.groups.v2,
        &parts.netlink_sockets}) {
    FUZZ_CHECK(fd->valid());
  }
}

void Run(fuzz::Input input) {
  os::Packet packet;
  for (int count = input.Byte() % 33; count > 0; --count) {
    packet.fds.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }
  packet.data = input.Rest();
  const absl::StatusOr<SpawnerNews> news = ReadSpawnerEvent(std::move(packet));
  if (!news.ok()) return;
  if (const auto* answer = std::get_if<JailAnswered>(&*news)) {
    CheckAnswer(*answer);
  }
  if (const auto* stock = std::get_if<YardStock>(&*news)) {
    FUZZ_CHECK(stock->stray_groups <= stock->groups);
    FUZZ_CHECK(stock->longest_ending >= absl::ZeroDuration());
    FUZZ_CHECK(stock->longest_ending < absl::InfiniteDuration());
  }
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int before = sandglass::sandbox::LowestFreeFd();
  sandglass::sandbox::Run({data, size});
  FUZZ_CHECK(sandglass::sandbox::LowestFreeFd() == before);
  return 0;
}
