#include "tests/support/network/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "sandbox/egress/parse/dns_message.h"

namespace sandglass::testing {
namespace {

bool BringUpLoopback() {
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// "ip route add local default dev lo": every address is this host's.
bool LeadAllToLoopback() {
  struct {
    nlmsghdr header;
    rtmsg route;
    struct {
      rtattr attribute;
      int value;
    } out;
  } request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
  request.route.rtm_family = AF_INET;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  request.out.attribute.rta_len = RTA_LENGTH(sizeof(int));
  request.out.attribute.rta_type = RTA_OIF;
  request.out.value = static_cast<int>(::if_nametoindex("lo"));
  const os::Fd socket(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (::send(socket.get(), &request, sizeof(request), 0) !=
      static_cast<ssize_t>(sizeof(request))) {
    return false;
  }
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<char, 512> rest;
  } reply = {};
  return ::recv(socket.get(), &reply, sizeof(reply), 0) > 0 &&
         reply.header.nlmsg_type == NLMSG_ERROR && reply.error.error == 0;
}

sockaddr_in AddressOf(std::string_view text, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, std::string(text).c_str(), &address.sin_addr);
  return address;
}

bool Bind(const os::Fd& socket, std::string_view text, uint16_t port) {
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = AddressOf(text, port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0;
}

os::Fd Connected(os::Fd socket, std::string_view address, uint16_t port) {
  const sockaddr_in to = AddressOf(address, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to),
                sizeof(to)) != 0) {
    socket.reset();
  }
  return socket;
}

bool Readable(int socket, int seconds) {
  pollfd fd = {socket, POLLIN, 0};
  return ::poll(&fd, 1, seconds * 1000) == 1;
}

}  // namespace

bool EnterOwnWorld() {
  return ::unshare(CLONE_NEWNET) == 0 && BringUpLoopback() &&
         LeadAllToLoopback();
}

JailNet::JailNet() {
  std::thread([this] {
    if (::unshare(CLONE_NEWNET) != 0 || !BringUpLoopback()) return;
    netns_.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }).join();
}

os::Fd JailNet::Socket(int type) const {
  os::Fd socket;
  std::thread([&] {
    if (::setns(netns_.get(), CLONE_NEWNET) != 0) return;
    socket.reset(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  }).join();
  return socket;
}

os::Fd JailNet::Listener(uint16_t port) const {
  os::Fd socket = Socket(SOCK_STREAM | SOCK_NONBLOCK);
  if (!Bind(socket, "0.0.0.0", port) || ::listen(socket.get(), 128) != 0) {
    socket.reset();
  }
  return socket;
}

os::Fd JailNet::DnsSocket() const {
  os::Fd socket = Socket(SOCK_DGRAM | SOCK_NONBLOCK);
  if (!Bind(socket, "127.0.0.1", 53)) socket.reset();
  return socket;
}

os::Fd JailNet::ConnectTo(std::string_view address, uint16_t port) const {
  return Connected(Socket(SOCK_STREAM), address, port);
}

os::Fd ConnectInWorld(std::string_view address, uint16_t port) {
  return Connected(os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                   address, port);
}

TestServer::TestServer(uint16_t port, Serve serve)
    : serve_(std::move(serve)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (Bind(listener_, "0.0.0.0", port)) ::listen(listener_.get(), 128);
  acceptor_ = std::thread([this] { Accept(); });
}

TestServer::~TestServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const os::Fd& socket : open_) ::shutdown(socket.get(), SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

void TestServer::Accept() {
  for (;;) {
    os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) return;
    ++connections_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, fd = socket.get()] {
      serve_(fd);
      ::shutdown(fd, SHUT_RDWR);
    });
    open_.push_back(std::move(socket));
  }
}

TestNames::TestNames(std::map<std::string, std::vector<std::string>> names,
                     Answers answers)
    : answers_(answers),
      names_(std::move(names)),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  Bind(socket_, "127.0.0.1", 53);
  thread_ = std::thread([this] { Serve(); });
}

