#include "policy/redaction/redaction_profile.h"

#include <algorithm>
#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/profile/profile.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kShipped[] = SANDGLASS_SOURCE_DIR "/policy/data/redaction.json";

RedactionList Shipped() {
  auto list = RedactionList::Load(kShipped);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : RedactionList();
}

std::shared_ptr<const Redactor> AllShipped() {
  const RedactionList list = Shipped();
  std::vector<Redactor::Pattern> patterns;
  for (const RedactionList::Entry& entry : list.entries()) {
    patterns.push_back({entry.name, entry.pattern});
  }
  auto redactor = Redactor::Create(std::move(patterns));
  EXPECT_TRUE(redactor.ok()) << redactor.status();
  return redactor.ok() ? *redactor : nullptr;
}

std::string Many(size_t count) { return std::string(count, 'A'); }

absl::StatusOr<std::vector<Profile>> LoadProfileText(
    const std::string& redaction) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(
      directory.Path("p.json"),
      R"({"description": "d", "redaction": )" + redaction + "}");
  return LoadProfiles(directory.path(), Shipped());
}

absl::StatusOr<RedactionList> LoadListText(const std::string& patterns) {
  const sandglass::testing::TempDir directory;
  const std::string path = directory.Path("redaction.json");
  sandglass::testing::WriteFile(path, R"({"patterns": )" + patterns + "}");
  return RedactionList::Load(path);
}

TEST(ShippedRedactions, EachExampleIsReplacedUnderItsOwnNameAmongAll) {
  const auto redactor = AllShipped();
  const RedactionList list = Shipped();
  EXPECT_THAT(list.entries(), SizeIs(16));
  for (const RedactionList::Entry& entry : list.entries()) {
    RedactionCounts counts;
    const std::string text =
        redactor->Redact("before " + entry.example + "\nafter", &counts);
    EXPECT_THAT(text, HasSubstr("[redacted:" + entry.name + "]"));
    EXPECT_EQ(counts, (RedactionCounts{{entry.name, 1}})) << text;
  }
}

struct SecretCase {
  const char* name;
  std::string text;
  std::string redacted;
};
void PrintTo(const SecretCase& c, std::ostream* out) { *out << c.name; }

class ShippedSecret : public ::testing::TestWithParam<SecretCase> {};

TEST_P(ShippedSecret, IsReplaced) {
  EXPECT_EQ(AllShipped()->Redact(GetParam().text, nullptr),
            GetParam().redacted);
}

