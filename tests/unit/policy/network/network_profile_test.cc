// The key "network" of profiles: what it means, and what is refused.
#include "policy/network/network_profile.h"

#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/network/network_words.h"
#include "policy/profile/profile.h"
#include "policy/profile/profile_words.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

absl::StatusOr<Profile> Parse(const std::string& network) {
  return ParseProfile(
      "lab", absl::StrCat(R"({"description": "d", "network": )", network, "}"));
}

// Of a profile with that key alone; null after an error, too.
std::shared_ptr<const NetworkPolicy> MustParse(const std::string& network) {
  const absl::StatusOr<Profile> profile = Parse(network);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? profile->network : nullptr;
}

std::string Message(const std::string& network) {
  return std::string(Parse(network).status().message());
}

std::vector<std::string> Described(const std::string& network) {
  const absl::StatusOr<Profile> profile = Parse(network);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? DescribeProfile(*profile) : std::vector<std::string>();
}

TEST(ReadNetwork, TheDefaultIsNoNetwork) {
  const absl::StatusOr<Profile> silent =
      ParseProfile("lab", R"({"description": "d"})");
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_EQ(silent->network, nullptr);
  const absl::StatusOr<Profile> none = Parse(R"("none")");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->network, nullptr);
}

TEST(ReadNetwork, AStringIsAHostWithTheUsualPorts) {
  const auto network =
      MustParse(R"({"hosts": ["PyPI.example", "*.example.org", "192.0.2.1",
                              "2001:db8::/32"]})");
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(network->profile, "lab");
  ASSERT_THAT(network->hosts, SizeIs(4));
  EXPECT_EQ(network->hosts[0].host.name(), "pypi.example");
  EXPECT_EQ(network->hosts[1].host.kind(), HostPattern::Kind::kSuffix);
  EXPECT_EQ(network->hosts[2].host.kind(), HostPattern::Kind::kAddress);
  EXPECT_EQ(network->hosts[3].host.ToString(), "2001:db8::/32");
  for (const AllowedHost& host : network->hosts) {
    EXPECT_THAT(host.ports,
                ElementsAre(PortRange{80, 80}, PortRange{443, 443}));
    EXPECT_FALSE(host.inspect);
    EXPECT_THAT(host.methods, IsEmpty());
    EXPECT_THAT(host.secrets, IsEmpty());
  }
  EXPECT_EQ(network->limits.connections, NetworkLimits().connections);
}

TEST(ReadNetwork, ReadsEveryKey) {
  const auto network = MustParse(R"({
      "hosts": [{"host": "*.example.org", "ports": [443, "8000-8999"],
                 "inspect": true, "methods": ["GET", "HEAD"],
                 "secrets": ["API_KEY", "B2"]},
                {"host": "b.example"}],
      "limits": {"connections_at_once": 1, "connections": 2, "bytes": "3MiB",
                 "connect_time": "4s", "speak_time": "500ms",
                 "idle_time": "1m30s"}})");
  ASSERT_NE(network, nullptr);
  ASSERT_THAT(network->hosts, SizeIs(2));
  const AllowedHost& host = network->hosts[0];
  EXPECT_EQ(host.host.ToString(), "*.example.org");
  EXPECT_THAT(host.ports,
              ElementsAre(PortRange{443, 443}, PortRange{8000, 8999}));
  EXPECT_TRUE(host.inspect);
  EXPECT_THAT(host.methods, ElementsAre("GET", "HEAD"));
  EXPECT_THAT(host.secrets, ElementsAre("API_KEY", "B2"));
  EXPECT_THAT(network->hosts[1].ports,
              ElementsAre(PortRange{80, 80}, PortRange{443, 443}));
  EXPECT_EQ(network->limits.connections_at_once, 1u);
  EXPECT_EQ(network->limits.connections, 2u);
  EXPECT_EQ(network->limits.bytes, uint64_t{3} << 20);
  EXPECT_EQ(network->limits.to_connect, absl::Seconds(4));
  EXPECT_EQ(network->limits.to_speak, absl::Milliseconds(500));
  EXPECT_EQ(network->limits.idle, absl::Seconds(90));
}

TEST(ReadNetwork, TheBoundsThemselvesAreTaken) {
  const auto network = MustParse(R"({"hosts": [{"host": "a.example",
                                                "ports": ["1-65535"]}],
      "limits": {"connections_at_once": 1024, "connections": 1000000000,
                 "bytes": "1TiB", "connect_time": "1h", "speak_time": "1ms",
                 "idle_time": "60m"}})");
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(network->limits.bytes, uint64_t{1} << 40);
  // Small numbers for which the other limits' defaults are too large.
  EXPECT_NE(MustParse(R"({"hosts": ["a.example"], "limits": {"bytes": 1}})"),
            nullptr);
}

