#include "gateway/ports/port_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::gateway {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

PortLink Link() {
  PortLink link{
      .session = "ses-a-01", .port = 8000, .expires = kNow + absl::Minutes(5)};
  link.caller.tenant = "team";
  link.caller.name = server::NameOf("team", "ci");
  link.caller.proof = server::Proof::kToken;
  link.caller.token_id = "0123456789ab";
  link.caller.profiles = {"default"};
  link.caller.scopes = server::Scopes::All();
  return link;
}

TEST(PortLinkTest, SaysWhatWasSigned) {
  const LinkSigner signer = *LinkSigner::Make(std::string(32, 'k'));
  const std::string text = signer.Sign(Link());
  EXPECT_EQ(
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                             "STUVWXYZ0123456789-_."),
      std::string::npos)
      << text;
  const auto read = signer.Read(text, kNow);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->session, "ses-a-01");
  EXPECT_EQ(read->port, 8000u);
  EXPECT_EQ(read->expires, kNow + absl::Minutes(5));
  EXPECT_EQ(read->caller.name, "team/ci");
  EXPECT_EQ(read->caller.token_id, "0123456789ab");
  EXPECT_EQ(read->caller.profiles, Link().caller.profiles);
  // It is for connections to ports, whatever its maker may do.
  EXPECT_EQ(read->caller.scopes, server::Scopes({server::Scope::kExec}));
}

TEST(PortLinkTest, NothingElseIsOne) {
  const LinkSigner signer = *LinkSigner::Make(std::string(32, 'k'));
  const LinkSigner other = *LinkSigner::Make(std::string(32, 'o'));
  const std::string text = signer.Sign(Link());
  EXPECT_FALSE(signer.Read(text, kNow + absl::Minutes(5)).has_value());
  EXPECT_FALSE(other.Read(text, kNow).has_value());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(signer.Read(text.substr(0, i), kNow).has_value()) << i;
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    // The last character has bits that mean nothing.
    if (i + 1 == text.size()) continue;
    EXPECT_FALSE(signer.Read(changed, kNow).has_value()) << i;
  }
  EXPECT_FALSE(signer.Read("", kNow).has_value());
  EXPECT_FALSE(signer.Read(".", kNow).has_value());
  EXPECT_FALSE(LinkSigner::Make(std::string(31, 'k')).ok());
}

}  // namespace
}  // namespace sandglass::gateway
