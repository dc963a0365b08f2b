// What the configuration says of the network, where secrets are, and what
// programs and answers are told.

#include "server/job/jail_network.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/network/network.h"
#include "server/daemon/config.h"
#include "server/live_policy/secret_files.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using sandglass::testing::TempDir;
using sandglass::testing::WriteFile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

absl::StatusOr<Config> LoadText(const std::string& text) {
  const TempDir directory;
  WriteFile(directory.Path("config.json"), text);
  return LoadConfig({.config_file = directory.Path("config.json")});
}

TEST(EgressConfig, TakesNameServersAndPlaces) {
  const absl::StatusOr<Config> config = LoadText(
      R"({"egress": {"path": "/x/egress", "secrets_dir": "/x/s",
          "ca_file": "/x/ca.pem",
          "resolvers": ["192.0.2.53", "192.0.2.53:5353", "2001:db8::53",
                        "[2001:db8::53]:53"]}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->egress.path, "/x/egress");
  EXPECT_EQ(config->egress.secrets_dir, "/x/s");
  EXPECT_EQ(config->egress.ca_file, "/x/ca.pem");
  EXPECT_THAT(config->egress.resolvers, SizeIs(4));
  EXPECT_THAT(ConfigToJson(*config), HasSubstr("[2001:db8::53]:53"));
}

TEST(EgressConfig, NamesThePlaceOfWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"path": ""})", "/egress/path"},
      {R"({"path": "egress"})", "/egress/path"},
      {R"({"secrets_dir": "s"})", "/egress/secrets_dir"},
      {R"({"ca_file": "./ca.pem"})", "/egress/ca_file"},
      {R"({"resolvers": ["192.0.2.53", "dns.example"]})",
       "/egress/resolvers/1"},
      {R"({"resolvers": ["192.0.2.53:0"]})", "/egress/resolvers/0"},
      {R"({"resolvers": ["192.0.2.53:65536"]})", "/egress/resolvers/0"},
      {R"({"resolvers": ["192.0.2.53:"]})", "/egress/resolvers/0"},
      {R"({"resolvers": ["[192.0.2.53]:53"]})", "/egress/resolvers/0"},
      {R"({"resolvers": ["[]:53"]})", "/egress/resolvers/0"},
      {R"({"resolvers": [""]})", "/egress/resolvers/0"},
      {R"({"resolvers": ["192.0.2.53,192.0.2.54"]})", "/egress/resolvers/0"},
      {R"({"resolver": []})", "/egress"},
      {R"([])", "/egress"}};
  for (const auto& [egress, pointer] : wrong) {
    const absl::StatusOr<Config> config =
        LoadText(std::string(R"({"egress": )") + egress + "}");
    ASSERT_FALSE(config.ok()) << egress;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(pointer))
        << egress;
  }
}

class SecretFiles : public ::testing::Test {
 protected:
  SecretFiles() {
    fs::permissions(directory_.path(), fs::perms::owner_all);
    Make("API_KEY", "value\n");
  }
  void Make(const std::string& name, const std::string& text,
            mode_t mode = 0600) const {
    WriteFile(directory_.Path(name), text);
    EXPECT_EQ(::chmod(directory_.Path(name).c_str(), mode), 0);
  }
  std::string Error() const {
    const auto secrets = OpenSecrets(directory_.path());
    EXPECT_FALSE(secrets.ok());
    EXPECT_TRUE(absl::IsInvalidArgument(secrets.status()));
    return std::string(secrets.status().message());
  }

  TempDir directory_;
};

TEST_F(SecretFiles, AreOpenedByTheirNames) {
  Make("OTHER_2", "x", 0400);
  Make("README", "", 0400);
  fs::remove(directory_.Path("README"));
  Make("not-a-secret", "x", 0666);
  Make("2ND", "x", 0666);
  const auto secrets = OpenSecrets(directory_.path());
  ASSERT_TRUE(secrets.ok()) << secrets.status();
  EXPECT_THAT(*secrets, AllOf(SizeIs(2), Contains(::testing::Key("API_KEY")),
                              Contains(::testing::Key("OTHER_2"))));
  char text[16] = {};
  EXPECT_EQ(::pread(secrets->at("API_KEY").get(), text, sizeof(text), 0), 6);
  EXPECT_STREQ(text, "value\n");
}

TEST_F(SecretFiles, WithoutADirectoryThereAreNone) {
  const auto secrets = OpenSecrets("");
  ASSERT_TRUE(secrets.ok());
  EXPECT_THAT(*secrets, IsEmpty());
  EXPECT_FALSE(OpenSecrets("/nonexistent").ok());
  EXPECT_FALSE(OpenSecrets(directory_.Path("API_KEY")).ok());
}