TEST(ReadNetwork, SecretsAndMethodsGoOverPlainHttpWithoutALook) {
  EXPECT_NE(MustParse(R"({"hosts": [{"host": "a.example", "ports": [80],
                          "methods": ["GET"], "secrets": ["A"]}]})"),
            nullptr);
}

struct Fault {
  const char* name;
  const char* network;
  const char* message;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class RefusedNetwork : public ::testing::TestWithParam<Fault> {};

// The one thing that is wrong, and nothing else.
TEST_P(RefusedNetwork, IsReportedWithAPointer) {
  const absl::StatusOr<Profile> profile = Parse(GetParam().network);
  ASSERT_FALSE(profile.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(profile.status()));
  EXPECT_THAT(std::string(profile.status().message()),
              AllOf(HasSubstr(absl::StrCat("lab.json: ", GetParam().message)),
                    Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Shape, RefusedNetwork,
    ::testing::Values(
        Fault{"Word", R"("all")",
              "/network: expected \"none\", or an object with \"hosts\", got "
              "\"all\""},
        Fault{"Null", "null", "/network: expected \"none\""},
        Fault{"False", "false", "/network: expected \"none\""},
        Fault{"List", R"(["a.example"])", "/network: expected \"none\""},
        Fault{"Empty", "{}", "/network/hosts: missing; it is required"},
        Fault{"NoHosts", R"({"hosts": []})",
              "/network/hosts: is empty, so nothing could be reached"},
        Fault{"HostsNoList", R"({"hosts": "a.example"})",
              "/network/hosts: expected a list, got \"a.example\""},
        Fault{"UnknownKey", R"({"hosts": ["a.example"], "host": 1})",
              "/network/host: unknown key"},
        Fault{"HostNumber", R"({"hosts": ["a.example", 7]})",
              "/network/hosts/1: expected a host such as \"example.org\", or "
              "an object with \"host\", got 7"},
        Fault{"HostList", R"({"hosts": [["a.example"]]})",
              "/network/hosts/0: expected a host"},
        Fault{"RuleWithoutHost", R"({"hosts": [{"ports": [80]}]})",
              "/network/hosts/0/host: missing; it is required"},
        Fault{"RuleHostNumber", R"({"hosts": [{"host": 7}]})",
              "/network/hosts/0/host: expected a string, got 7"},
        Fault{"RuleUnknownKey",
              R"({"hosts": [{"host": "a.example", "port": 80}]})",
              "/network/hosts/0/port: unknown key; did you mean \"ports\"?"},
        Fault{"InspectWord",
              R"({"hosts": [{"host": "a.example", "inspect": "yes"}]})",
              "/network/hosts/0/inspect: expected true or false, got \"yes\""},
        Fault{"LimitsNoObject", R"({"hosts": ["a.example"], "limits": 5})",
              "/network/limits: expected an object, got 5"},
        Fault{"LimitsUnknownKey",
              R"({"hosts": ["a.example"], "limits": {"idle": "5s"}})",
              "/network/limits/idle: unknown key"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Hosts, RefusedNetwork,
    ::testing::Values(
        Fault{"EmptyName", R"({"hosts": [""]})",
              "/network/hosts/0: the host \"\" is empty"},
        Fault{"EmptyNameInRule", R"({"hosts": [{"host": ""}]})",
              "/network/hosts/0/host: the host \"\" is empty"},
        Fault{"Star", R"({"hosts": ["*"]})", "/network/hosts/0: "},
        Fault{"StarInside", R"({"hosts": ["a.example", "a.*.example"]})",
              "/network/hosts/1: "},
        Fault{"WholeDomain", R"({"hosts": ["*.com"]})", "/network/hosts/0: "},
        Fault{"Url", R"({"hosts": [{"host": "https://a.example/"}]})",
              "/network/hosts/0/host: "},
        Fault{"PortInHost", R"({"hosts": ["a.example:443"]})",
              "/network/hosts/0: "},
        Fault{"OddAddress", R"({"hosts": ["127.1"]})", "/network/hosts/0: "},
        Fault{"BitsOutsideTheRange", R"({"hosts": ["192.0.2.1/24"]})",
              "/network/hosts/0: "},
        // A string has no "host" in the file.
        Fault{"SameString", R"({"hosts": ["a.example", "A.example."]})",
              "/network/hosts/1: \"a.example\" is in /network/hosts/0 already"},
        Fault{"SameInRule",
              R"({"hosts": ["a.example", {"host": "a.example"}]})",
              "/network/hosts/1/host: \"a.example\" is in /network/hosts/0 "},
        Fault{"NoDestination", R"({"hosts": ["b.example", "224.0.0.1"]})",
              "/network/hosts/1: \"224.0.0.1\" is"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Ports, RefusedNetwork,
    ::testing::Values(
        Fault{"None", R"({"hosts": [{"host": "a.example", "ports": []}]})",
              "/network/hosts/0/ports: is empty; leave it out for 80 and 443"},
        Fault{"NoList", R"({"hosts": [{"host": "a.example", "ports": 80}]})",
              "/network/hosts/0/ports: expected a list, got 80"},
        Fault{"Zero", R"({"hosts": [{"host": "a.example", "ports": [0]}]})",
              "/network/hosts/0/ports/0: 0 is no port"},
        Fault{"Large",
              R"({"hosts": [{"host": "a.example", "ports": [80, 65536]}]})",
              "/network/hosts/0/ports/1: expected a port from 1 to 65535, or "
              "several as \"8000-8999\", got 65536"},
        // Its low bits are those of 80.
        Fault{"Huge",
              R"({"hosts": [{"host": "a.example", "ports": [4294967376]}]})",
              "/network/hosts/0/ports/0: expected a port from 1 to 65535, or "
              "several as \"8000-8999\", got 4294967376"},
        Fault{"Negative",
              R"({"hosts": [{"host": "a.example", "ports": [-1]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"Fraction",
              R"({"hosts": [{"host": "a.example", "ports": [80.0]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"NumberAsString",
              R"({"hosts": [{"host": "a.example", "ports": ["80"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"Object",
              R"({"hosts": [{"host": "a.example", "ports": [{"a": 1}]}]})",
              "/network/hosts/0/ports/0: expected a port from 1 to 65535, or "
              "several as \"8000-8999\", got an object"},
        Fault{"OpenRange",
              R"({"hosts": [{"host": "a.example", "ports": ["80-"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"ThreeEnds",
              R"({"hosts": [{"host": "a.example", "ports": ["1-2-3"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"Blanks",
              R"({"hosts": [{"host": "a.example", "ports": ["80 - 90"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"Sign",
              R"({"hosts": [{"host": "a.example", "ports": ["+80-90"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"LargeEnd",
              R"({"hosts": [{"host": "a.example", "ports": ["80-65536"]}]})",
              "/network/hosts/0/ports/0: expected a port"},
        Fault{"Reversed",
              R"({"hosts": [{"host": "a.example", "ports": ["90-80"]}]})",
              "/network/hosts/0/ports/0: begins with 90 and ends with 80"},
        Fault{"Twice",
              R"({"hosts": [{"host": "a.example", "ports": [80, "80-81"]}]})",
              "/network/hosts/0/ports/1: has ports of "
              "/network/hosts/0/ports/0 again"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Requests, RefusedNetwork,
    ::testing::Values(
        Fault{"NoMethods",
              R"({"hosts": [{"host": "a.example", "methods": []}]})",
              "/network/hosts/0/methods: is empty; leave it out to mean all"},
        Fault{"MethodsNoList",
              R"({"hosts": [{"host": "a.example", "methods": "GET"}]})",
              "/network/hosts/0/methods: expected a list of strings, got "
              "\"GET\""},
        Fault{"MethodNumber",
              R"({"hosts": [{"host": "a.example", "methods": [1]}]})",
              "/network/hosts/0/methods/0: expected a string, got 1"},
        Fault{"MethodsInTunnel",
              R"({"hosts": [{"host": "a.example", "methods": ["GET"]}]})",
              "/network/hosts/0/methods: can't be told apart in tunnels (port "
              "443); set \"inspect\""},
        Fault{"SecretsNoList",
              R"({"hosts": [{"host": "a.example", "secrets": {}}]})",
              "/network/hosts/0/secrets: expected a list of strings"},
        Fault{
            "SecretsInTunnel",
            R"({"hosts": [{"host": "a.example", "secrets": ["KEY"]}]})",
            "/network/hosts/0/secrets: can't be put in their place in tunnels "
            "(port 443); set \"inspect\", or write \"ports\": [80] for plain "
            "HTTP alone"},
        Fault{
            "SecretsInTunnelRange",
            R"({"hosts": [{"host": "a.example", "ports": ["80-81"],
                             "secrets": ["KEY"]}]})",
            "/network/hosts/0/secrets: can't be put in their place in tunnels "
            "(ports 80 to 81)"},
        Fault{"SecretTwice",
              R"({"hosts": [{"host": "a.example", "inspect": true,
                             "secrets": ["A", "B", "A"]}]})",
              "/network/hosts/0/secrets/2: \"A\" is there twice"},
        Fault{"InspectPlain",
              R"({"hosts": [{"host": "a.example", "ports": [80],
                             "inspect": true}]})",
              "/network/hosts/0/inspect: is for TLS, and port 80 alone is "
              "plain HTTP"},
        Fault{"InspectPlainRange",
              R"({"hosts": [{"host": "a.example", "ports": ["80-80"],
                             "inspect": true}]})",
              "/network/hosts/0/inspect: is for TLS"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Limits, RefusedNetwork,
    ::testing::Values(
        Fault{"NoneAtOnce",
              R"({"hosts": ["a.example"],
                  "limits": {"connections_at_once": 0}})",
              "/network/limits/connections_at_once: 0 is out of range; it "
              "takes 1 to 1024"},
        Fault{"ManyAtOnce",
              R"({"hosts": ["a.example"],
                  "limits": {"connections_at_once": 1025}})",
              "/network/limits/connections_at_once: 1025 is out of range"},
        // Its low bits are those of 1.
        Fault{"HugeAtOnce",
              R"({"hosts": ["a.example"],
                  "limits": {"connections_at_once": 4294967297}})",
              "/network/limits/connections_at_once: 4294967297 is out of"},
        Fault{"NoConnections",
              R"({"hosts": ["a.example"], "limits": {"connections": 0}})",
              "/network/limits/connections: 0 is out of range"},
        Fault{"NoBytes",
              R"({"hosts": ["a.example"], "limits": {"bytes": "0"}})",
              "/network/limits/bytes: 0 B is out of range"},
        Fault{"ManyBytes",
              R"({"hosts": ["a.example"], "limits": {"bytes": "1025GiB"}})",
              "/network/limits/bytes: 1025 GiB is out of range; it takes 1 B "
              "to 1 TiB"},
        Fault{"DecimalBytes",
              R"({"hosts": ["a.example"], "limits": {"bytes": "1GB"}})",
              "/network/limits/bytes: "},
        Fault{"NoTime",
              R"({"hosts": ["a.example"], "limits": {"connect_time": "0s"}})",
              "/network/limits/connect_time: \"0s\" is out of range; it takes "
              "1ms to 1h"},
        Fault{"LongTime",
              R"({"hosts": ["a.example"], "limits": {"speak_time": "61m"}})",
              "/network/limits/speak_time: \"61m\" is out of range"},
        Fault{"ForEver",
              R"({"hosts": ["a.example"], "limits": {"idle_time": "inf"}})",
              "/network/limits/idle_time: \"inf\" is out of range"},
        Fault{"NumberForTime",
              R"({"hosts": ["a.example"], "limits": {"idle_time": 5}})",
              "/network/limits/idle_time: expected a duration such as"}),
    [](const auto& each) { return each.param.name; });

