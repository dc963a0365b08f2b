#include "server/identity/token_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::sandglass::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Code = absl::StatusCode;

class TokenStoreTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.Path("tokens.json"); }
  std::unique_ptr<TokenStore> Open() {
    auto store = TryOpen();
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  absl::StatusOr<std::unique_ptr<TokenStore>> TryOpen() {
    return TokenStore::Open(
        os::Fd(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        dir_.path(), [this] { return now_; });
  }
  Token Wanted(const std::string& principal = "ci") const {
    Token token;
    token.tenant = "team-a";
    token.principal = principal;
    token.scopes = Scopes::Usual();
    token.expires = now_ + absl::Hours(1);
    return token;
  }
  std::string Text() const {
    std::stringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  void Write(const std::string& text) const {
    const std::string draft = dir_.Path("draft");
    std::ofstream(draft) << text;
    ::chmod(draft.c_str(), 0600);
    std::filesystem::rename(draft, path());
  }

  TempDir dir_;
  absl::Time now_ = absl::Now();
};

TEST_F(TokenStoreTest, ATokenCountsUntilItIsRevokedAndOverARestart) {
  Token token = Wanted();
  std::string value;
  {
    const auto store = Open();
    value = *store->Create(token);
    ASSERT_TRUE(store->Find(value).has_value());
    EXPECT_EQ(store->Find(value)->name, "team-a/ci");
    EXPECT_EQ(store->Find(value)->token_id, token.id);
  }
  EXPECT_GE(value.size(), 3 + 12 + 1 + 64u);
  // Neither the value nor its secret is kept.
  EXPECT_THAT(Text(), AllOf(HasSubstr(token.id), Not(HasSubstr(value)),
                            Not(HasSubstr(value.substr(16)))));
  struct stat info = {};
  ::stat(path().c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  const auto again = Open();
  EXPECT_TRUE(again->Find(value).has_value());
  EXPECT_EQ(again->Revoke(token.id)->principal, "ci");
  EXPECT_FALSE(again->Find(value).has_value());
  EXPECT_EQ(again->Revoke(token.id).status().code(), Code::kNotFound);
  EXPECT_FALSE(Open()->Find(value).has_value());
}

TEST_F(TokenStoreTest, OnlyTheWholeValueIsRight) {
  const auto store = Open();
  Token token = Wanted();
  const std::string value = *store->Create(token);
  std::string other = value;
  other.back() = other.back() == '0' ? '1' : '0';
  std::string upper = value;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& bad :
       {std::string(), std::string("sg_"), value.substr(0, value.size() - 1),
        value + "0", other, upper, " " + value, value + "\n", value.substr(3),
        absl::StrCat("sg_", token.id, "_"),
        absl::StrCat(std::string("\0", 1), value)}) {
    EXPECT_FALSE(store->Find(bad).has_value()) << bad;
  }
}

TEST_F(TokenStoreTest, ExpiresByTheWallClockEvenIfThatIsSetBack) {
  const auto store = Open();
  Token token = Wanted();
  const std::string value = *store->Create(token);
  now_ += absl::Minutes(59);
  EXPECT_TRUE(store->Find(value).has_value());
  now_ += absl::Minutes(1);
  EXPECT_FALSE(store->Find(value).has_value());
  EXPECT_THAT(store->List(), SizeIs(1));
  // An operator who sets the clock back makes it valid again, no longer than
  // was written.
  now_ -= absl::Hours(1);
  EXPECT_TRUE(store->Find(value).has_value());
  // Long after, the next one to be made takes its place.
  now_ += absl::Hours(24 * 8 + 1);
  Token next = Wanted();
  ASSERT_TRUE(store->Create(next).ok());
  EXPECT_THAT(store->List(), SizeIs(1));
}

TEST_F(TokenStoreTest, AFileThatIsReplacedCountsWithinASecond) {
  const auto store = Open();
  Token first = Wanted("first");
  Token second = Wanted("second");
  const std::string one = *store->Create(first);
  const std::string text_of_one = Text();
  const std::string two = *store->Create(second);
  Write(text_of_one);
  store->Refresh();
  EXPECT_TRUE(store->Find(one).has_value());
  EXPECT_FALSE(store->Find(two).has_value());
  // What somebody wrote is kept when the daemon writes next.
  Token third = Wanted("third");
  ASSERT_TRUE(store->Create(third).ok());
  EXPECT_THAT(store->List(), SizeIs(2));
}

TEST_F(TokenStoreTest, ABrokenFileLeavesTheTokensInForce) {
  const auto store = Open();
  Token token = Wanted();
  const std::string value = *store->Create(token);
  const std::string good = Text();
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2),
        absl::StrCat(good, good), std::string("{\"tokens\": [{}]}"),
        std::string(2 << 20, ' ')}) {
    Write(bad);
    store->Refresh();
    EXPECT_TRUE(store->Find(value).has_value());
    EXPECT_FALSE(store->state().ok());
    // What it says must not be lost by writing over it.
    Token next = Wanted();
    EXPECT_FALSE(store->Create(next).ok());
    EXPECT_FALSE(store->Revoke(token.id).ok());
  }
  Write(good);
  store->Refresh();
  EXPECT_TRUE(store->Find(value).has_value());
  EXPECT_TRUE(store->state().ok());
}

TEST_F(TokenStoreTest, IsNotOpenedWhereOthersMayReadIt) {
  Write("{\"tokens\": []}");
  ::chmod(path().c_str(), 0640);
  const auto open = TryOpen();
  EXPECT_EQ(open.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(open.status().message()), HasSubstr("chmod 600"));
  std::filesystem::remove(path());
  std::filesystem::create_symlink(dir_.Path("elsewhere"), path());
  EXPECT_FALSE(TryOpen().ok());
}

TEST_F(TokenStoreTest, SaysWhatIsWrongAndWhere) {
  Write(R"({"tokens": [{"id": "X", "sha256": "00", "tenant": "A",
    "principal": "", "scopes": ["all"], "created": "now", "more": 1}]})");
  const std::string said(TryOpen().status().message());
  for (const char* part : {"/tokens/0/id", "/tokens/0/sha256",
                           "/tokens/0/tenant", "/tokens/0/principal",
                           "\"all\" is none of", "/tokens/0/created", "more"}) {
    EXPECT_THAT(said, HasSubstr(part));
  }
}

TEST_F(TokenStoreTest, ThreadsMakeFindAndRevokeAtOnce) {
  const auto store = Open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int each = 0; each < 10; ++each) {
        Token token = Wanted(absl::StrCat("p", i));
        const auto value = store->Create(token);
        ASSERT_TRUE(value.ok());
        EXPECT_TRUE(store->Find(*value).has_value());
        if (each % 2 == 0) EXPECT_TRUE(store->Revoke(token.id).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(store->List(), SizeIs(20));
  EXPECT_THAT(Open()->List(), SizeIs(20));
}

}  // namespace
}  // namespace sandglass::server
