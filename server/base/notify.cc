#include "server/base/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "absl/types/span.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/io.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {

void NotifyServiceManager(const std::string& state, int fd) {
  // This is safe because nothing in this process changes its environment.
  const char* name =
      std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) return;
  const std::string path = name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof(address.sun_path) ||
      (path[0] != '/' && path[0] != '@')) {
    return;
  }
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract
  const socklen_t size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const os::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                size) != 0 ||
      !os::SendDatagram(
          socket.get(), state,
          fd < 0 ? absl::Span<const int>() : absl::MakeConstSpan(&fd, 1))) {
    Log(LogLevel::kWarning, "notify_failed", {{"error", ErrorText(errno)}});
  }
}

}  // namespace sandglass::server
