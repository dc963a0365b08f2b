// A file agent that reads one file for each request, whose text is the path,
// and answers with its content or "error N".
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

std::string Answer(const std::string& path) {
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t size = -1;
  if (file.valid()) size = ::read(file.get(), text, sizeof(text));
  if (size < 0) return absl::StrCat("error ", errno);
  return absl::StrCat("=", absl::string_view(text, static_cast<size_t>(size)));
}

}  // namespace

[[noreturn]] void RunFileAgent(os::Fd socket) {
  for (;;) {
    char text[4096];
    std::vector<os::Fd> fds;
    const ssize_t size =
        os::ReceiveDatagram(socket.get(), text, sizeof(text), fds);
    if (size <= 0) ::_exit(0);
    (void)os::SendDatagram(socket.get(),
                           Answer({text, static_cast<size_t>(size)}), {});
  }
}

}  // namespace sandglass::sandbox
