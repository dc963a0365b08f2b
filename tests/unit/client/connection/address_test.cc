#include "client/connection/address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

TEST(ParseAddressTest, TakesUnixPaths) {
  for (const char* text : {"unix:/run/a.sock", "unix:///run/a.sock"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->unix_path, "/run/a.sock");
    EXPECT_EQ(address->socket_address.ss_family, AF_UNIX);
    sockaddr_un socket = {};
    std::memcpy(&socket, &address->socket_address, sizeof(socket));
    EXPECT_STREQ(socket.sun_path, "/run/a.sock");
  }
}

TEST(ParseAddressTest, TakesLoopbackPorts) {
  for (const char* text :
       {"127.0.0.1:50051", "127.9.9.9:1", "localhost:65535"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->socket_address.ss_family, AF_INET) << text;
    EXPECT_TRUE(address->unix_path.empty());
  }
  const auto address = ParseAddress("[::1]:50051");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->socket_address.ss_family, AF_INET6);
}

TEST(ParseAddressTest, MeansTlsBeyondThisMachine) {
  const std::pair<const char*, const char*> texts[] = {
      {"example.org:8443", "example.org:8443"},
      {"10.0.0.1:1", "10.0.0.1:1"},
      {"[2001:db8::1]:8443", "[2001:db8::1]:8443"},
      {"https://example.org:8443/", "example.org:8443"},
      {"dns:///localhost:8443", "localhost:8443"},
      {"https://[::1]:8443", "[::1]:8443"}};
  for (const auto& [text, place] : texts) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_TRUE(address->tls) << text;
    EXPECT_EQ(address->HostAndPort(), place);
  }
  EXPECT_FALSE(ParseAddress("localhost:8443")->tls);
}

TEST(ParseAddressTest, RefusesEverythingElse) {
  const std::string too_long = "unix:/" + std::string(107, 'x');
  for (const std::string& text :
       {std::string(""), std::string("unix:"), std::string("/run/a.sock"),
        std::string("127.0.0.1"), std::string("127.0.0.1:"),
        std::string("127.0.0.1:0"), std::string("127.0.0.1:65536"),
        std::string("127.0.0.1:x"), std::string("::1:50051"),
        std::string("a b:1"), std::string("https://h"), std::string("[x]:1"),
        std::string("http://h:1"), std::string("-h:1"), std::string("[::1]"),
        std::string(":50051"), std::string("unix:/a\0b", 9), too_long}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
}

TEST(ParseAddressTest, TakesTheLongestPathThatTheKernelTakes) {
  EXPECT_TRUE(ParseAddress("unix:/" + std::string(106, 'x')).ok());
}

}  // namespace
}  // namespace sandglass::client