TEST_F(SecretFiles, HaveToBeOpenToNobodyElse) {
  for (const mode_t mode : {0640u, 0604u, 0610u, 0602u}) {
    Make("API_KEY", "value", mode);
    EXPECT_THAT(Error(), AllOf(HasSubstr("API_KEY"), HasSubstr("chmod"),
                               Not(HasSubstr("value"))));
  }
  Make("API_KEY", "value");
  EXPECT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  EXPECT_THAT(Error(), HasSubstr(directory_.path()));
}

TEST_F(SecretFiles, HaveToBelongToTheOperator) {
  ASSERT_EQ(::geteuid(), 0u) << "needs root";
  ASSERT_EQ(::chown(directory_.Path("API_KEY").c_str(), 1234, 1234), 0);
  EXPECT_THAT(Error(), HasSubstr("root"));
}

TEST_F(SecretFiles, AreFilesOfOneLine) {
  const std::string path = directory_.Path("API_KEY");
  Make("API_KEY", "");
  EXPECT_THAT(Error(), HasSubstr("0 bytes"));
  Make("API_KEY", std::string(9000, 'x'));
  EXPECT_THAT(Error(), HasSubstr("9000 bytes"));
  fs::remove(path);
  fs::create_symlink("/etc/hostname", path);
  EXPECT_THAT(Error(), HasSubstr("API_KEY"));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(Error(), HasSubstr("regular"));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THAT(Error(), HasSubstr("regular"));
}

policy::Profile WithHost(bool inspect) {
  policy::Profile profile;
  auto network = std::make_shared<policy::NetworkPolicy>();
  network->hosts.push_back({.host = *policy::HostPattern::Parse("a.example")});
  network->hosts.back().inspect = inspect;
  profile.network = std::move(network);
  return profile;
}

std::map<std::string, std::string> Variables(const policy::Profile& profile) {
  const policy::StringPairs pairs = NetworkEnvironment(profile);
  return {pairs.begin(), pairs.end()};
}

TEST(NetworkEnvironment, TellsOfTheProxyWhereThereIsOne) {
  const auto plain = Variables(WithHost(false));
  EXPECT_THAT(plain, Contains(Pair("http_proxy", "http://127.0.0.1:3128")));
  EXPECT_THAT(plain, Contains(Pair("HTTPS_PROXY", "http://127.0.0.1:3128")));
  EXPECT_THAT(plain, Contains(Pair("no_proxy", HasSubstr("localhost"))));
  EXPECT_THAT(plain, Not(Contains(::testing::Key("SSL_CERT_FILE"))));
  const auto looked = Variables(WithHost(true));
  EXPECT_THAT(looked,
              Contains(Pair("SSL_CERT_FILE", "/etc/sandglass/trusted.pem")));
  EXPECT_THAT(looked, Contains(Pair("NODE_EXTRA_CA_CERTS",
                                    "/etc/sandglass/authority.pem")));
}

TEST(NetworkEnvironment, HasToolsFailAtOnceWhereThereIsNone) {
  const auto without = Variables(policy::Profile());
  EXPECT_THAT(without, Contains(Pair("npm_config_fetch_retries", "0")));
  EXPECT_THAT(without, Contains(Pair("PIP_RETRIES", "0")));
  EXPECT_THAT(without, Not(Contains(::testing::Key("http_proxy"))));
  EXPECT_THAT(Variables(WithHost(false)),
              Not(Contains(::testing::Key("PIP_RETRIES"))));
}

TEST(JvmNetwork, IsTheSameInProperties) {
  EXPECT_THAT(JvmNetwork(policy::Profile()), IsEmpty());
  EXPECT_THAT(
      JvmNetwork(WithHost(false)),
      ElementsAre("-Dhttp.proxyHost=127.0.0.1", "-Dhttp.proxyPort=3128",
                  "-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=3128"));
  EXPECT_THAT(
      JvmNetwork(WithHost(true)),
      Contains("-Djavax.net.ssl.trustStore=/etc/sandglass/trusted.jks"));
  EXPECT_THAT(Variables(WithHost(true)),
              Contains(Pair("MAVEN_OPTS", HasSubstr("trusted.jks"))));
}

TEST(FillNetwork, MakesWhatAProgramChosePrintable) {
  v1::NetworkUse proto;
  FillNetwork({.connections = 3,
               .refused = 2,
               .bytes_up = 10,
               .bytes_down = 20,
               .refusals = {{"a.example:80", "not in the list", 1},
                            {"\xff\x1b[31m:80", "a\nb", 1}}},
              proto);
  EXPECT_EQ(proto.connections(), 3u);
  EXPECT_EQ(proto.refused(), 2u);
  EXPECT_EQ(proto.sent_bytes(), 10u);
  EXPECT_EQ(proto.received_bytes(), 20u);
  ASSERT_EQ(proto.refusals_size(), 2);
  EXPECT_EQ(proto.refusals(0).target(), "a.example:80");
  EXPECT_EQ(proto.refusals(1).target().find('\x1b'), std::string::npos);
  EXPECT_EQ(proto.refusals(1).reason().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace sandglass::server
