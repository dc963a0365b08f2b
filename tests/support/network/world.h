#ifndef SANDGLASS_TESTS_SUPPORT_NETWORK_WORLD_H_
#define SANDGLASS_TESTS_SUPPORT_NETWORK_WORLD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sandbox/os/fd.h"

// A world of the tests' own: a network namespace in which every IPv4 address
// leads to `lo`, so that servers of a test are anywhere, and another one that
// stands for a jail's.
namespace sandglass::testing {

// Puts this process into a network namespace of its own, for good; before any
// thread. Needs root.
bool EnterOwnWorld();

// A jail's network namespace: `lo` is up, nothing else is there.
class JailNet {
 public:
  JailNet();
  bool valid() const { return netns_.valid(); }

  // A socket of the jail's, as socket(2) makes it.
  os::Fd Socket(int type) const;
  // That listens on this port of all its addresses.
  os::Fd Listener(uint16_t port) const;
  // Datagrams to 127.0.0.1:53.
  os::Fd DnsSocket() const;
  // Connected to it; invalid when that fails.
  os::Fd ConnectTo(std::string_view address, uint16_t port) const;

 private:
  os::Fd netns_;
};

// Connected without a proxy, in the world; invalid when that fails.
os::Fd ConnectInWorld(std::string_view address, uint16_t port);

// A server that takes connections on one port of all addresses of the world,
// each with a thread of its own.
class TestServer {
 public:
  using Serve = std::function<void(int socket)>;

  TestServer(uint16_t port, Serve serve);
  // Ends its connections.
  ~TestServer();

  int connections() const { return connections_; }

 private:
  void Accept();

  Serve serve_;
  os::Fd listener_;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<os::Fd> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A name server on 127.0.0.1:53 of the world. Names that it isn't given don't
// exist.
class TestNames {
 public:
  // Of a name's addresses each answer has the next one, or all.
  enum class Answers { kInTurn, kAll };

  explicit TestNames(std::map<std::string, std::vector<std::string>> names,
                     Answers answers = Answers::kInTurn);
  ~TestNames();

  int queries() const { return queries_; }

 private:
  void Serve();
  std::vector<std::string> AddressesOf(const std::string& name);

  const Answers answers_;
  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::string, size_t> asked_;
  os::Fd socket_;
  std::atomic<int> queries_ = 0;
  std::thread thread_;
};

// What a jail's DNS socket says of a name: the last address's text, "none",
// "code N", or what is wrong. `type` as of dns_message.h.
std::string LookUp(const JailNet& jail, std::string_view name, uint16_t type);

// Sends back what comes, until nothing does.
void Echo(int socket);

// All of `data`; false when that fails.
bool Send(int socket, std::string_view data);
// Up to `size` bytes, or what there is until the end or for `seconds`.
std::string Receive(int socket, size_t size, int seconds = 10);
// Up to the other side's end.
std::string ReceiveAll(int socket, int seconds = 10);
// Up to and with `end`.
std::string ReceiveUntil(int socket, std::string_view end, int seconds = 10);

// The first bytes that a TLS client says; empty name: without a server name.
std::string ClientHelloFor(const std::string& name);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_NETWORK_WORLD_H_
