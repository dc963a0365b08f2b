// What the daemon tells of its profiles.
#include "server/ops/server_info.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of a daemon with the default profile alone, which has these keys.
v1::ProfileInfo InfoOf(const std::string& keys) {
  auto profile = policy::ParseProfile(
      "default", absl::StrCat(R"({"description": "d")", keys, "}"));
  EXPECT_TRUE(profile.ok()) << profile.status();
  const PolicySet test = TestPolicy();
  auto set = PolicySet::Create(test.languages(), {*std::move(profile)});
  EXPECT_TRUE(set.ok()) << set.status();
  const LivePolicy live(*std::move(set));
  ScriptedRuns runs;
  const LanguageProbe languages(live, std::nullopt, runs);
  const Admission admission(AdmissionOptions{});
  const v1::GetServerInfoResponse info = MakeServerInfo(
      {.policy = &live, .languages = &languages, .admission = &admission});
  EXPECT_EQ(info.profiles_size(), 1);
  return info.profiles(0);
}

TEST(ServerInfo, AProfileWithoutNetworkSaysSo) {
  for (const char* keys : {"", R"(, "network": "none")"}) {
    const v1::ProfileInfo info = InfoOf(keys);
    EXPECT_EQ(info.network(), "none");
    EXPECT_THAT(info.network_hosts(), IsEmpty());
  }
}

TEST(ServerInfo, HostsComeWithTheirPorts) {
  const v1::ProfileInfo info = InfoOf(
      R"(, "network": {"hosts": ["*.Example.org",
           {"host": "10.0.0.0/8", "ports": [5432]},
           {"host": "a.example", "ports": [80, 443, "8000-8999"]}]})");
  EXPECT_EQ(info.network(), "allowlist");
  EXPECT_THAT(
      info.network_hosts(),
      ElementsAre("*.example.org: ports 80 and 443", "10.0.0.0/8: port 5432",
                  "a.example: ports 80, 443 and 8000 to 8999"));
}

}  // namespace
}  // namespace sandglass::server
