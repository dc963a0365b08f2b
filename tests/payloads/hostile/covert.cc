// Two programs in two jails that want to talk: one changes what it can change,
// the other looks at what it can see. They agree on slots of time on the clock
// that all have in common; a slot holds one bit.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"
#include "tests/payloads/hostile/covert_channels.h"

namespace sandglass::hostile {
namespace {

constexpr long kNanos = 1'000'000'000;
constexpr long kSlot = 60'000'000;
constexpr int kBits = 6;
// Two before the bits show how on and off look.
constexpr int kSlots = kBits + 2;

long Now() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kNanos + now.tv_nsec;
}
void SleepUntil(long when) {
  const timespec until = {when / kNanos, when % kNanos};
  while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

int Send(const Channel& channel, long start, int value) {
  channel.send(false);
  if (Now() > start) return -kNoSetUp;
  for (int slot = 0; slot < kSlots; ++slot) {
    const bool on =
        slot == 0 || (slot >= 2 && ((value >> (slot - 2)) & 1) != 0);
    SleepUntil(start + slot * kSlot);
    channel.send(on);
    const long end = start + (slot + 1) * kSlot - kSlot / 10;
    while (on && (channel.rate || channel.again) && Now() < end) {
      channel.send(true);
      if (channel.again) usleep(500);
    }
  }
  SleepUntil(start + kSlots * kSlot);
  channel.send(false);
  return -kSent;
}

int Receive(const Channel& channel, long start) {
  double levels[kSlots];
  (void)channel.look();
  if (Now() > start) return -kNoSetUp;
  for (int slot = 0; slot < kSlots; ++slot) {
    const long begin = start + slot * kSlot;
    double before = 0;
    if (channel.rate) {
      SleepUntil(begin + kSlot / 20);
      before = channel.look();
      SleepUntil(begin + kSlot * 8 / 10);
    } else {
      SleepUntil(begin + kSlot / 2);
    }
    levels[slot] = channel.look() - before;
  }
  const auto distance = [](double a, double b) {
    return a < b ? b - a : a - b;
  };
  for (const double level : levels) fprintf(stderr, "%.0f ", level);
  if (distance(levels[0], levels[1]) < channel.min) return -kSilence;
  int value = 0;
  for (int bit = 0; bit < kBits; ++bit) {
    const double level = levels[bit + 2];
    if (distance(level, levels[0]) < distance(level, levels[1])) {
      value |= 1 << bit;
    }
  }
  return value == 0 ? -kSilence : -value;
}

}  // namespace

int Covert(const Words& words) {
  const char* part = words[0];
  const long start = strtol(words[2], nullptr, 10);
  // NOLINTNEXTLINE(cert-err34-c)
  const int value = atoi(words[3]);
  const Channel* channel = FindChannel(words[1]);
  if (channel == nullptr) return -kUsage;
  if (strcmp(part, "send") == 0) return Send(*channel, start, value);
  if (strcmp(part, "receive") == 0) return Receive(*channel, start);
  const pid_t sender = fork();
  if (sender < 0) NoSetUp("fork");
  if (sender == 0) _exit(-Send(*channel, start, value));
  const int received = Receive(*channel, start);
  kill(sender, SIGKILL);
  return received;
}

}  // namespace sandglass::hostile