// In parts, lest tools that look for secrets take them for some.
INSTANTIATE_TEST_SUITE_P(
    Redaction, ShippedSecret,
    ::testing::Values(
        SecretCase{"AwsPairInAFile",
                   "aws_access_key_id = AKIA" + Many(16) +
                       "\naws_secret_access_key = " + Many(40) + "\n",
                   "aws_access_key_id = [redacted:aws-access-key-id]\n"
                   "[redacted:aws-secret-access-key]\n"},
        SecretCase{"AwsSecretInTheEnvironment",
                   "AWS_SECRET_ACCESS_KEY=" + Many(40),
                   "[redacted:aws-secret-access-key]"},
        SecretCase{"AwsSecretInJson",
                   R"("SecretAccessKey": ")" + Many(40) + R"(", "a": 1)",
                   R"("[redacted:aws-secret-access-key]", "a": 1)"},
        SecretCase{"AwsSecretInQuotedJson",
                   R"(\"SecretAccessKey\": \")" + Many(40) + R"(\")",
                   R"(\"[redacted:aws-secret-access-key]\")"},
        SecretCase{"GithubOfAllKinds",
                   "gho_" + Many(36) + " ghs_" + Many(40) + " github_pat_" +
                       Many(22) + "_" + Many(59),
                   "[redacted:github-token] [redacted:github-token] "
                   "[redacted:github-token]"},
        SecretCase{"GitlabRoutable", "glpat-" + Many(27) + ".01.0a1b2c3d4",
                   "[redacted:gitlab-token]"},
        SecretCase{"AnthropicIsNotOpenai", "sk-ant-" + Many(40),
                   "[redacted:anthropic-api-key]"},
        SecretCase{"OpenaiOld", "key=sk-" + Many(48) + "!",
                   "key=[redacted:openai-api-key]!"},
        SecretCase{"SlackWebhook",
                   "https://hooks.slack."
                   "com/services/T0/B0/" +
                       Many(24),
                   "https://[redacted:slack-token]"},
        SecretCase{"StripeLive",
                   "rk_"
                   "live_" +
                       Many(24),
                   "[redacted:stripe-key]"},
        SecretCase{"JwtInAHeader",
                   "authorization: bearer eyJ" + Many(20) + ".eyJ" + Many(20) +
                       "." + Many(40),
                   "[redacted:authorization-header]"},
        SecretCase{"HeaderInADictionary",
                   "{'Authorization': 'Bearer " + Many(16) + "'}",
                   "{'[redacted:authorization-header]'}"},
        SecretCase{"DatabaseUrl",
                   "postgres://admin:h%40nter2@db.example.com:5432/x",
                   "postgres[redacted:url-password]db.example.com:5432/x"},
        SecretCase{"UrlWithoutAUser", "redis://:secret@127.0.0.1/0",
                   "redis[redacted:url-password]127.0.0.1/0"},
        SecretCase{"KeyInJson",
                   "\"-----BEGIN "
                   "PRIVATE KEY-----\\n" +
                       Many(64) + "\\n" + Many(20) +
                       "==\\n-----END "
                       "PRIVATE KEY-----\\n\"",
                   "\"[redacted:private-key]\\n\""},
        SecretCase{"EncryptedRsaKey",
                   "-----BEGIN RSA "
                   "PRIVATE KEY-----\r\nProc-Type: "
                   "4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,00\r\n\r\n" +
                       Many(64) + "\r\n" + Many(64) +
                       "\r\nAA==\r\n-----END RSA "
                       "PRIVATE KEY-----\r\n",
                   "[redacted:private-key]\r\n"},
        SecretCase{"PgpKey",
                   "-----BEGIN PGP "
                   "PRIVATE KEY BLOCK-----\nVersion: 1\n\n" +
                       Many(64) +
                       "\nAAAA\n=AAAA\n-----END PGP "
                       "PRIVATE KEY BLOCK-----\n",
                   "[redacted:private-key]\n"},
        SecretCase{"HeadOfAKey",
                   "-----BEGIN OPENSSH "
                   "PRIVATE KEY-----\n" +
                       Many(70) + "\n" + Many(70) + "\ndone.\n",
                   "[redacted:private-key]\ndone.\n"}),
    [](const auto& test) { return test.param.name; });