std::string WithSecrets(const std::string& names) {
  return absl::StrCat(R"({"hosts": [{"host": "a.example", "inspect": true,
                                     "secrets": [)",
                      names, "]}]}");
}

TEST(ReadNetwork, NamesOfSecretsAreCapitals) {
  const std::string longest(64, 'A');
  EXPECT_NE(MustParse(WithSecrets(R"("A", "A_1", "Z9__")")), nullptr);
  EXPECT_NE(MustParse(WithSecrets("\"" + longest + "\"")), nullptr);
  for (const std::string& name :
       {std::string(), std::string("key"), std::string("_A"), std::string("1A"),
        std::string("A-B"), std::string("A B"), std::string("A}"),
        std::string("Ä"), std::string("A\\n"), longest + "A"}) {
    EXPECT_THAT(Message(WithSecrets("\"OK\", \"" + name + "\"")),
                HasSubstr("/network/hosts/0/secrets/1: is no secret's name"))
        << name;
  }
}

TEST(ReadNetwork, WhatMayBeASecretIsNotInTheMessage) {
  EXPECT_THAT(Message(WithSecrets(R"("sk-0123456789")")),
              Not(HasSubstr("0123456789")));
}

TEST(ReadNetwork, ListsAreBounded) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= kMaxSecrets; ++i) {
    names.push_back(absl::StrCat("\"S", i, "\""));
  }
  EXPECT_THAT(
      Message(WithSecrets(absl::StrJoin(names, ","))),
      HasSubstr("/network/hosts/0/secrets: has 33 entries; at most 32"));
  names.pop_back();
  EXPECT_NE(MustParse(WithSecrets(absl::StrJoin(names, ","))), nullptr);
  std::vector<std::string> hosts;
  for (size_t i = 0; i <= kMaxHosts; ++i) {
    hosts.push_back(absl::StrCat("\"h", i, ".example\""));
  }
  EXPECT_THAT(Message("{\"hosts\": [" + absl::StrJoin(hosts, ",") + "]}"),
              HasSubstr("/network/hosts: has 1001 entries; at most 1000"));
}

