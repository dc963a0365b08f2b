#ifndef SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
#define SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_

#include <cstdint>
#include <string>

namespace sandglass::server {

// What the queue knows of a run that waits in it: by whose share it waits, and
// what it takes.
class QueuedRun {
 public:
  virtual ~QueuedRun() = default;

  // The caller in whose line it stands.
  virtual const std::string& caller_name() const = 0;
  // Bytes that its request holds while it waits.
  virtual uint64_t request_bytes() const = 0;
  // Bytes of memory that its jail may take at once, by its limits.
  virtual uint64_t highest_memory_bytes() const = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
