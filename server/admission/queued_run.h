#ifndef SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
#define SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_

#include <cstdint>
#include <string>

namespace sandglass::server {

// What the queue knows about a run that waits in it: whose share it counts for,
// and what it needs.
class QueuedRun {
 public:
  virtual ~QueuedRun() = default;

  // The caller in whose line it stands.
  virtual const std::string& caller_name() const = 0;
  // Bytes that its request holds while it waits.
  virtual uint64_t request_bytes() const = 0;
  // Bytes of memory that its jail may use at any one time, according to its
  // limits.
  virtual uint64_t highest_memory_bytes() const = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