TestNames::~TestNames() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void TestNames::Serve() {
  std::array<char, 2048> message;
  for (;;) {
    sockaddr_in from = {};
    socklen_t size = sizeof(from);
    const ssize_t got =
        ::recvfrom(socket_.get(), message.data(), message.size(), 0,
                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got <= 0 || size == 0) return;
    const egress::ParsedDns query =
        egress::ParseDnsQuery({message.data(), static_cast<size_t>(got)});
    std::string answer;
    if (!names_.contains(query.query.name)) {
      answer = egress::BuildDnsAnswer(query.query, egress::DnsCode::kNameError);
    } else if (query.query.type != egress::kDnsTypeA) {
      answer = egress::BuildDnsAnswer(query.query, egress::DnsCode::kNoError);
    } else {
      ++queries_;
      answer = egress::BuildDnsAddresses(query.query,
                                         AddressesOf(query.query.name), 0);
    }
    ::sendto(socket_.get(), answer.data(), answer.size(), 0,
             reinterpret_cast<const sockaddr*>(&from), size);
  }
}

std::vector<std::string> TestNames::AddressesOf(const std::string& name) {
  std::vector<std::string> texts = names_[name];
  if (answers_ == Answers::kInTurn) {
    texts = {texts[asked_[name]++ % texts.size()]};
  }
  for (std::string& text : texts) {
    const in_addr address = AddressOf(text, 0).sin_addr;
    text.assign(reinterpret_cast<const char*>(&address), sizeof(address));
  }
  return texts;
}

std::string LookUp(const JailNet& jail, std::string_view name, uint16_t type) {
  std::string query("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    query += static_cast<char>(end - at);
    query += name.substr(at, end - at);
    at = end + 1;
  }
  query += '\0';
  query += std::string({'\0', static_cast<char>(type), '\0', '\1'});
  const os::Fd socket = jail.Socket(SOCK_DGRAM);
  const sockaddr_in to = AddressOf("127.0.0.1", 53);
  ::sendto(socket.get(), query.data(), query.size(), 0,
           reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  if (!Readable(socket.get(), 5)) return "nothing";
  std::array<char, 512> answer = {};
  const ssize_t size = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (size < 12) return "too little";
  if ((answer[3] & 15) != 0) return "code " + std::to_string(answer[3] & 15);
  if (answer[7] == 0) return "none";
  std::array<char, INET_ADDRSTRLEN> text = {};
  ::inet_ntop(AF_INET, answer.data() + size - 4, text.data(), text.size());
  return text.data();
}

void Echo(int socket) {
  for (;;) {
    const std::string data = Receive(socket, 1, 30);
    if (data.empty() || !Send(socket, data)) return;
  }
}

bool Send(int socket, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string Receive(int socket, size_t size, int seconds) {
  std::string data;
  std::array<char, 65536> buffer;
  while (data.size() < size && Readable(socket, seconds)) {
    const ssize_t got = ::recv(socket, buffer.data(),
                               std::min(buffer.size(), size - data.size()), 0);
    if (got <= 0) break;
    data.append(buffer.data(), static_cast<size_t>(got));
  }
  return data;
}

std::string ReceiveAll(int socket, int seconds) {
  return Receive(socket, SIZE_MAX, seconds);
}

std::string ReceiveUntil(int socket, std::string_view end, int seconds) {
  std::string data;
  while (data.size() < end.size() ||
         std::string_view(data).substr(data.size() - end.size()) != end) {
    const std::string next = Receive(socket, 1, seconds);
    if (next.empty()) break;
    data += next;
  }
  return data;
}

std::string ClientHelloFor(const std::string& name) {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> tls(
      ::SSL_new(context.get()), &::SSL_free);
  BIO* said = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(tls.get(), ::BIO_new(::BIO_s_mem()), said);
  if (!name.empty()) ::SSL_set_tlsext_host_name(tls.get(), name.c_str());
  ::SSL_connect(tls.get());
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(said, &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace sandglass::testing
