#include "tests/payloads/hostile/arguments.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sandglass::hostile {
namespace {

bool Is(const char* word, const char* name) { return strcmp(word, name) == 0; }

// What follows a prefix; nullptr where the word has another.
const char* After(const char* word, const char* prefix) {
  const size_t length = strlen(prefix);
  return strncmp(word, prefix, length) == 0 ? word + length : nullptr;
}

unsigned long Descriptor(int fd, const char* what) {
  if (fd < 0) NoSetUp(what);
  return static_cast<unsigned long>(fd);
}

void* Allocate(size_t size) {
  void* memory = calloc(1, size == 0 ? 1 : size);
  if (memory == nullptr) NoSetUp("memory");
  return memory;
}

// Bytes as two hexadecimal digits each.
void* Bytes(const char* digits) {
  const size_t size = strlen(digits) / 2;
  auto* bytes = static_cast<unsigned char*>(Allocate(size));
  for (size_t i = 0; i < size; ++i) {
    unsigned value = 0;
    // NOLINTNEXTLINE(cert-err34-c)
    if (sscanf(digits + 2 * i, "%2x", &value) != 1) NoSetUp("hexadecimal");
    bytes[i] = static_cast<unsigned char>(value);
  }
  return bytes;
}

pid_t SleepingChild() {
  static pid_t child = -1;
  if (child > 0) return child;
  child = fork();
  if (child < 0) NoSetUp("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return child;
}

unsigned long PidFd(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)),
                    "pidfd_open");
}

socklen_t Loopback(int family, sockaddr_storage& address) {
  address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
    return sizeof(sockaddr_in6);
  }
  reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr =
      htonl(INADDR_LOOPBACK);
  return sizeof(sockaddr_in);
}

unsigned long Connection(int family) {
  sockaddr_storage address;
  socklen_t size = Loopback(family, address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const int server = socket(family, SOCK_STREAM, 0);
  const int client = socket(family, SOCK_STREAM, 0);
  if (server < 0 || bind(server, any, size) != 0 || listen(server, 1) != 0 ||
      getsockname(server, any, &size) != 0 || connect(client, any, size) != 0 ||
      accept(server, nullptr, nullptr) < 0) {
    NoSetUp("a connection over the loopback");
  }
  return Descriptor(client, "socket");
}

unsigned long Datagrams(int family) {
  sockaddr_storage address;
  const socklen_t size = Loopback(family, address);
  const int fd = socket(family, SOCK_DGRAM, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) {
    NoSetUp("a datagram socket");
  }
  return Descriptor(fd, "socket");
}

unsigned long Pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type, 0, ends) != 0) NoSetUp("socketpair");
  return Descriptor(ends[0], "socketpair");
}

}  // namespace

void NoSetUp(const char* what) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  fprintf(stderr, "hostile: no %s: %s\n", what, strerror(errno));
  _exit(kNoSetUp);
}

unsigned long Value(const char* word) {
  if (const char* text = After(word, "s:")) {
    return reinterpret_cast<unsigned long>(text);
  }
  if (const char* size = After(word, "z:")) {
    return reinterpret_cast<unsigned long>(Allocate(strtoul(size, nullptr, 0)));
  }
  if (const char* digits = After(word, "h:")) {
    return reinterpret_cast<unsigned long>(Bytes(digits));
  }
  if (const char* path = After(word, "fd:")) {
    return Descriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
  }
  if (const char* path = After(word, "rw:")) {
    return Descriptor(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), path);
  }
  if (const char* path = After(word, "path:")) {
    return Descriptor(open(path, O_PATH | O_CLOEXEC), path);
  }
  if (Is(word, "self")) return static_cast<unsigned long>(getpid());
  if (Is(word, "parent")) return static_cast<unsigned long>(getppid());
  if (Is(word, "child")) return static_cast<unsigned long>(SleepingChild());
  if (Is(word, "child-fd")) return PidFd(SleepingChild());
  if (Is(word, "parent-fd")) return PidFd(getppid());
  if (Is(word, "tcp")) return Connection(AF_INET);
  if (Is(word, "tcp6")) return Connection(AF_INET6);
  if (Is(word, "udp")) return Datagrams(AF_INET);
  if (Is(word, "udp6")) return Datagrams(AF_INET6);
  if (Is(word, "unix")) return Pair(SOCK_STREAM);
  if (Is(word, "packet")) return Pair(SOCK_SEQPACKET);
  if (Is(word, "netlink")) {
    return Descriptor(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink");
  }
  if (Is(word, "pipe")) {
    int ends[2];
    if (pipe(ends) != 0) NoSetUp("pipe");
    return Descriptor(ends[1], "pipe");
  }
  char* end = nullptr;
  // As unsigned, which takes a minus sign too.
  const unsigned long number = strtoul(word, &end, 0);
  if (end == word || *end != '\0') {
    fprintf(stderr, "hostile: what is \"%s\"?\n", word);
    _exit(kUsage);
  }
  return number;
}

int SendDescriptors(int over, const int* fds, int count) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  return Answer(sendmsg(over, &message, MSG_DONTWAIT));
}

}  // namespace sandglass::hostile
