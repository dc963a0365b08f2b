// Attempts to make sockets that lead into the kernel, and to reach somebody:
// the host, or another jail.

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"

namespace sandglass::testing {
namespace {

constexpr int kFamilies = 46;  // AF_MAX of Linux 5.15 to 6.18
constexpr int kTypes[] = {SOCK_STREAM,    SOCK_DGRAM, SOCK_RAW,   SOCK_RDM,
                          SOCK_SEQPACKET, SOCK_DCCP,  SOCK_PACKET};

class HostileSockets : public HostileTest,
                       public ::testing::WithParamInterface<Way> {};

Attempt Socket(int family, int type, int protocol) {
  return {"socket", absl::StrCat(family), absl::StrCat(type),
          absl::StrCat(protocol)};
}

TEST_P(HostileSockets, OfAllFamiliesFourCanBeMade) {
  std::vector<Case> cases;
  for (int family = 0; family <= kFamilies; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
        family == AF_NETLINK) {
      continue;
    }
    for (const int type : kTypes) {
      cases.push_back({Socket(family, type, 0), Refused(EAFNOSUPPORT)});
    }
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileSockets, OfTheFourFamiliesOnlyThePlainKinds) {
  std::vector<Case> cases;
  for (const int family : {AF_INET, AF_INET6}) {
    cases.push_back({Socket(family, SOCK_STREAM, 0), Refused(0)});
    cases.push_back({Socket(family, SOCK_DGRAM, 0), Refused(0)});
    for (int protocol = 0; protocol <= 262; ++protocol) {
      cases.push_back({Socket(family, SOCK_RAW, protocol), Refused(EPERM)});
      cases.push_back({Socket(family, SOCK_PACKET, protocol), Refused(EPERM)});
      if (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) {
        continue;
      }
      for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
        cases.push_back(
            {Socket(family, type, protocol), Refused(EPROTONOSUPPORT)});
      }
      if (protocol > 20 && protocol < 255) protocol += 20;
    }
    for (const int type : {SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP}) {
      cases.push_back({Socket(family, type, 0), Refused(ESOCKTNOSUPPORT)});
    }
  }
  for (int kind = 0; kind < MAX_LINKS; ++kind) {
    for (const int type : {SOCK_RAW, SOCK_DGRAM}) {
      cases.push_back({Socket(AF_NETLINK, type, kind),
                       Refused(kind == NETLINK_ROUTE ? 0 : EPROTONOSUPPORT)});
    }
  }
  cases.push_back({Socket(AF_UNIX, SOCK_RAW, 0), Refused(EPERM)});
  cases.push_back({Socket(AF_UNIX, SOCK_PACKET, 0), Refused(EPERM)});
  RunCases(GetParam(), cases);
}

Attempt SetOption(const char* socket, int level, int option) {
  return {"call",
          absl::StrCat(SYS_setsockopt),
          socket,
          absl::StrCat(level),
          absl::StrCat(option),
          "s:tls",
          "4"};
}

TEST_P(HostileSockets, OptionsThatExploitsNeededAreRefused) {
  std::vector<Case> cases = {
      // TCP_ULP
      {SetOption("tcp", IPPROTO_TCP, 31), Refused(EPERM)},
      {SetOption("tcp6", IPPROTO_TCP, 31), Refused(EPERM)}};
  // IP_ADD_MEMBERSHIP to MCAST_MSFILTER
  for (int option = 35; option <= 48; ++option) {
    cases.push_back({SetOption("udp", IPPROTO_IP, option), Refused(EPERM)});
  }
  for (const int option : {20, 21, 27, 28, 42, 43, 44, 45, 46, 47, 48}) {
    cases.push_back({SetOption("udp6", IPPROTO_IPV6, option), Refused(EPERM)});
  }
  // Filters: SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF
  for (const int option : {26, 50, 51, 52}) {
    for (const char* socket : {"tcp", "udp", "unix"}) {
      cases.push_back({SetOption(socket, SOL_SOCKET, option), Refused(EPERM)});
    }
  }
  // iptables, arptables, packet rings: none without a right over the network
  for (const int option : {64, 65, 96, 97}) {
    cases.push_back({SetOption("udp", IPPROTO_IP, option), Refused(EPERM)});
    cases.push_back({SetOption("udp6", IPPROTO_IPV6, option), Refused(EPERM),
                     Refused(ENOPROTOOPT)});
  }
  // TCP_MD5SIG, TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_REPAIR_WINDOW,
  // TCP_MD5SIG_EXT, TCP_FASTOPEN_KEY, TCP_TX_DELAY, TCP_AO_ADD_KEY,
  // TCP_AO_DEL_KEY, TCP_AO_INFO, TCP_AO_REPAIR
  for (const int option : {14, 19, 20, 29, 32, 33, 37, 38, 39, 40, 42}) {
    cases.push_back({SetOption("tcp", IPPROTO_TCP, option), Refused(EPERM)});
    cases.push_back({SetOption("tcp6", IPPROTO_TCP, option), Refused(EPERM)});
  }
  // UDP_ENCAP; IPV6_ADDRFORM, IPV6_FLOWLABEL_MGR, IPsec's of both
  cases.push_back({SetOption("udp", IPPROTO_UDP, 100), Refused(EPERM)});
  cases.push_back({SetOption("udp6", IPPROTO_UDP, 100), Refused(EPERM)});
  for (const int option : {1, 32, 34, 35}) {
    cases.push_back({SetOption("tcp6", IPPROTO_IPV6, option), Refused(EPERM)});
  }
  for (const int option : {16, 17}) {
    cases.push_back({SetOption("udp", IPPROTO_IP, option), Refused(EPERM)});
  }
  // Levels of TLS, MPTCP and XDP.
  for (const int level : {282, 284, 283}) {
    cases.push_back({SetOption("tcp", level, 1), Refused(EPERM)});
  }
  // SO_DEBUG, SO_MARK, SO_SNDBUFFORCE, SO_RCVBUFFORCE
  for (const int option : {1, 36, 32, 33}) {
    cases.push_back(
        {{"call", absl::StrCat(SYS_setsockopt), "udp", absl::StrCat(SOL_SOCKET),
          absl::StrCat(option), "h:01000000", "4"},
         Refused(option == 1 ? EACCES : EPERM)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileSockets, OutOfBandBytesAreRefused) {
  std::vector<Case> cases;
  for (const char* socket : {"unix", "packet", "tcp"}) {
    cases.push_back(
        {{"call", absl::StrCat(SYS_sendto), socket, "s:x", "1", "1"},
         Refused(EOPNOTSUPP)});
    cases.push_back(
        {{"call", absl::StrCat(SYS_recvfrom), socket, "z:8", "1", "0x41"},
         Refused(EOPNOTSUPP)});
    cases.push_back(
        {{"call", absl::StrCat(SYS_sendmsg), socket, "z:56", "0x4001"},
         Refused(EOPNOTSUPP)});
    cases.push_back(
        {{"call", absl::StrCat(SYS_recvmsg), socket, "z:56", "0x41"},
         Refused(EOPNOTSUPP)});
    cases.push_back(
        {{"call", absl::StrCat(SYS_sendmmsg), socket, "z:64", "1", "1"},
         Refused(EOPNOTSUPP)});
    cases.push_back(
        {{"call", absl::StrCat(SYS_recvmmsg), socket, "z:64", "1", "0x41", "0"},
         Refused(EOPNOTSUPP)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileSockets, TheNetworkCannotBeChanged) {
  std::vector<Case> cases;
  for (const int type :
       {RTM_NEWLINK, RTM_DELLINK, RTM_SETLINK, RTM_NEWADDR, RTM_DELADDR,
        RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWNEIGH, RTM_NEWRULE, RTM_NEWQDISC,
        RTM_NEWTCLASS, RTM_NEWTFILTER, RTM_NEWACTION, RTM_NEWNSID}) {
    cases.push_back({{"rtnetlink", absl::StrCat(type)}, Refused(EPERM)});
  }
  // SIOCADDRT, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNAME, SIOCADDMULTI,
  // SIOCSIFTXQLEN; and those at which the kernel loads bridge, 8021q and dlci,
  // whoever asks: SIOCBRADDBR, SIOCBRDELBR, SIOCGIFBR, SIOCSIFBR, SIOCGIFVLAN,
  // SIOCSIFVLAN, SIOCADDDLCI, SIOCDELDLCI (linux/sockios.h, sock_ioctl() in
  // net/socket.c)
  for (const char* request :
       {"0x890b", "0x8914", "0x8916", "0x8923", "0x8931", "0x8943", "0x89a0",
        "0x89a1", "0x8940", "0x8941", "0x8982", "0x8983", "0x8980", "0x8981"}) {
    cases.push_back(
        {{"call", absl::StrCat(SYS_ioctl), "udp", request,
          "h:6c6f0000000000000000000000000000" + std::string(64, '0')},
         Refused(EPERM)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileSockets, NobodyOutsideIsReached) {
  const std::string tcp = absl::StrCat(host().tcp_port());
  const std::string udp = absl::StrCat(host().udp_port());
  std::vector<Case> cases = {
      {{"connect", "unix", host().socket_path()}, Refused(ENOENT)},
      {{"connect", "unix", host().abstract_name()}, Refused(ECONNREFUSED)},
      {{"connect", "unix", daemon().socket_path()}, Refused(ENOENT)},
      {{"connect", "unix", "/run/dbus/system_bus_socket"}, Refused(ENOENT)},
      {{"connect", "unix", "/run/systemd/journal/socket"}, Refused(ENOENT)},
      {{"connect", "unix", "/var/run/docker.sock"}, Refused(ENOENT)},
      {{"connect", "inet", "127.0.0.1", tcp}, Refused(ECONNREFUSED)},
      {{"connect", "inet", "127.1.2.3", tcp}, Refused(ECONNREFUSED)},
      {{"connect", "inet", "0.0.0.0", tcp}, Refused(ECONNREFUSED)},
      {{"connect", "inet", "::1", tcp}, Refused(ECONNREFUSED)},
      {{"connect", "inet", "::ffff:127.0.0.1", tcp}, Refused(ECONNREFUSED)},
  };
  for (const char* address :
       {"10.0.0.1", "169.254.169.254", "172.17.0.1", "192.168.0.1", "192.0.2.1",
        "224.0.0.1", "255.255.255.255"}) {
    cases.push_back({{"connect", "inet", address, "80"}, Refused(ENETUNREACH)});
    cases.push_back({{"connect", "send", address, "53"}, Refused(ENETUNREACH)});
  }
  for (const char* address : {"fe80::1", "2001:db8::1", "fd00::1"}) {
    cases.push_back({{"connect", "inet", address, "80"},
                     Refused(ENETUNREACH),
                     Refused(EINVAL)});
  }
  // Arrives nowhere, which the sender isn't told; the bait would have it.
  cases.push_back({{"connect", "send", "127.0.0.1", udp}, Refused(0)});
  const pid_t bait = host().process().pid;
  for (const int signal : {0, SIGTERM, SIGKILL, SIGSTOP}) {
    cases.push_back({{"call", absl::StrCat(SYS_kill), absl::StrCat(bait),
                      absl::StrCat(signal)},
                     Refused(ESRCH)});
  }
  cases.push_back(
      {{"call", absl::StrCat(SYS_pidfd_open), absl::StrCat(bait), "0"},
       Refused(ESRCH)});
  const std::string key = absl::StrCat(host().key());
  for (const long call : {SYS_shmget, SYS_semget}) {
    cases.push_back(
        {{"call", absl::StrCat(call), key, "1", "0"}, Refused(ENOENT)});
  }
  cases.push_back(
      {{"call", absl::StrCat(SYS_msgget), key, "0"}, Refused(ENOENT)});
  RunCases(GetParam(), cases);
}

TEST_P(HostileSockets, NoOtherJailIsReached) {
  const std::string key = absl::StrCat(Neighbour::kKey);
  const std::string port = absl::StrCat(Neighbour::kPort);
  RunCases(
      GetParam(),
      {{{"connect", "unix", Neighbour::kAbstractName}, Refused(ECONNREFUSED)},
       {{"connect", "unix", Neighbour::kPathname}, Refused(ENOENT)},
       {{"connect", "inet", "127.0.0.1", port}, Refused(ECONNREFUSED)},
       {{"connect", "inet", "::1", port}, Refused(ECONNREFUSED)},
       {{"call", absl::StrCat(SYS_shmget), key, "1", "0"}, Refused(ENOENT)}});
  // Alone, with nothing else in flight in its jail.
  RunCases(GetParam(), {{{"seek-neighbours"}, Refused(ENODATA)}});
}

INSTANTIATE_TEST_SUITE_P(Ways, HostileSockets, ::testing::ValuesIn(kAllWays),
                         [](const auto& each) { return NameOf(each.param); });

}  // namespace
}  // namespace sandglass::testing