TEST(ReadNetwork, AllProblemsAreTold) {
  const std::string message = Message(
      R"({"hosts": ["*", {"host": "a.example", "ports": ["x"], "inspect": 1}],
          "limits": {"bytes": 0}})");
  EXPECT_THAT(message, AllOf(HasSubstr("/network/hosts/0: "),
                             HasSubstr("/network/hosts/1/ports/0: "),
                             HasSubstr("/network/hosts/1/inspect: "),
                             HasSubstr("/network/limits/bytes: ")));
}

TEST(DescribeNetwork, SaysEachRuleAndTheLimits) {
  const std::vector<std::string> words = Described(R"({
      "hosts": ["pypi.example", "192.0.2.1", "10.1.0.0/16",
                {"host": "*.example.org", "ports": [443, "8000-8999"],
                 "inspect": true, "methods": ["GET", "HEAD", "PUT"],
                 "secrets": ["API_KEY"]},
                {"host": "plain.example", "ports": [80], "methods": ["GET"],
                 "secrets": ["A", "B"]}]})");
  EXPECT_THAT(
      words,
      AllOf(Contains("Programs may reach pypi.example on ports 80 and 443."),
            Contains("Programs may reach the address 192.0.2.1 on ports 80 and "
                     "443."),
            Contains("Programs may reach the addresses 10.1.0.0/16 on ports 80 "
                     "and 443."),
            Contains("Programs may reach all names below example.org on ports "
                     "443 and 8000 to 8999, with GET, HEAD and PUT requests "
                     "alone; the proxy looks into TLS; headers of requests may "
                     "have the secret API_KEY."),
            Contains("Programs may reach plain.example on port 80, with GET "
                     "requests alone; headers of requests may have the secrets "
                     "A and B."),
            Contains("Each jail may have 64 connections at once, 10000 in all "
                     "and 1 GiB in both directions together; a connection has "
                     "10 s to be made and 20 s for each head or TLS hello, and "
                     "ends after 60 s without a byte."),
            Not(Contains(HasSubstr("no network")))));
}

