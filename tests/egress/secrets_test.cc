#include "sandbox/egress/secrets.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::egress {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kValue[] = "s3cr3t-value";

policy::AllowedHost Rule(std::vector<std::string> secrets,
                         bool inspect = false) {
  return {.host = *policy::HostPattern::Parse("a.test"),
          .inspect = inspect,
          .secrets = std::move(secrets)};
}

Secrets Given(std::map<std::string, std::string> values) {
  auto made = Secrets::Create(std::move(values));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// A header's value as it goes on; or why it doesn't.
std::string Put(const RuleSecrets& secrets, const std::string& value) {
  std::vector<HttpField> fields = {{"X-Before", "as it was"}, {"X-Key", value}};
  const absl::Status put = secrets.PutInto(fields, "a.test:443");
  EXPECT_EQ(fields[0].value, "as it was");
  return put.ok() ? fields[1].value
                  : absl::StrCat("refused: ", absl::string_view(put.message()));
}

TEST(SecretsTest, ValuesThatCanNotStandInAHeaderAreRefusedAndNotShown) {
  const std::string zero("s3cr3t\0x", 8);
  for (const std::string& value :
       {std::string(), zero, std::string("s3cr3t\r\nX: y"),
        std::string("s3cr3t\n"), std::string("s3cr3t\ry"),
        std::string(" s3cr3t"), std::string("s3cr3t\x7f"),
        std::string(kMaxSecretBytes + 1, 's')}) {
    const auto made = Secrets::Create({{"KEY", value}});
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(made.status().message()),
                AllOf(HasSubstr("KEY"), Not(HasSubstr("s3cr3t")),
                      SizeIs(::testing::Lt(200u))));
  }
  EXPECT_TRUE(
      Secrets::Create({{"KEY", std::string(kMaxSecretBytes, 's')}}).ok());
}

TEST(SecretsTest, NamesAreCapital) {
  for (const std::string& name :
       {std::string(), std::string("key"), std::string("1KEY"),
        std::string("_KEY"), std::string("K Y"), std::string("K}"),
        std::string(65, 'K')}) {
    EXPECT_EQ(Secrets::Create({{name, "v"}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_TRUE(
      Secrets::Create({{std::string(64, 'K'), "v"}, {"A_1", "v"}}).ok());
}

TEST(SecretsTest, PlaceholdersBecomeValuesOnceAndInOnePass) {
  const Secrets secrets = Given({{"KEY", kValue}, {"NESTED", "${secret:KEY}"}});
  const policy::AllowedHost rule = Rule({"KEY", "NESTED"});
  const RuleSecrets put(secrets, rule, false);
  EXPECT_EQ(Put(put, "Bearer ${secret:KEY}"), "Bearer s3cr3t-value");
  EXPECT_EQ(Put(put, "${secret:KEY}${secret:KEY}-"),
            "s3cr3t-values3cr3t-value-");
  EXPECT_EQ(Put(put, "${secret:NESTED}"), "${secret:KEY}");
  EXPECT_EQ(Put(put, "$${secret:KEY}}"), "$s3cr3t-value}");
  for (const char* plain : {"", "${SECRET:KEY}", "$secret:KEY", "{secret:KEY}",
                            "${ secret:KEY}", "${secretKEY}"}) {
    EXPECT_EQ(Put(put, plain), plain);
  }
}

TEST(SecretsTest, PlaceholdersWithoutAValueAreRefused) {
  const Secrets secrets = Given({{"KEY", kValue}, {"OTHER", "0th3r"}});
  const policy::AllowedHost rule = Rule({"KEY", "MISSING"});
  const RuleSecrets put(secrets, rule, false);
  EXPECT_THAT(Put(put, "${secret:KEY} ${secret:OTHER}"),
              AllOf(HasSubstr("secret OTHER isn't for a.test:443"),
                    HasSubstr("lists KEY, MISSING"), Not(HasSubstr("0th3r")),
                    Not(HasSubstr(kValue))));
  EXPECT_THAT(Put(put, "${secret:MISSING}"),
              AllOf(HasSubstr("MISSING"), HasSubstr("no value")));
  for (const char* broken :
       {"${secret:KEY", "${secret:}", "${secret:key}", "${secret:KEY }",
        "${secret:${secret:KEY}}", "${secret:KEY-}", "${secret:"}) {
    EXPECT_THAT(Put(put, broken),
                AllOf(HasSubstr("no name of a secret"), HasSubstr("a.test"),
                      Not(HasSubstr(kValue))))
        << broken;
  }
  const policy::AllowedHost none = Rule({});
  EXPECT_THAT(Put(RuleSecrets(secrets, none, true), "${secret:KEY}"),
              HasSubstr("lists none"));
}

TEST(SecretsTest, WhereTlsIsSeenNoSecretGoesWithoutIt) {
  const Secrets secrets = Given({{"KEY", kValue}});
  const policy::AllowedHost rule = Rule({"KEY"}, /*inspect=*/true);
  EXPECT_EQ(Put(RuleSecrets(secrets, rule, true), "${secret:KEY}"), kValue);
  EXPECT_THAT(Put(RuleSecrets(secrets, rule, false), "${secret:KEY}"),
              AllOf(HasSubstr("inside TLS alone"), Not(HasSubstr(kValue))));
}

TEST(SecretsTest, AHeadDoesNotGrowWithoutBound) {
  const Secrets secrets = Given({{"KEY", std::string(kMaxSecretBytes, 's')}});
  const policy::AllowedHost rule = Rule({"KEY"});
  const RuleSecrets put(secrets, rule, false);
  std::string many;
  for (int i = 0; i < 4000; ++i) many += "${secret:KEY}";
  EXPECT_THAT(Put(put, many), HasSubstr("longer than 65536 bytes"));
  // Each alone is short enough.
  std::vector<HttpField> fields(9, {"X", "${secret:KEY}"});
  EXPECT_FALSE(put.PutInto(fields, "a.test").ok());
}

TEST(SecretsTest, AResponsesHeadDoesNotEchoThem) {
  const Secrets secrets =
      Given({{"KEY", kValue}, {"LONG", "s3cr3t-value-2"}, {"OTHER", "0th3r"}});
  const policy::AllowedHost rule = Rule({"KEY", "LONG", "MISSING"});
  ResponseHead head;
  head.reason = "No s3cr3t-value";
  head.fields = {{"X-Echo", "a s3cr3t-value-2 s3cr3t-value"},
                 {"X-s3cr3t-value", "1"},
                 {"X-Other", "0th3r"}};
  RuleSecrets(secrets, rule, true).RemoveFrom(head);
  EXPECT_EQ(head.reason, "No ${secret:KEY}");
  ASSERT_THAT(head.fields, SizeIs(2));
  EXPECT_EQ(head.fields[0].value, "a ${secret:LONG} ${secret:KEY}");
  EXPECT_EQ(head.fields[1].value, "0th3r");
}

}  // namespace
}  // namespace sandglass::egress