class ShippedInnocent : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedInnocent, PassesAsItIs) {
  EXPECT_EQ(AllShipped()->Redact(GetParam(), nullptr), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Redaction, ShippedInnocent,
    ::testing::Values(
        "hello\n", "AKIA is a prefix; so are ghp_, glpat- and sk-ant-.",
        "/docs/disk-admin-users-and-permissions",
        "https://example.com:8080/a?b=c@d and http://127.0.0.1:80/",
        "git@github.com:owner/name.git, mailto:a@example.com",
        "Authorization: Bearer <token>", "aws_secret_access_key = None",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
        "-----BEGIN CERTIFICATE-----", "0123456789abcdef0123456789abcdef",
        "def sk_test_case_of_something_quite_long_and_underscored(): pass",
        "2022-11-23 12:00:00 INFO npm_config_registry pypi-server eyJ.eyJ.x",
        "12:30:45.123 user@host:~$ ls -l",
        "Traceback (most recent call last):\n  File \"main.py\", line 1\n"));

TEST(ShippedRedactions, HoldNothingBackOfPlainLines) {
  StreamRedactor stream(AllShipped());
  for (const std::string line :
       {"hello\n", "x = 3\n", "\xc3\xa4\xf0\x9f\x98\x80\n", "-----\n",
        "Authorization\n\n", "https://example.com/a:b\n", "ghp\n", ">>> ",
        "100%\r", "\x1b[31mred\x1b[0m\n"}) {
    std::string out;
    stream.Write(line, out);
    EXPECT_EQ(out, line);
  }
}

// A hundred times what it takes here, of a build with sanitizers too.
TEST(ShippedRedactions, TakeMuchOutputInLittleTime) {
  std::string line;
  for (int i = 0; line.size() < 4000; ++i) {
    line += "2022-11-23 12:00:" + std::to_string(i) +
            " INFO request handled path=/users/ghp status=200 https://a/b?c\n";
  }
  StreamRedactor stream(AllShipped());
  const absl::Time begin = absl::Now();
  uint64_t bytes = 0;
  while (bytes < uint64_t{16} << 20) {
    std::string out;
    stream.Write(line, out);
    ASSERT_EQ(out, line);
    bytes += line.size();
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST(RedactionList, MissingFileIsNotFound) {
  EXPECT_EQ(RedactionList::Load("/no/such.json").status().code(),
            absl::StatusCode::kNotFound);
}

struct ListRefusal {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const ListRefusal& c, std::ostream* out) { *out << c.name; }

class RefusedList : public ::testing::TestWithParam<ListRefusal> {};

TEST_P(RefusedList, IsReportedWithFileAndPointer) {
  const auto list = LoadListText(GetParam().text);
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(list.status().message()),
              HasSubstr(std::string("/redaction.json: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Redaction, RefusedList,
    ::testing::Values(
        ListRefusal{"NoList", R"({})", "/patterns: "},
        ListRefusal{"NoObject", R"(["a"])", "/patterns/0: "},
        ListRefusal{"NoName",
                    R"([{"description": "d", "pattern": "a",
                         "example": ["a"]}])",
                    "/patterns/0/name: missing"},
        ListRefusal{"BadName",
                    R"([{"name": "A b", "description": "d", "pattern": "a",
                         "example": ["a"]}])",
                    "/patterns/0/name: names match"},
        ListRefusal{"NameTwice",
                    R"([{"name": "a", "description": "d", "pattern": "a",
                         "example": ["a"]},
                        {"name": "a", "description": "d", "pattern": "b",
                         "example": ["b"]}])",
                    "/patterns/1/name: \"a\" is given twice"},
        ListRefusal{"NoDescription",
                    R"([{"name": "a", "description": "", "pattern": "a",
                         "example": ["a"]}])",
                    "/patterns/0/description: is empty"},
        ListRefusal{"NoPattern",
                    R"([{"name": "a", "description": "d", "example": []}])",
                    "/patterns/0/pattern: missing"},
        ListRefusal{"BadPattern",
                    R"([{"name": "a", "description": "d", "pattern": "a[",
                         "example": []}])",
                    "/patterns/0/pattern: at byte 1: \"[\" without"},
        ListRefusal{"NoExample",
                    R"([{"name": "a", "description": "d", "pattern": "a"}])",
                    "/patterns/0/example: missing"},
        ListRefusal{"WrongExample",
                    R"([{"name": "a", "description": "d", "pattern": "ab",
                         "example": ["a", "c"]}])",
                    "/patterns/0/example: the pattern doesn't match it"},
        ListRefusal{"UnknownKey",
                    R"([{"name": "a", "description": "d", "pattern": "a",
                         "example": ["a"], "flags": "i"}])",
                    "/patterns/0/flags: unknown key"}),
    [](const auto& test) { return test.param.name; });

TEST(ProfileRedaction, NamesShippedPatternsAndAddsItsOwn) {
  const auto profiles = LoadProfileText(R"({"patterns": ["github-token"],
      "custom": [{"name": "employee-id", "pattern": "EMP-[0-9]{6}"}]})");
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  const auto& redactor = profiles->at(0).redactor;
  ASSERT_NE(redactor, nullptr);
  EXPECT_EQ(redactor->Redact(
                "ghp_" + Many(36) + " EMP-123456 glpat-" + Many(20), nullptr),
            "[redacted:github-token] [redacted:employee-id] glpat-" + Many(20));
}

TEST(ProfileRedaction, NothingNamedIsNothingRedacted) {
  for (const char* text :
       {"{}", R"({"patterns": []})", R"({"patterns": [], "custom": []})"}) {
    const auto profiles = LoadProfileText(text);
    ASSERT_TRUE(profiles.ok()) << profiles.status();
    EXPECT_EQ(profiles->at(0).redactor, nullptr);
  }
}

