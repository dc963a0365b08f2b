#include "server/daemon/heartbeat.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/base/strings.h"

namespace sandglass::server {

absl::StatusOr<std::unique_ptr<Heartbeat>> Heartbeat::Create() {
  void* page = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return absl::InternalError(absl::StrCat("mmap: ", ErrorText(errno)));
  }
  return std::unique_ptr<Heartbeat>(new Heartbeat(new (page) Counter(0)));
}

Heartbeat::~Heartbeat() { ::munmap(beats_, sizeof(Counter)); }

void Heartbeat::KeepFromChildren() {
  ::madvise(beats_, sizeof(Counter), MADV_DONTFORK);
}

}  // namespace sandglass::server
