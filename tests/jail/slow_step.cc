// A spawner one of whose steps is slow: as many milliseconds as the file
// "slow-step" beside the layers says behind the step's name. Linked in place of
// StepClock::Begin (ld(1), --wrap).
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/string_view.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/wire/step_clock.h"

#define STEP_CLOCK_BEGIN "_ZN9sandglass7sandbox9StepClock5BeginENS0_9SetupStepE"

namespace sandglass::sandbox {

void Begin(StepClock* clock, SetupStep step) asm("__real_" STEP_CLOCK_BEGIN);
void BeginSlowly(StepClock* clock,
                 SetupStep step) asm("__wrap_" STEP_CLOCK_BEGIN);

namespace {

// Inits, which don't see the file, know what their spawner has read.
char slow_step[64];
useconds_t slow_micros = 0;

void ReadSlowStep() {
  const int file = ::open("/layers/slow-step", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[sizeof(slow_step)] = {};
  (void)!::read(file, text, sizeof(text) - 1);
  ::close(file);
  char* const space = std::strchr(text, ' ');
  if (space == nullptr) return;
  *space = '\0';
  std::memcpy(slow_step, text, sizeof(slow_step));
  slow_micros =
      1000 * static_cast<useconds_t>(std::strtoul(space + 1, nullptr, 10));
}

}  // namespace

void BeginSlowly(StepClock* clock, SetupStep step) {
  Begin(clock, step);
  if (::getpid() == 1) ReadSlowStep();
  if (SetupStepName(static_cast<int>(step)) == slow_step) {
    ::usleep(slow_micros);
  }
}

}  // namespace sandglass::sandbox
