#include "policy/network/network.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

HostPattern Pattern(const std::string& text) {
  const auto pattern = HostPattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *pattern;
}

RequestedHost Host(const std::string& text) {
  const auto host = ParseRequestedHost(text, HostSyntax::kPlain);
  EXPECT_TRUE(host.ok()) << host.status();
  return *host;
}

IpAddress Address(const std::string& text) { return *IpAddress::Parse(text); }

AllowedHost Rule(const std::string& host) {
  return AllowedHost{.host = Pattern(host)};
}

AllowedHost Rule(const std::string& host, std::vector<PortRange> ports) {
  return AllowedHost{.host = Pattern(host), .ports = std::move(ports)};
}

NetworkPolicy Policy(std::vector<AllowedHost> hosts) {
  NetworkPolicy policy{.profile = "lab", .hosts = std::move(hosts)};
  EXPECT_TRUE(Check(policy).ok()) << Check(policy);
  return policy;
}

std::string Decided(const NetworkPolicy& policy, const std::string& host,
                    uint16_t port) {
  return Words(policy, DecideHost(policy, Host(host), port), Host(host), port);
}

std::string Resolved(const NetworkPolicy& policy, size_t rule,
                     const std::string& host, uint16_t port,
                     const std::string& address) {
  const NetworkDecision decision =
      DecideAddress(policy, rule, Host(host), port, Address(address));
  EXPECT_EQ(decision.allowed(), decision.rule.has_value());
  return decision.allowed() ? "allowed"
                            : Words(policy, decision, Host(host), port);
}

TEST(NetworkPolicy, AllowsWhatARuleIsFor) {
  const NetworkPolicy policy =
      Policy({Rule("example.org"), Rule("*.example.net", {{8000, 8999}}),
              Rule("192.0.2.0/24", {{1, 65535}}), Rule("8.8.8.0/24"),
              Rule("2606:4700::1111", {{853, 853}})});
  const struct {
    const char* host;
    uint16_t port;
    NetworkRefusal refusal;
    std::optional<size_t> rule;
  } cases[] = {
      {"example.org", 443, NetworkRefusal::kNone, 0},
      {"EXAMPLE.org.", 80, NetworkRefusal::kNone, 0},
      {"example.org", 22, NetworkRefusal::kPort, {}},
      {"example.org", 0, NetworkRefusal::kPort, {}},
      {"www.example.org", 443, NetworkRefusal::kHost, {}},
      {"a.b.example.net", 8000, NetworkRefusal::kNone, 1},
      {"a.example.net", 8999, NetworkRefusal::kNone, 1},
      {"a.example.net", 9000, NetworkRefusal::kPort, {}},
      {"a.example.net", 7999, NetworkRefusal::kPort, {}},
      {"example.net", 8000, NetworkRefusal::kHost, {}},
      {"192.0.2.255", 65535, NetworkRefusal::kNone, 2},
      {"8.8.8.8", 443, NetworkRefusal::kNone, 3},
      {"::ffff:8.8.8.8", 443, NetworkRefusal::kNone, 3},
      {"8.8.8.8", 53, NetworkRefusal::kPort, {}},
      {"8.8.4.4", 443, NetworkRefusal::kHost, {}},
      {"2606:4700::1111", 853, NetworkRefusal::kNone, 4},
      {"10.0.0.1", 443, NetworkRefusal::kAddressKind, {}},
      {"localhost", 80, NetworkRefusal::kLocalName, {}},
      {"db", 80, NetworkRefusal::kLocalName, {}},
      {"x.internal", 80, NetworkRefusal::kLocalName, {}},
  };
  for (const auto& c : cases) {
    const NetworkDecision decision = DecideHost(policy, Host(c.host), c.port);
    EXPECT_EQ(decision.refusal, c.refusal) << c.host << " " << c.port;
    EXPECT_EQ(decision.rule, c.rule) << c.host << " " << c.port;
    EXPECT_EQ(decision.allowed(), c.rule.has_value());
  }
}