TEST(DescribeNetwork, ANetworkThatIsOffIsNamedSo) {
  EXPECT_THAT(Described(R"("none")"), Contains("Programs have no network."));
  EXPECT_THAT(DescribeNetwork(nullptr),
              ElementsAre("Programs have no network."));
}

TEST(DescribeNetwork, NamesAHostWithItsPorts) {
  const auto network = MustParse(
      R"({"hosts": ["*.example.org", {"host": "::1", "ports": ["1-9"]}]})");
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(HostAndPorts(network->hosts[0]), "*.example.org: ports 80 and 443");
  EXPECT_EQ(HostAndPorts(network->hosts[1]), "::1: ports 1 to 9");
}

TEST(ProfileNetwork, IsInTheCanonicalForm) {
  const auto canonical = [](const std::string& network) {
    const absl::StatusOr<Profile> profile = Parse(network);
    EXPECT_TRUE(profile.ok()) << profile.status();
    return profile.ok() ? profile->canonical : "";
  };
  EXPECT_EQ(canonical(R"({"hosts": ["a.example"]})"),
            canonical(R"({ "hosts" : ["a.example"] /* the same */ })"));
  EXPECT_NE(canonical(R"({"hosts": ["a.example"]})"),
            canonical(R"({"hosts": ["b.example"]})"));
  EXPECT_NE(canonical(R"({"hosts": ["a.example"]})"), canonical(R"("none")"));
}

}  // namespace
}  // namespace sandglass::policy
