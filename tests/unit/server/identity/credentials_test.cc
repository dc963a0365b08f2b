#include "server/identity/credentials.h"

#include <fcntl.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/identity/refusal_limit.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::sandglass::testing::TempDir;
using ::testing::ElementsAre;
using Code = absl::StatusCode;

class Records : public IdentityRecorder {
 public:
  void RecordRefusal(Refusal refusal, const Identity& identity) override {
    refusals.push_back(absl::StrCat(NameOf(refusal), " ", identity.name));
  }
  absl::Status RecordToken(const char* event, const Token& token,
                           const Identity& by) override {
    tokens.push_back(absl::StrCat(event, " ", token.tenant, " by ", by.name));
    return answer;
  }
  std::vector<std::string> refusals;
  std::vector<std::string> tokens;
  absl::Status answer;
};

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    remote_.address = "192.0.2.7";
    Token token;
    token.tenant = "team-a";
    token.principal = "ci";
    token.scopes = {Scope::kRun};
    token.read_only = true;
    value_ = *credentials_.CreateToken(root_, token);
    id_ = token.id;
  }
  absl::StatusOr<Identity> Try(const Identity& connection,
                               const std::vector<absl::string_view>& values) {
    return credentials_.Authenticate(connection, values);
  }
  std::string Bearer() const { return absl::StrCat("Bearer ", value_); }

  TempDir dir_;
  Records records_;
  Credentials credentials_{
      *TokenStore::Open(os::Fd(::open(dir_.path().c_str(),
                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                        dir_.path()),
      &records_};
  const Identity root_ = LocalIdentity(0, 0);
  Identity remote_{.name = "tcp:192.0.2.7"};  // over TLS, without proof
  std::string value_;
  std::string id_;
};

TEST_F(CredentialsTest, WhatTheCallBringsCountsBeforeTheConnection) {
  EXPECT_EQ(Try(root_, {})->name, "uid:0");
  EXPECT_EQ(Try(root_, {Bearer()})->name, "team-a/ci");
  const absl::StatusOr<Identity> remote = Try(remote_, {Bearer()});
  ASSERT_TRUE(remote.ok()) << remote.status();
  EXPECT_EQ(remote->name, "team-a/ci");
  EXPECT_EQ(remote->address, "192.0.2.7");
  EXPECT_EQ(Try(remote_, {absl::StrCat("bearer ", value_)})->name, "team-a/ci");
}

TEST_F(CredentialsTest, KnowsWhetherWhatACallBeganWithStillHolds) {
  const Identity caller = *Try(remote_, {Bearer()});
  EXPECT_TRUE(credentials_.Holds(caller));
  EXPECT_TRUE(credentials_.Holds(root_));
  ASSERT_TRUE(credentials_.RevokeToken(root_, id_).ok());
  EXPECT_FALSE(credentials_.Holds(caller));
  // A JWT holds for as long as new calls may come with it: clocks differ.
  Identity by_jwt = remote_;
  by_jwt.proof = Proof::kJwt;
  by_jwt.expires = absl::Now() - absl::Seconds(10);
  EXPECT_TRUE(credentials_.Holds(by_jwt));
  by_jwt.expires = absl::Now() - absl::Minutes(1);
  EXPECT_FALSE(credentials_.Holds(by_jwt));
}

TEST_F(CredentialsTest, SaysTheSameOfAllThatIsWrong) {
  const std::string other = absl::StrCat("Bearer sg_", std::string(12, 'a'),
                                         "_", std::string(64, 'b'));
  const absl::Status wrong = Try(remote_, {other}).status();
  EXPECT_EQ(wrong.code(), Code::kUnauthenticated);
  const std::string bearer = Bearer();
  for (const std::string& bad :
       {std::string(), std::string("Bearer"), std::string("Bearer "), value_,
        absl::StrCat("Basic ", value_), absl::StrCat(bearer, " "),
        absl::StrCat(bearer, std::string("\0", 1)), absl::StrCat(bearer, "ä"),
        bearer.substr(0, bearer.size() - 1),
        absl::StrCat("Bearer ", std::string(1 << 20, 'x'))}) {
    EXPECT_EQ(Try(root_, {bad}).status(), wrong);
  }
  EXPECT_EQ(Try(root_, {bearer, bearer}).status(), wrong);
}

TEST_F(CredentialsTest, NothingThatCameInPlainTextIsRight) {
  Identity plain{.name = "tcp:127.0.0.1"};
  plain.proof = Proof::kLoopback;
  EXPECT_TRUE(Try(plain, {}).ok());
  EXPECT_EQ(Try(plain, {Bearer()}).status().code(), Code::kUnauthenticated);
  EXPECT_THAT(records_.refusals, ElementsAre("plain-text tcp:127.0.0.1"));
}

TEST_F(CredentialsTest, AConnectionWithoutProofNeedsCredentials) {
  EXPECT_EQ(Try(remote_, {}).status().code(), Code::kUnauthenticated);
  EXPECT_THAT(records_.refusals, ElementsAre("no-credentials tcp:192.0.2.7"));
  EXPECT_EQ(credentials_.refusals(Refusal::kNoCredentials), 1u);
}

TEST_F(CredentialsTest, ACertificateThatEndedMeanwhileProvesNothing) {
  Identity certified{.name = "team-a/x"};
  certified.proof = Proof::kCertificate;
  certified.expires = absl::Now() + absl::Hours(1);
  EXPECT_TRUE(Try(certified, {}).ok());
  certified.expires = absl::Now() - absl::Seconds(1);
  EXPECT_EQ(Try(certified, {}).status().code(), Code::kUnauthenticated);
  EXPECT_TRUE(Try(certified, {Bearer()}).ok());
}

TEST_F(CredentialsTest, GuessingIsSlowedForTheAddressAlone) {
  EXPECT_TRUE(Try(remote_, {Bearer()}).ok());
  Token late;
  late.tenant = "team-a";
  late.principal = "late";
  const std::string late_bearer =
      absl::StrCat("Bearer ", *credentials_.CreateToken(root_, late));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Try(remote_, {absl::StrCat("Bearer guess", i)}).status().code(),
              Code::kUnauthenticated);
  }
  EXPECT_EQ(Try(remote_, {"Bearer guess"}).status().code(),
            Code::kResourceExhausted);
  // Whoever used good ones before isn't shut out by it; another address isn't
  // either.
  EXPECT_TRUE(Try(remote_, {Bearer()}).ok());
  EXPECT_EQ(Try(remote_, {late_bearer}).status().code(),
            Code::kResourceExhausted);
  Identity elsewhere = remote_;
  elsewhere.address = "192.0.2.8";
  EXPECT_TRUE(Try(elsewhere, {late_bearer}).ok());
}