TEST(NetworkPolicy, TheNarrowestPatternCounts) {
  const std::vector<AllowedHost> hosts = {
      Rule("*.example.org", {{443, 443}, {8080, 8080}}),
      Rule("api.v1.example.org"), Rule("*.v1.example.org"), Rule("10.0.0.0/8"),
      Rule("10.0.0.1")};
  const NetworkPolicy policy = Policy(hosts);
  EXPECT_EQ(DecideHost(policy, Host("a.example.org"), 443).rule, 0u);
  EXPECT_EQ(DecideHost(policy, Host("api.v1.example.org"), 443).rule, 1u);
  EXPECT_EQ(DecideHost(policy, Host("b.v1.example.org"), 443).rule, 2u);
  EXPECT_EQ(DecideHost(policy, Host("api.v1.example.org"), 8080).rule, 0u)
      << "the others aren't for the port";
  EXPECT_EQ(DecideHost(policy, Host("10.0.0.1"), 443).rule, 4u);
  EXPECT_EQ(DecideHost(policy, Host("10.0.0.2"), 443).rule, 3u);
  const NetworkPolicy reversed = Policy({hosts.rbegin(), hosts.rend()});
  EXPECT_EQ(DecideHost(reversed, Host("api.v1.example.org"), 443).rule, 3u);
}

TEST(NetworkPolicy, ALocalNameIsAllowedByItself) {
  const NetworkPolicy policy =
      Policy({Rule("localhost"), Rule("db.internal", {{5432, 5432}})});
  EXPECT_EQ(DecideHost(policy, Host("localhost"), 80).rule, 0u);
  EXPECT_EQ(DecideHost(policy, Host("db.internal"), 5432).rule, 1u);
  EXPECT_EQ(DecideHost(policy, Host("a.localhost"), 80).refusal,
            NetworkRefusal::kLocalName);
  EXPECT_EQ(Resolved(policy, 0, "localhost", 80, "127.0.0.1"),
            "host \"localhost\" resolves to 127.0.0.1, a loopback address, "
            "which profile \"lab\"'s network list doesn't name with port 80");
}

TEST(NetworkPolicy, AnAddressHasToBeMeant) {
  const NetworkPolicy policy = Policy(
      {Rule("0.0.0.0/0"), Rule("::/0"), Rule("10.1.0.0/16", {{5432, 5432}}),
       Rule("127.0.0.1", {{9000, 9000}}), Rule("169.254.0.0/16"),
       Rule("fd00::/8"), Rule("64:ff9b::a00:1"), Rule("100.64.0.0/10")});
  const struct {
    const char* host;
    uint16_t port;
    std::optional<size_t> rule;
  } cases[] = {
      {"8.8.8.8", 443, 0},
      {"2606:4700::1111", 443, 1},
      {"10.1.2.3", 5432, 2},
      {"10.1.2.3", 443, {}},
      {"10.2.2.3", 5432, {}},
      {"127.0.0.1", 9000, 3},
      {"127.0.0.1", 80, {}},
      {"127.0.0.2", 9000, {}},
      {"169.254.1.1", 80, 4},
      {"169.254.169.254", 80, {}},
      {"169.254.170.2", 80, {}},
      {"100.100.100.200", 80, {}},
      {"100.100.100.201", 80, 7},
      {"fd12::1", 443, 5},
      {"fc12::1", 443, {}},
      {"fd00:ec2::254", 80, {}},
      {"0.0.0.0", 80, {}},
      {"255.255.255.255", 80, {}},
      {"224.0.0.1", 80, {}},
      {"::", 80, {}},
      {"::1", 80, {}},
      {"64:ff9b::a00:1", 80, 6},
      {"64:ff9b::a00:2", 80, {}},
      {"64:ff9b::808:808", 80, 1},
      {"2002:a00:1::", 80, {}},
      {"::10.1.2.3", 5432, {}},
  };
  for (const auto& c : cases) {
    const NetworkDecision decision = DecideHost(policy, Host(c.host), c.port);
    EXPECT_EQ(decision.rule, c.rule) << c.host;
    // What a name resolves to is told by the same.
    EXPECT_EQ(DecideAddress(policy, decision.rule.value_or(0), Host(c.host),
                            c.port, Address(c.host))
                  .allowed(),
              c.rule.has_value())
        << c.host;
  }
}

