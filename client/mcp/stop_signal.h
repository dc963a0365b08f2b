#ifndef SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_
#define SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_

#include "client/base/unique_fd.h"

namespace sandglass::client {

// Something that is set once, and that threads waiting in poll() notice.
// Thread-safe.
class StopSignal {
 public:
  StopSignal();
  void Set() const;
  bool is_set() const;
  // Becomes readable when it is set, and stays so.
  int fd() const { return fd_.get(); }

 private:
  const UniqueFd fd_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_STOP_SIGNAL_H_
