#ifndef SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
#define SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/base/clock.h"

namespace sandglass::server {

// What the queue knows about a run that waits in it: whose share it counts for,
// and what it needs.
class QueuedRun {
 public:
  virtual ~QueuedRun() = default;

  // The caller in whose line it stands, and the tenant that this belongs to.
  virtual const std::string& caller_name() const = 0;
  virtual const std::string& tenant_name() const = 0;
  // Whether it is a batch run whatever its tenant's priority is.
  virtual bool is_batch() const = 0;
  // Runs of one kind are expected to take about as long as each other.
  virtual std::string kind() const = 0;
  // When its answer has to be there; absent: it may take any time.
  virtual std::optional<MonotonicTime> deadline() const = 0;
  // Bytes that its request holds while it waits.
  virtual uint64_t request_bytes() const = 0;
  // Bytes of memory that its jail may use at any one time, according to its
  // limits.
  virtual uint64_t highest_memory_bytes() const = 0;
  // The same for the share of processors, in thousandths of one.
  virtual uint64_t highest_cpu_millis() const = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_QUEUED_RUN_H_
