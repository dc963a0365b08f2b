// Attempts to reach somebody.

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <initializer_list>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Address UnixAddress(const char* path) {
  Address address;
  auto& name = reinterpret_cast<sockaddr_un&>(address.storage);
  name.sun_family = AF_UNIX;
  const size_t length = strnlen(path, sizeof(name.sun_path) - 1);
  memcpy(name.sun_path, path, length);
  if (path[0] == '@') name.sun_path[0] = '\0';
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  return address;
}

Address InetAddress(const char* host, const char* port) {
  Address address;
  const auto number = static_cast<in_port_t>(
      htons(static_cast<uint16_t>(strtoul(port, nullptr, 10))));
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, host, &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = number;
    address.size = sizeof(four);
  } else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = number;
    address.size = sizeof(six);
  } else {
    NoSetUp(host);
  }
  return address;
}

int Reach(const Address& address, int type, bool send) {
  const int fd = socket(address.storage.ss_family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const auto* any = reinterpret_cast<const sockaddr*>(&address.storage);
  const long result = send ? sendto(fd, "x", 1, 0, any, address.size)
                           : connect(fd, any, address.size);
  const int error = result < 0 ? errno : 0;
  close(fd);
  return error;
}

bool Found(const char* what, long which) {
  fprintf(stderr, "hostile: found %s %ld\n", what, which);
  return true;
}

// Lines of a file of /proc beyond its heading, with so many words.
bool HasEntries(const char* path, int words) {
  FILE* file = fopen(path, "r");
  if (file == nullptr) return false;
  char line[4096];
  int lines = 0;
  while (fgets(line, sizeof(line), file) != nullptr) {
    int count = 0;
    char* rest = nullptr;
    for (char* word = strtok_r(line, " \n", &rest); word != nullptr;
         word = strtok_r(nullptr, " \n", &rest)) {
      ++count;
    }
    if (count >= words) ++lines;
  }
  fclose(file);
  return lines > 1 && Found(path, lines - 1);
}

bool OtherProcesses() {
  for (pid_t pid = 2; pid < 70000; ++pid) {
    if (pid == getpid() || pid == getppid()) continue;
    if (kill(pid, 0) == 0 || errno != ESRCH) {
      // Those of this run are its interpreter and earlier generations.
      if (getpgid(pid) == getpgrp()) continue;
      return Found("process", pid);
    }
  }
  return false;
}

bool IpcObjects() {
  for (int id = 0; id < 4096; ++id) {
    struct shmid_ds memory = {};
    struct msqid_ds queue = {};
    if (shmctl(id, IPC_STAT, &memory) == 0) return Found("memory", id);
    if (msgctl(id, IPC_STAT, &queue) == 0) return Found("queue", id);
    if (semctl(id, 0, GETVAL) >= 0) return Found("semaphore", id);
  }
  return false;
}

}  // namespace

int Socket(const Words& words) {
  const int fd = socket(static_cast<int>(Value(words[0])),
                        static_cast<int>(Value(words[1])) | SOCK_CLOEXEC,
                        static_cast<int>(Value(words[2])));
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int RtNetlink(const Words& words) {
  const int fd = static_cast<int>(Value("netlink"));
  struct {
    nlmsghdr header = {};
    char body[64] = {};
  } request;
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = static_cast<uint16_t>(Value(words[0]));
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  if (send(fd, &request, sizeof(request), 0) < 0) return errno;
  struct {
    nlmsghdr header = {};
    nlmsgerr error = {};
    char rest[1024] = {};
  } answer;
  const ssize_t size = recv(fd, &answer, sizeof(answer), 0);
  close(fd);
  if (size < 0) return errno;
  return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : 0;
}

int Connect(const Words& words) {
  if (strcmp(words[0], "unix") == 0) {
    const Address address = UnixAddress(words[1]);
    const int stream = Reach(address, SOCK_STREAM, false);
    // EPROTOTYPE: there is one, of the other kind.
    return stream == EPROTOTYPE ? Reach(address, SOCK_DGRAM, true) : stream;
  }
  const Address address = InetAddress(words[1], words[2]);
  if (strcmp(words[0], "send") == 0) return Reach(address, SOCK_DGRAM, true);
  return Reach(address, SOCK_STREAM, false);
}

int SeekNeighbours(const Words& /*words*/) {
  if (OtherProcesses() || IpcObjects()) return 0;
  // Of sockets without a name, our own are there; nobody could reach one.
  if (HasEntries("/proc/net/unix", 8)) return 0;
  for (const char* path :
       {"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6",
        "/proc/net/raw", "/proc/sysvipc/shm", "/proc/sysvipc/msg",
        "/proc/sysvipc/sem"}) {
    if (HasEntries(path, 1)) return 0;
  }
  char* directory[] = {nullptr};
  for (const char* place : {"/tmp", "/dev/shm", "/dev/mqueue"}) {
    char name[16];
    snprintf(name, sizeof(name), "%s", place);
    directory[0] = name;
    if (List({directory, 1}) == 0) {
      Found(place, 0);
      return 0;
    }
  }
  return ENODATA;
}

}  // namespace sandglass::hostile
