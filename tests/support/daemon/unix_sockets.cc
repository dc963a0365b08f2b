#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "tests/support/posture/posture_scene.h"

namespace sandglass::testing {
namespace {

constexpr int kListening = 10;  // TCP_LISTEN

std::string TypeName(int type) {
  switch (type) {
    case SOCK_STREAM:
      return "stream";
    case SOCK_DGRAM:
      return "dgram";
    case SOCK_SEQPACKET:
      return "seqpacket";
    default:
      return absl::StrCat("type ", type);
  }
}

void TakeMessage(const nlmsghdr* header,
                 std::map<uint64_t, UnixSocket>& sockets) {
  const auto* message = static_cast<const unix_diag_msg*>(
      NLMSG_DATA(const_cast<nlmsghdr*>(header)));
  UnixSocket& socket = sockets[message->udiag_ino];
  socket.type = TypeName(message->udiag_type);
  if (message->udiag_state == kListening) socket.type += " listening";
  auto* attribute =
      reinterpret_cast<rtattr*>(const_cast<unix_diag_msg*>(message) + 1);
  size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != UNIX_DIAG_PEER) continue;
    uint32_t peer = 0;
    std::memcpy(&peer, RTA_DATA(attribute), sizeof(peer));
    socket.peer = peer;
  }
}

void Dump(const os::Fd& netlink, std::map<uint64_t, UnixSocket>& sockets) {
  struct {
    nlmsghdr header;
    unix_diag_req body;
  } request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = ~0U;
  request.body.udiag_show = UDIAG_SHOW_PEER;
  if (send(netlink.get(), &request, sizeof(request), 0) < 0) return;
  alignas(nlmsghdr) char buffer[32768];
  for (;;) {
    ssize_t size = recv(netlink.get(), buffer, sizeof(buffer), 0);
    if (size <= 0) return;
    auto left = static_cast<size_t>(size);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer);
         NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type == NLMSG_DONE ||
          header->nlmsg_type == NLMSG_ERROR) {
        return;
      }
      TakeMessage(header, sockets);
    }
  }
}

}  // namespace

std::map<uint64_t, UnixSocket> UnixSocketsOf(pid_t pid) {
  std::map<uint64_t, UnixSocket> sockets;
  // A network namespace is a thread's, so another thread goes there.
  std::thread([&] {
    const os::Fd there(
        open(absl::StrCat("/proc/", pid, "/ns/net").c_str(), O_CLOEXEC));
    if (!there.valid() || setns(there.get(), CLONE_NEWNET) != 0) return;
    const os::Fd netlink(
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (netlink.valid()) Dump(netlink, sockets);
  }).join();
  return sockets;
}

}  // namespace sandglass::testing
