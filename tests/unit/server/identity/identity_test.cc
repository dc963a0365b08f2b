#include "server/identity/identity.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/text/json_reader.h"
#include "server/identity/identity_config.h"
#include "server/identity/local_accounts.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

TEST(Identity, NoTwoCallersHaveTheSameName) {
  EXPECT_EQ(NameOf("local", "uid:1000"), "uid:1000");
  EXPECT_EQ(NameOf("team-a", "ci"), "team-a/ci");
  EXPECT_EQ(TenantOf("uid:1000"), "local");
  EXPECT_EQ(TenantOf("team-a/ci"), "team-a");
  EXPECT_EQ(TenantOf("team-a/spiffe://x/y"), "team-a");
  EXPECT_EQ(TenantOf("spiffe://x/y"), "local");
  // Otherwise it would be called as somebody of another tenant.
  EXPECT_FALSE(IsPrincipalName("local", "team-a/ci"));
  EXPECT_TRUE(IsPrincipalName("local", "spiffe://x/y"));
  EXPECT_TRUE(IsPrincipalName("team-a", "a/b"));
}

TEST(Identity, NamesAreBoundedAndPlain) {
  for (const std::string bad :
       {"", "-a", "A", "a/b", "a b", "ä", "a\n", "a.b"}) {
    EXPECT_FALSE(IsTenantName(bad)) << bad;
  }
  EXPECT_TRUE(IsTenantName(std::string(63, 'a')));
  EXPECT_FALSE(IsTenantName(std::string(64, 'a')));
  for (const std::string bad : {"", "-a", "/a", "a b", "ä", "a\n", "a\"b"}) {
    EXPECT_FALSE(IsPrincipalName("t", bad)) << bad;
  }
  EXPECT_TRUE(IsPrincipalName("t", std::string(128, 'a')));
  EXPECT_FALSE(IsPrincipalName("t", std::string(129, 'a')));
}

TEST(Identity, CallersSeeTheirOwnAndWhatTheirTenantShares) {
  Identity ci{.name = "team-a/ci", .tenant = "team-a"};
  EXPECT_TRUE(ci.Sees("team-a/ci"));
  EXPECT_FALSE(ci.Sees("team-a/dev"));
  EXPECT_FALSE(ci.Sees("team-b/ci"));
  ci.shares_tenant = true;
  EXPECT_TRUE(ci.Sees("team-a/dev"));
  EXPECT_FALSE(ci.Sees("team-b/ci"));
  EXPECT_FALSE(ci.Sees("uid:0"));
  ci.scopes.Add(Scope::kOperate);
  EXPECT_TRUE(ci.Sees("team-b/ci"));
}

TEST(Identity, RootMayDoEverythingAndOthersWhatIsUsual) {
  EXPECT_EQ(LocalIdentity(0, 0).scopes, Scopes::All());
  EXPECT_EQ(LocalIdentity(1000, 1000).scopes, Scopes::Usual());
  EXPECT_FALSE(LocalIdentity(1000, 1000).SeesAll());
  EXPECT_EQ(OwnerNamed("team-a/ci").tenant, "team-a");
  EXPECT_TRUE(OwnerNamed("uid:0").scopes.empty());
}

IdentityConfig ReadConfig(const std::string& text,
                          std::string* error = nullptr) {
  auto document = policy::JsonDocument::Parse(text, "config");
  EXPECT_TRUE(document.ok()) << document.status();
  policy::JsonObject root = document->root();
  IdentityConfig config;
  ReadIdentityConfig(root, config);
  const absl::Status read = document->Finish();
  if (error != nullptr) {
    *error = std::string(read.message());
  } else {
    EXPECT_TRUE(read.ok()) << read;
  }
  return config;
}

TEST(IdentityConfig, AUsersRuleComesBeforeItsGroups) {
  const LocalAccounts accounts = ReadConfig(R"({"identity": {"accounts": [
    {"group": "2000", "tenant": "team-a"},
    {"user": "1000", "tenant": "team-b", "scopes": ["run"]}]}})")
                                     .accounts;
  const Identity user = accounts.IdentityOf(1000, 2000);
  EXPECT_EQ(user.name, "team-b/uid:1000");
  EXPECT_EQ(user.tenant, "team-b");
  EXPECT_EQ(user.principal(), "uid:1000");
  EXPECT_EQ(user.scopes, Scopes{Scope::kRun});
  const Identity member = accounts.IdentityOf(1001, 2000);
  EXPECT_EQ(member.name, "team-a/uid:1001");
  EXPECT_EQ(member.scopes, Scopes::Usual());
  EXPECT_EQ(accounts.IdentityOf(1001, 1001).name, "uid:1001");
}

TEST(IdentityConfig, ACertificatesNameFitsTheFirstRule) {
  const IdentityConfig config = ReadConfig(R"({"identity": {"certificates": [
    {"name": "spiffe://x/team-a/*", "tenant": "team-a"},
    {"name": "ci.example.org", "scopes": ["run", "operate"]},
    {"name": "spiffe://*", "tenant": "others"}]}})");
  const auto known = IdentityOfCertificate(config, "spiffe://x/team-a/ci");
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->name, "team-a/spiffe://x/team-a/ci");
  EXPECT_EQ(known->proof, Proof::kCertificate);
  EXPECT_EQ(IdentityOfCertificate(config, "spiffe://y")->tenant, "others");
  EXPECT_TRUE(IdentityOfCertificate(config, "ci.example.org")->SeesAll());
  EXPECT_FALSE(IdentityOfCertificate(config, "ci.example.org.evil"));
  EXPECT_FALSE(IdentityOfCertificate(config, ""));
  // No name that a log or an id could be confused by.
  EXPECT_FALSE(IdentityOfCertificate(config, "spiffe://a b"));
}

TEST(IdentityConfig, SaysWhatIsWrong) {
  std::string error;
  ReadConfig(R"({"identity": {"tokens_dir": "tokens", "accounts": [
    {"user": "1", "group": "1"}, {"tenant": "a"},
    {"user": "1", "tenant": "A", "scopes": ["all"]},
    {"user": "no-such-account-here"}],
    "certificates": [{"name": "a*b"}]}})",
             &error);
  for (const char* part :
       {"tokens_dir", "absolute path", "either a \"user\" or a \"group\"",
        "\"A\"", "\"all\" is none of run, sessions", "no-such-account-here",
        "at most with a * at its end"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
}

}  // namespace
}  // namespace sandglass::server
