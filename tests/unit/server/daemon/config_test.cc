#include "server/daemon/config.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/base/listen_address.h"
#include "server/base/memory_budget.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<Config> Load(const std::string& text) {
    const std::string path = dir_.path() + "/config.json";
    std::ofstream(path) << text;
    return LoadConfig({.config_file = path});
  }
  std::string Error(const std::string& text) {
    const auto config = Load(text);
    EXPECT_FALSE(config.ok()) << text;
    return std::string(config.status().message());
  }
  TempDir dir_;
};

TEST(DefaultSpawners, AreOneForFourProcessors) {
  for (const auto& [processors, spawners] : {std::pair(0u, 1u),
                                             {1u, 1u},
                                             {7u, 1u},
                                             {8u, 2u},
                                             {16u, 4u},
                                             {64u, 8u}}) {
    EXPECT_EQ(DefaultSpawners(processors), spawners) << processors;
  }
}

TEST_F(ConfigTest, WorksWithoutAFile) {
  const auto config = LoadConfig({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.ToString(), "unix:/run/sandglass/sandglass.sock");
  EXPECT_GE(config->admission.max_running, 4u);
  EXPECT_GT(config->admission.memory_budget_bytes, 0u);
  EXPECT_EQ(config->policy_dir, SANDGLASS_SOURCE_DIR "/policy/data");
}

TEST_F(ConfigTest, FlagsWinOverTheFile) {
  const std::string path = dir_.path() + "/config.json";
  std::ofstream(path) << R"({"listen": "127.0.0.1:1", "state_dir": "/a",
                             "excuse_missing": ["x"]})";
  const auto config = LoadConfig({.config_file = path,
                                  .listen = {"[::1]:2"},
                                  .state_dir = "/b/../c",
                                  .excuse_missing = {"y"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.tcp_address, "[::1]:2");
  EXPECT_EQ(config->state_dir, "/c");
  EXPECT_THAT(config->excuse_missing, ElementsAre("x", "y"));
}

TEST_F(ConfigTest, TheSocketFollowsTheStateDirectory) {
  const auto config = LoadConfig({.state_dir = "/tmp/x"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.unix_path, "/tmp/x/sandglass.sock");
}

TEST_F(ConfigTest, NamesFileAndPointerOfEachProblem) {
  EXPECT_THAT(Error(R"({"admision": {}})"),
              AllOf(HasSubstr("config.json"), HasSubstr("/admision")));
  EXPECT_THAT(Error(R"({"admission": {"max_runing": 1}})"),
              HasSubstr("/admission/max_runing"));
  EXPECT_THAT(Error(R"({"pool": {"spawners": 9}})"),
              HasSubstr("/pool/spawners"));
  EXPECT_THAT(Error(R"({"admission": {"max_running": 0}})"),
              HasSubstr("/admission/max_running"));
  EXPECT_THAT(Error(R"({"listen": "localhost:80"})"),
              AllOf(HasSubstr("/listen"), HasSubstr("no numeric IP address")));
  EXPECT_THAT(Error(R"({"socket": {"mode": "666"}})"),
              HasSubstr("/socket/mode"));
  EXPECT_THAT(Error(R"({"socket": {"mode": "4777"}})"),
              HasSubstr("/socket/mode"));
  EXPECT_THAT(Error(R"({"log": {"level": "loud"}})"), HasSubstr("/log/level"));
  EXPECT_THAT(Error(R"({"drain_timeout": "soon"})"),
              HasSubstr("/drain_timeout"));
  EXPECT_THAT(Error(R"({"max_message_bytes": "1GiB"})"),
              HasSubstr("/max_message_bytes"));
  EXPECT_THAT(Error(R"({"state_dir": "relative"})"), HasSubstr("/state_dir"));
  EXPECT_THAT(Error(R"({"uid_base": 0})"), HasSubstr("/uid_base"));
  EXPECT_THAT(Error("{"), HasSubstr("config.json"));
  EXPECT_FALSE(LoadConfig({.config_file = dir_.path() + "/none"}).ok());
}

TEST_F(ConfigTest, LibrariesAreBelowTheCacheOfTheCommandLine) {
  const auto config = LoadConfig({.cache_dir = "/srv/cache"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->libraries.dir, "/srv/cache/libraries");
}

TEST_F(ConfigTest, TheShippedSampleIsTheDefaultsAndHasEveryKey) {
  const std::string path = SANDGLASS_SOURCE_DIR "/deploy/sandglassd.json";
  const auto sample = LoadConfig({.config_file = path});
  ASSERT_TRUE(sample.ok()) << sample.status();
  const auto defaults = LoadConfig({});
  ASSERT_TRUE(defaults.ok());
  nlohmann::json ours = nlohmann::json::parse(ConfigToJson(*sample));
  nlohmann::json theirs = nlohmann::json::parse(ConfigToJson(*defaults));
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const nlohmann::json flat = theirs.flatten();
  for (const auto& [key, value] : flat.items()) {
    EXPECT_THAT(text.str(),
                HasSubstr("\"" + key.substr(key.rfind('/') + 1) + "\":"));
  }
  // Depends on what is free at that moment.
  for (const char* key : {"memory_budget", "memory_reserve"}) {
    ours["admission"].erase(key);
    theirs["admission"].erase(key);
  }
  EXPECT_EQ(ours, theirs);
}

TEST_F(ConfigTest, WhereOthersCanConnectThereIsTlsAndProof) {
  // What is missing is said.
  EXPECT_THAT(Error(R"({"listen": "0.0.0.0:8443"})"),
              AllOf(HasSubstr("tls:0.0.0.0:8443 without a certificate"),
                    HasSubstr("sandglass cert")));
  const std::string tls =
      R"("tls": {"certificate": "/c", "key": "/k", "client_ca": "/ca"})";
  EXPECT_THAT(Error(absl::StrCat(R"({"listen": "[::]:8443", )", tls, "}")),
              AllOf(HasSubstr("without a way to tell callers apart"),
                    HasSubstr("tokens_dir"), HasSubstr("client_ca")));
  for (const char* identity :
       {R"({"tokens_dir": "/t"})", R"({"certificates": [{"name": "x"}]})"}) {
    const auto config = Load(absl::StrCat(
        R"({"listen": ["0.0.0.0:8443", "tls:[::1]:1", "[::]:8443"], )", tls,
        R"(, "identity": )", identity, "}"));
    ASSERT_TRUE(config.ok()) << config.status();
    // The socket for this machine stays.
    EXPECT_EQ(config->listen.ToString(), "unix:/run/sandglass/sandglass.sock");
    ASSERT_EQ(config->listen_tls.size(), 3u);
    EXPECT_EQ(config->listen_tls[1].ToString(), "tls:[::1]:1");
  }
  EXPECT_THAT(Error(R"({"listen": ["unix:/a", "127.0.0.1:1"]})"),
              HasSubstr("one place may be without TLS"));
  EXPECT_THAT(Error(R"({"tls": {"certificate": "/c"}})"),
              HasSubstr("belong together"));
  EXPECT_THAT(Error(R"({"tls": {"client_certificates": "always"}})"),
              HasSubstr("neither optional nor required"));
  EXPECT_THAT(Error(R"({"tls": {"client_certificates": "required"}})"),
              HasSubstr("/tls/client_ca"));
}

TEST_F(ConfigTest, ANodeOfGatewaysHasAName) {
  EXPECT_THAT(Error(R"({"identity": {"gateways": ["x"]}})"),
              HasSubstr("/node_name"));
  EXPECT_THAT(Error(R"({"node_name": "Node 1"})"), HasSubstr("/node_name"));
  EXPECT_THAT(Error(R"({"node_name": "a", "identity": {"gateways": ["*x"]}})"),
              HasSubstr("/identity/gateways"));
  const auto config = Load(
      R"({"node_name": "a-1", "identity": {"gateways": ["x/*"]},
          "listen": "tls:127.0.0.1:0",
          "tls": {"certificate": "/c", "key": "/k", "client_ca": "/ca"}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->node_name, "a-1");
}

TEST_F(ConfigTest, BeyondEachBoundIsAReserveForOthers) {
  const auto defaults = LoadConfig({});
  ASSERT_TRUE(defaults.ok());
  const AdmissionOptions& admission = defaults->admission;
  EXPECT_EQ(admission.reserve, std::max(2u, admission.max_running / 2));
  EXPECT_EQ(admission.queued_reserve, 64u);
  EXPECT_EQ(defaults->sessions.reserve, 16u);
  // As much as without a reserve, in all.
  EXPECT_LE(admission.memory_budget_bytes + admission.memory_reserve_bytes,
            DefaultMemoryBudget() / 10 * 11);
  EXPECT_NEAR(static_cast<double>(admission.memory_reserve_bytes),
              static_cast<double>(admission.memory_budget_bytes) / 8, 16);

  const auto set = Load(R"({"admission": {"max_running": 100,
    "memory_budget": "8GiB"}, "sessions": {"max": 200}})");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->admission.reserve, 50u);
  EXPECT_EQ(set->admission.max_running_with_reserve(), 150u);
  EXPECT_EQ(set->admission.memory_reserve_bytes, uint64_t{1} << 30);
  EXPECT_EQ(set->sessions.reserve, 50u);

  const auto none = Load(R"({"admission": {"reserve": 0,
    "memory_reserve": 0}, "sessions": {"max": 0}})");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->admission.max_running_with_reserve(),
            none->admission.max_running);
  EXPECT_EQ(none->admission.memory_reserve_bytes, 0u);
  EXPECT_EQ(none->sessions.max(), 0u);
  EXPECT_THAT(Error(R"({"admission": {"reserve": 1001}})"),
              HasSubstr("/admission/reserve"));
}

TEST_F(ConfigTest, WhatCheckPrintsIsAConfigFile) {
  const auto defaults = LoadConfig({.listen = {"127.0.0.1:7000"}});
  ASSERT_TRUE(defaults.ok());
  const auto again = Load(ConfigToJson(*defaults));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ConfigToJson(*again), ConfigToJson(*defaults));
  const auto bounded = Load(R"({"sessions": {"memory": "8GiB"}})");
  ASSERT_TRUE(bounded.ok()) << bounded.status();
  const auto same = Load(ConfigToJson(*bounded));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->sessions.memory_bytes, uint64_t{8} << 30);
}

TEST_F(ConfigTest, ImagesHaveANameAndAPlace) {
  const auto config =
      Load(R"({"images": {"tiny": "/srv/tiny/", "slim-2": "/srv/slim"}})");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->images.size(), 2u);
  EXPECT_EQ(config->images[0].name, "slim-2");
  EXPECT_EQ(config->images[0].root, "/srv/slim");
  EXPECT_EQ(config->images[1].root, "/srv/tiny");
  EXPECT_THAT(Error(R"({"images": {"tiny": "srv"}})"),
              HasSubstr("/images/tiny: "));
  for (const char* name : {"host", "default", "../x", "Tiny", ""}) {
    EXPECT_THAT(Error(absl::StrCat(R"({"images": {")", name, R"(": "/srv"}})")),
                HasSubstr("expected an image's name"));
  }
}

TEST_F(ConfigTest, PartsOfTheHostsEtcAreNamedBelowIt) {
  const auto config = Load(R"({"host_etc": ["R", "php/8.2"]})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->host_etc, ElementsAre("R", "php/8.2"));
  for (const char* name : {"", "/etc/R", "../root", "a/../../x", ".", "R/"}) {
    EXPECT_THAT(Error(absl::StrCat(R"({"host_etc": [")", name, R"("]})")),
                HasSubstr("/host_etc/0: "))
        << name;
  }
}

TEST_F(ConfigTest, TheCompileCacheHasBounds) {
  const auto config = Load(
      R"({"compile_cache": {"max_bytes": "1GiB", "max_memory_bytes": 0}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->compile_cache.max_bytes, uint64_t{1} << 30);
  EXPECT_EQ(config->compile_cache.max_memory_bytes, 0u);
  EXPECT_EQ(
      Load(R"({"compile_cache": {"max_bytes": 0}})")->compile_cache.max_bytes,
      0u);
  for (const char* bad : {R"({"compile_cache": {"max_bytes": "2TiB"}})",
                          R"({"compile_cache": {"max_bytes": -1}})",
                          R"({"compile_cache": {"max_byte": 1}})",
                          R"({"compile_cache": true})"}) {
    EXPECT_FALSE(Load(bad).ok()) << bad;
  }
}

TEST_F(ConfigTest, TheAuditLogIsOffUntilItHasADirectory) {
  EXPECT_EQ(Load("{}")->audit.dir, "");
  const auto config = Load(R"({"audit": {"dir": "/var/log/x",
      "fsync": "always", "fsync_interval": "50ms", "max_file_bytes": "1MiB",
      "max_files": 3, "code": true, "on_failure": "continue"}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->audit.dir, "/var/log/x");
  EXPECT_EQ(config->audit.log.fsync, AuditFsync::kAlways);
  EXPECT_EQ(config->audit.log.fsync_interval, absl::Milliseconds(50));
  EXPECT_EQ(config->audit.log.max_file_bytes, uint64_t{1} << 20);
  EXPECT_EQ(config->audit.log.max_files, 3u);
  EXPECT_TRUE(config->audit.trail.code);
  EXPECT_EQ(config->audit.trail.on_failure, AuditFailure::kContinue);
  for (const char* bad :
       {R"({"audit": {"dir": "relative"}})", R"({"audit": {"dir": 1}})",
        R"({"audit": {"fsync": "sometimes"}})",
        R"({"audit": {"fsync_interval": "0s"}})",
        R"({"audit": {"max_file_bytes": 1}})",
        R"({"audit": {"max_files": -1}})", R"({"audit": {"code": "yes"}})",
        R"({"audit": {"on_failure": ""}})", R"({"audit": {"path": "/x"}})",
        R"({"audit": "/x"})"}) {
    EXPECT_THAT(Error(bad), HasSubstr("/audit")) << bad;
  }
}

TEST(ListenAddress, TakesUnixPathsAndAddressesWithTlsWhereOthersConnect) {
  for (const char* good :
       {"unix:/run/x.sock", "127.0.0.1:80", "127.9.9.9:0", "[::1]:65535"}) {
    const auto address = ParseListenAddress(good);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), good);
    EXPECT_FALSE(address->tls);
  }
  for (const std::string good :
       {"0.0.0.0:80", "[::]:80", "10.0.0.1:80", "[2001:db8::1]:0"}) {
    const auto address = ParseListenAddress(good);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), "tls:" + good);
    EXPECT_EQ(ParseListenAddress("tls:" + good)->ToString(), "tls:" + good);
  }
  EXPECT_TRUE(ParseListenAddress("tls:127.0.0.1:1")->tls);
  for (const std::string& bad :
       {std::string(), std::string("unix:relative"), std::string("unix:"),
        "unix:/" + std::string(200, 'x'), std::string("127.0.0.1"),
        std::string("127.0.0.1:"), std::string("127.0.0.1:65536"),
        std::string("127.0.0.1:-1"), std::string("[::]80"),
        std::string("localhost:80"), std::string("tls:host:80"),
        std::string("tls:unix:/a"), std::string("1270.0.1:80"),
        std::string("::1:80"), std::string("unix:/a\0b", 9)}) {
    EXPECT_FALSE(ParseListenAddress(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace sandglass::server
