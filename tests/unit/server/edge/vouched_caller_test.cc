#include "server/edge/vouched_caller.h"

#include <string>

#include "gtest/gtest.h"
#include "sandglass/node/v1/node.pb.h"

namespace sandglass::server {
namespace {

Identity SomeCaller() {
  Identity caller{.name = NameOf("team-a", "ci")};
  caller.tenant = "team-a";
  caller.scopes = {Scope::kRun, Scope::kFiles};
  caller.profiles = {"strict"};
  caller.read_only = true;
  caller.proof = Proof::kToken;
  caller.token_id = "0123";
  caller.address = "192.0.2.1";
  return caller;
}

TEST(VouchedCaller, ComesAsItWasSent) {
  const Identity sent = SomeCaller();
  const auto got = FromCallerMetadata(ToCallerMetadata(sent));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->name, "team-a/ci");
  EXPECT_EQ(got->tenant, sent.tenant);
  EXPECT_EQ(got->scopes, sent.scopes);
  EXPECT_EQ(got->profiles, sent.profiles);
  EXPECT_TRUE(got->read_only);
  EXPECT_EQ(got->proof, Proof::kToken);
  EXPECT_EQ(got->token_id, "0123");
  EXPECT_EQ(got->address, "192.0.2.1");
  EXPECT_FALSE(got->uid.has_value());
  EXPECT_FALSE(got->is_gateway);
}

TEST(VouchedCaller, WhoCannotBeIsNobody) {
  EXPECT_FALSE(FromCallerMetadata("").has_value());
  EXPECT_FALSE(FromCallerMetadata("\xff\xff").has_value());
  EXPECT_FALSE(FromCallerMetadata(std::string(1 << 20, 'x')).has_value());
  const auto with = [](auto change) {
    node::v1::Caller message;
    message.ParseFromString(ToCallerMetadata(SomeCaller()));
    change(message);
    return FromCallerMetadata(message.SerializeAsString());
  };
  EXPECT_TRUE(with([](auto&) {}).has_value());
  EXPECT_FALSE(with([](auto& m) { m.set_tenant("Team A"); }).has_value());
  EXPECT_FALSE(with([](auto& m) { m.clear_tenant(); }).has_value());
  EXPECT_FALSE(with([](auto& m) { m.clear_principal(); }).has_value());
  EXPECT_FALSE(with([](auto& m) { m.clear_proof(); }).has_value());
  EXPECT_FALSE(with([](auto& m) {
                 m.set_proof(static_cast<v1::Proof>(77));
               }).has_value());
  // An account of a machine is known on that machine alone, and nobody is a
  // gateway behind a gateway.
  for (const char* name : {"uid:0", "tcp:1", "tls:x", "gateway:x", "others"}) {
    EXPECT_FALSE(with([&](auto& m) {
                   m.set_tenant("local");
                   m.set_principal(name);
                 }).has_value())
        << name;
  }
  // A scope of a later version is left out.
  const auto later =
      with([](auto& m) { m.add_scopes(static_cast<v1::Scope>(99)); });
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->scopes, SomeCaller().scopes);
}

}  // namespace
}  // namespace sandglass::server
