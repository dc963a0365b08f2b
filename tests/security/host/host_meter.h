#ifndef SANDGLASS_TESTS_SECURITY_HOST_HOST_METER_H_
#define SANDGLASS_TESTS_SECURITY_HOST_HOST_METER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/time/time.h"

namespace sandglass::testing {

// What the whole host uses, as far as programs of others hardly change it.
struct HostUse {
  // Memory that the kernel keeps for itself and can't drop: not of processes,
  // not of files. In bytes.
  int64_t kernel_memory = 0;
  // Kernel memory that it could drop: names and inodes above all.
  int64_t droppable = 0;
  int64_t open_files = 0;
  // Groups of the memory controller, with those that are not quite gone.
  int64_t memory_groups = 0;
  // Processor time of kernel threads, which no group is charged for.
  absl::Duration kernel_threads;
};
HostUse MeasureHost();
std::string Describe(const HostUse& use);

// Looks again and again, and remembers the most of each.
class HostMeter {
 public:
  HostMeter();
  ~HostMeter();
  HostMeter(const HostMeter&) = delete;
  HostMeter& operator=(const HostMeter&) = delete;

  const HostUse& before() const { return before_; }
  // The most since the beginning. Ends the looking.
  HostUse Most();

 private:
  const HostUse before_;
  HostUse max_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_HOST_HOST_METER_H_