TEST(NetworkPolicy, MetadataIsReachedWhenItIsNamed) {
  const NetworkPolicy policy =
      Policy({Rule("169.254.169.254", {{80, 80}}), Rule("a.example")});
  EXPECT_TRUE(DecideHost(policy, Host("169.254.169.254"), 80).allowed());
  EXPECT_TRUE(DecideHost(policy, Host("::ffff:a9fe:a9fe"), 80).allowed());
  EXPECT_EQ(Resolved(policy, 1, "a.example", 80, "169.254.169.254"), "allowed");
  EXPECT_EQ(Resolved(policy, 1, "a.example", 443, "169.254.169.254"),
            "host \"a.example\" resolves to 169.254.169.254, a cloud metadata "
            "address, which profile \"lab\"'s network list doesn't name as an "
            "address of its own with port 443");
}

TEST(NetworkPolicy, WhatANameResolvesToIsDecided) {
  const NetworkPolicy policy =
      Policy({Rule("a.example"), Rule("10.1.0.0/16", {{443, 443}}),
              Rule("8.8.8.8", {{53, 53}})});
  EXPECT_EQ(Resolved(policy, 0, "a.example", 443, "1.1.1.1"), "allowed");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 443, "2606:4700::1111"),
            "allowed");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 443, "10.1.2.3"), "allowed");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 443, "::ffff:10.1.2.3"),
            "allowed");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 80, "10.1.2.3"),
            "host \"a.example\" resolves to 10.1.2.3, a private address, which "
            "profile \"lab\"'s network list doesn't name with port 80");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 80, "0.0.0.0"),
            "host \"a.example\" resolves to 0.0.0.0, an unspecified address, "
            "which no profile can allow");
  EXPECT_EQ(Resolved(policy, 0, "a.example", 443, "64:ff9b::a01:203"),
            "host \"a.example\" resolves to 64:ff9b::a01:203, a private "
            "address, which profile \"lab\"'s network list doesn't name with "
            "port 443");
}

TEST(NetworkPolicy, ARuleForAnyAddressIsForThoseThatArentPublicToo) {
  AllowedHost inside = Rule("inside.example");
  inside.any_address = true;
  const NetworkPolicy policy = Policy({inside, Rule("outside.example")});
  for (const char* address : {"10.1.2.3", "127.0.0.1", "::1"}) {
    EXPECT_EQ(Resolved(policy, 0, "inside.example", 443, address), "allowed")
        << address;
  }
  for (const char* address : {"169.254.169.254", "0.0.0.0", "224.0.0.1"}) {
    EXPECT_NE(Resolved(policy, 0, "inside.example", 443, address), "allowed")
        << address;
  }
  EXPECT_NE(Resolved(policy, 1, "outside.example", 443, "10.1.2.3"), "allowed");
}

TEST(NetworkPolicy, AnAddressIsDecidedForItsOwnRuleAlone) {
  const NetworkPolicy policy =
      Policy({Rule("a.example"), Rule("1.1.1.1"), Rule("8.8.8.8")});
  const auto refusal = [&](size_t rule, const char* host, uint16_t port,
                           const char* address) {
    return DecideAddress(policy, rule, Host(host), port, Address(address))
        .refusal;
  };
  EXPECT_EQ(refusal(0, "a.example", 80, "9.9.9.9"), NetworkRefusal::kNone);
  EXPECT_EQ(refusal(1, "a.example", 80, "1.1.1.1"), NetworkRefusal::kHost);
  EXPECT_EQ(refusal(3, "a.example", 80, "1.1.1.1"), NetworkRefusal::kHost);
  EXPECT_EQ(refusal(0, "b.example", 80, "1.1.1.1"), NetworkRefusal::kHost);
  EXPECT_EQ(refusal(0, "a.example", 22, "1.1.1.1"), NetworkRefusal::kPort);
  EXPECT_EQ(refusal(1, "1.1.1.1", 80, "1.1.1.1"), NetworkRefusal::kNone);
  EXPECT_EQ(refusal(1, "1.1.1.1", 80, "::ffff:1.1.1.1"), NetworkRefusal::kNone);
  EXPECT_EQ(refusal(1, "1.1.1.1", 80, "8.8.8.8"), NetworkRefusal::kHost);
}