TEST(ProfileRedaction, WithoutTheFileItSaysSo) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(
      directory.Path("p.json"),
      R"({"description": "d", "redaction": {"patterns": ["jwt"]}})");
  EXPECT_THAT(
      std::string(LoadProfiles(directory.path()).status().message()),
      AllOf(HasSubstr("/redaction/patterns/0: "), HasSubstr("redaction.json")));
}

class RefusedRedaction : public ::testing::TestWithParam<ListRefusal> {};

TEST_P(RefusedRedaction, IsReportedWithFileAndPointer) {
  const auto profiles = LoadProfileText(GetParam().text);
  ASSERT_FALSE(profiles.ok());
  EXPECT_EQ(profiles.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(profiles.status().message()),
      HasSubstr(std::string("/p.json: /redaction") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Redaction, RefusedRedaction,
    ::testing::Values(
        ListRefusal{"Type", R"(["jwt"])", ": "},
        ListRefusal{"UnknownKey", R"({"pattern": ["jwt"]})",
                    "/pattern: unknown key; did you mean \"patterns\"?"},
        ListRefusal{"UnknownName", R"({"patterns": ["jwt", "githubtoken"]})",
                    "/patterns/1: there is no pattern \"githubtoken\"; did you "
                    "mean \"github-token\"?"},
        ListRefusal{"StrangeName", R"({"patterns": ["everything"]})",
                    "/patterns/0: there is no pattern \"everything\"; there "
                    "are aws-access-key-id, "},
        ListRefusal{"NameTwice", R"({"patterns": ["jwt", "jwt"]})",
                    "/patterns/1: \"jwt\" is given twice"},
        ListRefusal{"NameType", R"({"patterns": [1]})", "/patterns"},
        ListRefusal{"CustomName",
                    R"({"custom": [{"name": "A", "pattern": "a"}]})",
                    "/custom/0/name: names match"},
        ListRefusal{
            "CustomNameLength",
            R"({"custom": [{"name": "abcdefghijklmnopqrstuvwxyz-1234567",
                        "pattern": "a"}]})",
            "/custom/0/name: names match"},
        ListRefusal{"CustomNameEmpty",
                    R"({"custom": [{"name": "", "pattern": "a"}]})",
                    "/custom/0/name: names match"},
        ListRefusal{"CustomNameMissing", R"({"custom": [{"pattern": "a"}]})",
                    "/custom/0/name: missing"},
        ListRefusal{"CustomTwice",
                    R"({"custom": [{"name": "a", "pattern": "a"},
                                   {"name": "a", "pattern": "b"}]})",
                    "/custom/1/name: \"a\" is given twice"},
        ListRefusal{"CustomIsShipped",
                    R"({"custom": [{"name": "jwt", "pattern": "a"}]})",
                    "/custom/0/name: \"jwt\" is a shipped pattern's name"},
        ListRefusal{"CustomPattern",
                    R"({"custom": [{"name": "a", "pattern": "^a"}]})",
                    "/custom/0/pattern: at byte 0: \"^\" is no anchor"},
        ListRefusal{"CustomPatternMissing", R"({"custom": [{"name": "a"}]})",
                    "/custom/0/pattern: missing"},
        ListRefusal{"CustomPatternEmpty",
                    R"({"custom": [{"name": "a", "pattern": ""}]})",
                    "/custom/0/pattern: the pattern matches the empty text"},
        ListRefusal{"CustomPatternType",
                    R"({"custom": [{"name": "a", "pattern": 1}]})",
                    "/custom/0/pattern: "},
        ListRefusal{"CustomKey",
                    R"({"custom": [{"name": "a", "pattern": "a", "x": 1}]})",
                    "/custom/0/x: unknown key"},
        ListRefusal{"TooMuchTogether",
                    R"({"custom": [
                       {"name": "a", "pattern": "a{1000}b{1000}"},
                       {"name": "b", "pattern": "a{1000}b{1000}"},
                       {"name": "c", "pattern": "a{1000}b{1000}"},
                       {"name": "d", "pattern": "a{1000}b{1000}"},
                       {"name": "e", "pattern": "a{1000}b{1000}"}]})",
                    ": with their repeats written out the patterns have more "
                    "than 8192 steps"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sandglass::policy
