// Runs into limits, and leaves things behind.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/probe/report.h"
#include "client/probe/text.h"

namespace sandglass::probe {
namespace {

constexpr int kExitRefused = 9;
// The duration of acts that are to be stopped before they end.
constexpr unsigned kGoOnSeconds = 3;
// How long a process that is left behind stays.
constexpr unsigned kStaySeconds = 20;

// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
void Stay(unsigned seconds) { sleep(seconds); }

// The places where two jails could meet. They depend on the mark, so that two
// doctors don't disturb each other.
struct Places {
  explicit Places(const std::string& mark) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    const char* home = getenv("HOME");
    for (const std::string& directory :
         {std::string("/tmp"), std::string("/dev/shm"),
          std::string("/workspace"),
          std::string(home != nullptr ? home : "/home/sandbox")}) {
      files.push_back(Below(directory, mark));
    }
    unsigned number = 0;
    for (const char c : mark) number = number * 31 + static_cast<uint8_t>(c);
    port = static_cast<uint16_t>(20000 + number % 10000);
    key = static_cast<key_t>(0x53000000 + number % 0xffffff);
    local.sun_family = AF_UNIX;
    const size_t length = std::min(mark.size(), sizeof(local.sun_path) - 1);
    memcpy(local.sun_path + 1, mark.data(), length);
    local_size =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    inet.sin_family = AF_INET;
    inet.sin_port = htons(port);
    inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }

  std::vector<std::string> files;
  uint16_t port = 0;
  key_t key = 0;
  sockaddr_un local = {};
  socklen_t local_size = 0;
  sockaddr_in inet = {};
};

const sockaddr* Address(const Places& places, int family) {
  return family == AF_UNIX ? reinterpret_cast<const sockaddr*>(&places.local)
                           : reinterpret_cast<const sockaddr*>(&places.inet);
}

socklen_t Size(const Places& places, int family) {
  return family == AF_UNIX ? places.local_size
                           : static_cast<socklen_t>(sizeof(places.inet));
}

bool Listen(const Places& places, int family) {
  // Stays open as long as the process lives.
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return fd >= 0 &&
         bind(fd, Address(places, family), Size(places, family)) == 0 &&
         listen(fd, 1) == 0;
}

bool Connects(const Places& places, int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = fd >= 0 && connect(fd, Address(places, family),
                                            Size(places, family)) == 0;
  if (fd >= 0) close(fd);
  return connected;
}

}  // namespace

void LeaveMarks(const std::string& mark) {
  const Places places(mark);
  std::vector<std::string> failed;
  for (const std::string& path : places.files) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) failed.push_back(path);
  }
  if (!Listen(places, AF_UNIX)) failed.emplace_back("abstract socket");
  if (!Listen(places, AF_INET)) failed.emplace_back("loopback port");
  if (shmget(places.key, 4096, IPC_CREAT | 0666) < 0) {
    failed.emplace_back("shared memory");
  }
  // Checks that the marks can be seen from where they were left: otherwise not
  // seeing them elsewhere would mean nothing.
  if (!Connects(places, AF_UNIX) || !Connects(places, AF_INET)) {
    failed.emplace_back("connecting to itself");
  }
  ReportNames("marks-not-left", failed);
  ShowNamespaces();
  ReportDone();
  for (;;) Stay(kStaySeconds);
}

void FindMarks(const std::string& mark) {
  const Places places(mark);
  std::vector<std::string> seen;
  for (const std::string& path : places.files) {
    if (access(path.c_str(), F_OK) == 0) seen.push_back(path);
  }
  ReportNames("marks-files", seen);
  ReportText("marks-abstract-socket",
             Connects(places, AF_UNIX) ? "connected" : "none");
  ReportText("marks-loopback",
             Connects(places, AF_INET) ? "connected" : "none");
  ReportText("marks-shared-memory",
             shmget(places.key, 4096, 0) >= 0 ? "found" : "none");
}

int UseMemory(long max_mebibytes) {
  constexpr size_t kPart = 1 << 20;
  for (long i = 0; i < max_mebibytes; ++i) {
    void* part = mmap(nullptr, kPart, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED) return kExitRefused;
    memset(part, 1, kPart);
  }
  return 0;
}

int UseProcesses(long max) {
  for (long i = 0; i < max; ++i) {
    const pid_t child = fork();
    if (child < 0) return kExitRefused;
    if (child == 0) {
      Stay(kStaySeconds);
      _exit(0);
    }
  }
  return 0;
}

int UseProcessor() {
  // Processor time in the way in which the limit counts it.
  while (clock() < kGoOnSeconds * CLOCKS_PER_SEC) {
  }
  return 0;
}

int UseTime() {
  Stay(kGoOnSeconds);
  return 0;
}

int WriteOutput(long max_kibibytes) {
  const std::string part(1024, 'x');
  for (long i = 0; i < max_kibibytes; ++i) {
    if (write(1, part.data(), part.size()) < 0) return kExitRefused;
  }
  // Gives the daemon time to count.
  Stay(2);
  return 0;
}

int WriteFile(const char* path, long max_kibibytes) {
  // The write shall fail instead.
  signal(SIGXFSZ, SIG_IGN);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return 1;
  const std::vector<char> part(1024, 'x');
  for (long i = 0; i < max_kibibytes; ++i) {
    if (write(fd, part.data(), part.size()) !=
        static_cast<ssize_t>(part.size())) {
      return kExitRefused;
    }
  }
  return 0;
}

int LeaveProcess() {
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return 0;
  }
  setsid();
  if (fork() == 0) {
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    // Keeps the pipes open.
    Stay(kStaySeconds);
  }
  _exit(0);
}

}  // namespace sandglass::probe
