#ifndef SANDGLASS_TESTS_PAYLOADS_HOSTILE_COVERT_CHANNELS_H_
#define SANDGLASS_TESTS_PAYLOADS_HOSTILE_COVERT_CHANNELS_H_

// What two jails both touch or see.
namespace sandglass::hostile {

struct Channel {
  const char* name;
  void (*send)(bool on);
  double (*look)();
  // Less of a difference is noise.
  double min = 1;
  // What counts is by how much it grew in the slot; the sender goes on and on.
  bool rate = false;
  // The sender goes on and on, and what counts is the level.
  bool again = false;
};

// nullptr when there is none.
const Channel* FindChannel(const char* name);

}  // namespace sandglass::hostile

#endif  // SANDGLASS_TESTS_PAYLOADS_HOSTILE_COVERT_CHANNELS_H_