TEST(NetworkPolicy, WhatIsNoDestinationIsNeverAllowed) {
  for (const char* address : {"0.0.0.0", "224.0.0.1", "255.255.255.255",
                              "::", "ff02::1", "64:ff9b::e000:1"}) {
    // As if nobody had checked it.
    const NetworkPolicy policy{.profile = "lab",
                               .hosts = {Rule("a.example"), Rule(address)}};
    EXPECT_FALSE(Check(policy).ok());
    EXPECT_EQ(DecideHost(policy, Host(address), 80).refusal,
              NetworkRefusal::kAddressKind);
    EXPECT_THAT(Resolved(policy, 0, "a.example", 80, address),
                HasSubstr("which no profile can allow"));
  }
}

TEST(NetworkPolicy, RefusalsSayWhatIsInTheList) {
  const NetworkPolicy policy = Policy(
      {Rule("example.org"), Rule("*.example.net", {{80, 80}, {8000, 8999}}),
       Rule("0.0.0.0/0", {{443, 443}})});
  EXPECT_EQ(Decided(policy, "a.b", 80),
            "host \"a.b\" isn't in profile \"lab\"'s network list; it has 3 "
            "hosts");
  EXPECT_EQ(Decided(Policy({Rule("c.d")}), "1.2.3.4", 80),
            "address 1.2.3.4 isn't in profile \"lab\"'s network list; it has 1 "
            "host");
  EXPECT_EQ(Decided(policy, "example.net", 80),
            "host \"example.net\" isn't in profile \"lab\"'s network list; "
            "\"*.example.net\" there stands for names below it alone");
  EXPECT_EQ(Decided(policy, "www.example.org", 80),
            "host \"www.example.org\" isn't in profile \"lab\"'s network list; "
            "\"example.org\" there stands for itself alone");
  EXPECT_EQ(Decided(policy, "a.example.net", 443),
            "port 443 of host \"a.example.net\" isn't in profile \"lab\"'s "
            "network list; \"*.example.net\" there is for ports 80 and 8000 to "
            "8999");
  EXPECT_EQ(Decided(policy, "8.8.8.8", 80),
            "port 80 of address 8.8.8.8 isn't in profile \"lab\"'s network "
            "list; \"0.0.0.0/0\" there is for port 443");
  EXPECT_EQ(Decided(policy, "db.internal", 80),
            "host \"db.internal\" is a local name, and those need to be named "
            "one by one in profile \"lab\"'s network list");
  EXPECT_EQ(Decided(policy, "10.0.0.1", 443),
            "10.0.0.1 is a private address, which profile \"lab\"'s network "
            "list doesn't name with port 443; \"0.0.0.0/0\" there doesn't "
            "stand for such addresses");
  EXPECT_EQ(Decided(policy, "224.0.0.1", 443),
            "224.0.0.1 is a multicast address, which no profile can allow");
  EXPECT_EQ(Decided(policy, "example.org", 443),
            "host \"example.org\" is allowed with port 443 by \"example.org\" "
            "of profile \"lab\"'s network list");
}

TEST(NetworkPolicy, PortsAreListed) {
  EXPECT_EQ(PortWords({{443, 443}}), "port 443");
  EXPECT_EQ(PortWords({{1, 2}}), "ports 1 to 2");
  EXPECT_EQ(PortWords({{80, 80}, {443, 443}, {8000, 8999}}),
            "ports 80, 443 and 8000 to 8999");
}

TEST(NetworkPolicy, MethodsAreToldApart) {
  AllowedHost rule = Rule("a.example", {{80, 80}});
  EXPECT_TRUE(AllowsMethod(rule, "DELETE"));
  rule.methods = {"GET", "HEAD"};
  EXPECT_TRUE(AllowsMethod(rule, "HEAD"));
  EXPECT_FALSE(AllowsMethod(rule, "POST"));
  EXPECT_FALSE(AllowsMethod(rule, "get"));
  EXPECT_FALSE(AllowsMethod(rule, ""));
}

