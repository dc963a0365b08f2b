#ifndef SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_
#define SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_

#include "client/base/unique_fd.h"

namespace sandglass::client {

// Something that threads which wait in poll() are told once. Thread-safe.
class StopSignal {
 public:
  StopSignal();
  void Set() const;
  bool is_set() const;
  // Readable once it is set, for ever.
  int fd() const { return fd_.get(); }

 private:
  const UniqueFd fd_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_