TEST_F(CredentialsTest, ScopesAndReadOnlyAreLookedAt) {
  const Identity ci = *Try(remote_, {Bearer()});
  EXPECT_TRUE(credentials_.Authorise(ci, kForEverybody).ok());
  EXPECT_TRUE(credentials_.Authorise(ci, Reads(Scope::kRun)).ok());
  EXPECT_EQ(credentials_.Authorise(ci, Reads(Scope::kFiles)).code(),
            Code::kPermissionDenied);
  EXPECT_EQ(credentials_.Authorise(ci, Changes(Scope::kRun)).code(),
            Code::kPermissionDenied);
  EXPECT_THAT(records_.refusals,
              ElementsAre("missing-scope team-a/ci", "read-only team-a/ci"));
}

TEST_F(CredentialsTest, ATokenThatIsNotOnRecordDoesNotExist) {
  EXPECT_THAT(records_.tokens, ElementsAre("token_created team-a by uid:0"));
  records_.answer = absl::UnavailableError("disk full");
  Token token;
  token.tenant = "team-b";
  token.principal = "x";
  EXPECT_FALSE(credentials_.CreateToken(root_, token).ok());
  EXPECT_EQ(credentials_.ListTokens()->size(), 1u);
  // Whatever becomes of the record, it is out of force.
  EXPECT_FALSE(credentials_.RevokeToken(root_, id_).ok());
  EXPECT_FALSE(Try(remote_, {Bearer()}).ok());
}

TEST(RefusalLimit, TimeMakesUpForRefusals) {
  RefusalLimit limit;
  const MonotonicTime now = Now();
  for (int i = 0; i < 30; ++i) limit.Count("a", now);
  EXPECT_EQ(limit.Wait("a", now), absl::Seconds(11));
  EXPECT_EQ(limit.Wait("b", now), absl::ZeroDuration());
  EXPECT_EQ(limit.Wait("a", now + std::chrono::seconds(11)),
            absl::ZeroDuration());
}

TEST(RefusalLimit, KeepsNoMoreThanItsBound) {
  RefusalLimit limit;
  const MonotonicTime now = Now();
  for (int i = 0; i < 25; ++i) limit.Count("first", now);
  for (size_t i = 0; i < RefusalLimit::kMaxAddresses; ++i) {
    limit.Count(absl::StrCat(i), now + std::chrono::milliseconds(1));
  }
  EXPECT_EQ(limit.Wait("first", now), absl::ZeroDuration());
}

TEST(NetworkOf, IsAnAddressOfIpv4AndANetworkOfIpv6) {
  EXPECT_EQ(NetworkOf("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(NetworkOf("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(NetworkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(NetworkOf(""), "");
}

}  // namespace
}  // namespace sandglass::server