TEST(NetworkPolicy, AThousandHostsAreDecidedSoon) {
  std::vector<AllowedHost> hosts;
  for (size_t i = 0; i < kMaxHosts; ++i) {
    std::vector<PortRange> ports;
    for (uint32_t port = 1; port <= kMaxPortRanges; ++port) {
      ports.push_back({static_cast<uint32_t>(i * kMaxPortRanges) + port,
                       static_cast<uint32_t>(i * kMaxPortRanges) + port});
    }
    hosts.push_back(Rule("a.example", ports));
  }
  const auto began = std::chrono::steady_clock::now();
  const NetworkPolicy policy = Policy(hosts);
  EXPECT_EQ(DecideHost(policy, Host("a.example"), 64'000).rule, 999u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

struct Fault {
  const char* name;
  void (*spoil)(NetworkPolicy&);
  const char* message;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class RefusedPolicy : public ::testing::TestWithParam<Fault> {};

TEST_P(RefusedPolicy, IsReportedWithAPointer) {
  NetworkPolicy policy = Policy({Rule("a.example"), Rule("b.example")});
  GetParam().spoil(policy);
  const absl::Status status = Check(policy);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    NetworkPolicy, RefusedPolicy,
    ::testing::Values(
        Fault{"NoHosts", [](NetworkPolicy& p) { p.hosts.clear(); },
              "/network/hosts: is empty, so nothing could be reached"},
        Fault{"ManyHosts",
              [](NetworkPolicy& p) {
                p.hosts.assign(kMaxHosts + 1, Rule("a.example"));
              },
              "/network/hosts: has 1001 entries; at most 1000"},
        Fault{"NoPorts", [](NetworkPolicy& p) { p.hosts[1].ports.clear(); },
              "/network/hosts/1/ports: is empty; leave it out for 80 and 443"},
        Fault{"ManyPorts",
              [](NetworkPolicy& p) {
                p.hosts[0].ports.resize(65, {1, 1});
              },
              "/network/hosts/0/ports: has 65 entries; at most 64"},
        Fault{"PortZero",
              [](NetworkPolicy& p) {
                p.hosts[0].ports = {{0, 80}};
              },
              "/network/hosts/0/ports/0: 0 is no port; ports are 1 to 65535"},
        Fault{"PortTooHigh",
              [](NetworkPolicy& p) {
                p.hosts[0].ports = {{80, 80}, {443, 65536}};
              },
              "/network/hosts/0/ports/1: 65536 is no port"},
        Fault{"PortsBackwards",
              [](NetworkPolicy& p) {
                p.hosts[0].ports = {{90, 80}};
              },
              "/network/hosts/0/ports/0: begins with 90 and ends with 80"},
        Fault{"PortsOverlap",
              [](NetworkPolicy& p) {
                p.hosts[0].ports = {{80, 90}, {443, 443}, {90, 91}};
              },
              "ports/2: has ports of /network/hosts/0/ports/0 again"},
        Fault{"Same", [](NetworkPolicy& p) { p.hosts[1] = p.hosts[0]; },
              "/network/hosts/1/host: \"a.example\" is in /network/hosts/0 "
              "already, with port 80; make them one"},
        Fault{"SameInPart",
              [](NetworkPolicy& p) {
                p.hosts = {Rule("10.0.0.0/8", {{8, 8}, {1000, 2000}}),
                           Rule("10.0.0.0/8", {{9, 9}, {1500, 1501}})};
              },
              "/network/hosts/1/host: \"10.0.0.0/8\" is in /network/hosts/0 "
              "already, with ports 1000 to 2000"},
        Fault{"SameAround",
              [](NetworkPolicy& p) {
                p.hosts = {Rule("10.0.0.0/8", {{1500, 1501}}),
                           Rule("10.0.0.0/8", {{1000, 2000}})};
              },
              "already, with ports 1500 to 1501"},
        Fault{"Unspecified",
              [](NetworkPolicy& p) { p.hosts[0] = Rule("0.0.0.0"); },
              "/network/hosts/0/host: \"0.0.0.0\" is unspecified, and no "
              "connection can be made"},
        Fault{"Multicast",
              [](NetworkPolicy& p) { p.hosts[0] = Rule("224.0.1.0/24"); },
              "\"224.0.1.0/24\" is multicast"},
        Fault{"MulticastV6",
              [](NetworkPolicy& p) { p.hosts[0] = Rule("ff00::/8"); },
              "\"ff00::/8\" is multicast"},
        Fault{"MulticastInside",
              [](NetworkPolicy& p) { p.hosts[0] = Rule("64:ff9b::e000:1"); },
              "is multicast"}),
    [](const auto& each) { return each.param.name; });

void SetMethods(NetworkPolicy& policy, std::vector<std::string> methods) {
  policy.hosts[0].ports = {{80, 80}};
  policy.hosts[0].methods = std::move(methods);
}

INSTANTIATE_TEST_SUITE_P(
    NetworkMethods, RefusedPolicy,
    ::testing::Values(
        Fault{"Tunnelled",
              [](NetworkPolicy& p) { p.hosts[0].methods = {"GET"}; },
              "/network/hosts/0/methods: can't be told apart in tunnels (port "
              "443); set \"inspect\", or write \"ports\": [80] for plain HTTP "
              "alone"},
        Fault{"TunnelledRange",
              [](NetworkPolicy& p) {
                SetMethods(p, {"GET"});
                p.hosts[0].ports = {{80, 81}};
              },
              "in tunnels (ports 80 to 81)"},
        Fault{"Many",
              [](NetworkPolicy& p) {
                SetMethods(p, std::vector<std::string>(33, "GET"));
              },
              "/network/hosts/0/methods: has 33 entries; at most 32"},
        Fault{"Empty",
              [](NetworkPolicy& p) {
                SetMethods(p, {"GET", ""});
              },
              "/network/hosts/0/methods/1: \"\" is no method"},
        Fault{"NoToken", [](NetworkPolicy& p) { SetMethods(p, {"GET /"}); },
              "\"GET /\" is no method; write one as \"GET\""},
        Fault{"Long",
              [](NetworkPolicy& p) { SetMethods(p, {std::string(33, 'A')}); },
              "is no method; write one as \"GET\", of at most 32 bytes"},
        Fault{"Small", [](NetworkPolicy& p) { SetMethods(p, {"get"}); },
              "\"get\" has small letters, and methods are told apart by them; "
              "write \"GET\""},
        Fault{"Connect", [](NetworkPolicy& p) { SetMethods(p, {"CONNECT"}); },
              "CONNECT asks for a tunnel"},
        Fault{"Twice",
              [](NetworkPolicy& p) {
                SetMethods(p, {"GET", "PUT", "GET"});
              },
              "/network/hosts/0/methods/2: \"GET\" is there twice"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    NetworkLimits, RefusedPolicy,
    ::testing::Values(
        Fault{"NoneAtOnce",
              [](NetworkPolicy& p) { p.limits.connections_at_once = 0; },
              "/network/limits/connections_at_once: 0 is out of range; it "
              "takes 1 to 1024"},
        Fault{"Connections",
              [](NetworkPolicy& p) { p.limits.connections = 1'000'000'001; },
              "/network/limits/connections: 1000000001 is out of range"},
        Fault{"Bytes", [](NetworkPolicy& p) { p.limits.bytes = 0; },
              "/network/limits/bytes: 0 is out of range"},
        // It would be 0 in the milliseconds that the proxy is told.
        Fault{"ShortTime",
              [](NetworkPolicy& p) {
                p.limits.to_connect = absl::Microseconds(1);
              },
              "/network/limits/connect_time: 1us is out of range; it takes "
              "1ms to 1h"},
        Fault{"NegativeTime",
              [](NetworkPolicy& p) { p.limits.to_speak = -absl::Seconds(1); },
              "/network/limits/speak_time: -1s is out of range"},
        Fault{
            "NoEnd",
            [](NetworkPolicy& p) { p.limits.idle = absl::InfiniteDuration(); },
            "/network/limits/idle_time: inf is out of range"}),
    [](const auto& each) { return each.param.name; });

TEST(NetworkPolicy, TakesWhatCanBeMeant) {
  AllowedHost inspected = Rule("a.example");
  inspected.inspect = true;
  inspected.methods = {"GET", "M-SEARCH"};
  AllowedHost plain = Rule("b.example", {{80, 80}});
  plain.methods = {"GET"};
  // The same host with other ports; ranges of several kinds.
  EXPECT_TRUE(Check({"lab",
                     {inspected, plain, Rule("b.example", {{443, 443}}),
                      Rule("b.example", {{1, 79}, {81, 442}}), Rule("::/0"),
                      Rule("0.0.0.0/0"), Rule("0.0.0.0/8")}})
                  .ok());
}

}  // namespace
}  // namespace sandglass::policy
