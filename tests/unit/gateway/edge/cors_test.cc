#include "gateway/edge/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::gateway {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kAllow[] = "access-control-allow-origin";
const std::string kOurs = "https://app.example.org";

HttpHead From(const std::string& method, const std::string& origin) {
  HttpHead head{.method = method, .path = "/"};
  if (!origin.empty()) head.headers.push_back({"Origin", origin});
  return head;
}

TEST(CorsTest, KnowsOrigins) {
  for (const char* text :
       {"*", "https://a.example", "http://localhost:3000", "https://[::1]:1"}) {
    EXPECT_TRUE(IsOrigin(text)) << text;
  }
  for (const char* text :
       {"", "a.example", "https://", "https://a/", "https://A", "null",
        "file://a", "https://a b", "https://*.a"}) {
    EXPECT_FALSE(IsOrigin(text)) << text;
  }
}

TEST(CorsTest, AllowsThoseOfTheConfigurationAlone) {
  const CorsConfig config{.origins = {kOurs}};
  EXPECT_THAT(CorsHeaders({}, From("POST", kOurs)), IsEmpty());
  EXPECT_THAT(CorsHeaders(config, From("POST", kOurs)),
              Contains(HeaderField{kAllow, kOurs}));
  for (const std::string& other :
       {std::string("https://app.example.org.evil"), std::string("null"),
        std::string("https://app.example.or"), std::string()}) {
    const HeaderFields headers = CorsHeaders(config, From("POST", other));
    EXPECT_EQ(headers, (HeaderFields{{"vary", "origin"}})) << other;
  }
  // Two of them are none.
  HttpHead twice = From("POST", kOurs);
  twice.headers.push_back({"origin", kOurs});
  EXPECT_EQ(CorsHeaders(config, twice), (HeaderFields{{"vary", "origin"}}));
  EXPECT_THAT(CorsHeaders({.origins = {"*"}}, From("POST", "https://x")),
              Contains(HeaderField{kAllow, "https://x"}));
}

TEST(CorsTest, AnswersABrowsersQuestion) {
  const CorsConfig config{.origins = {kOurs}};
  HttpHead question = From("OPTIONS", kOurs);
  EXPECT_EQ(CorsPreflight(config, question), std::nullopt);
  question.headers.push_back({"access-control-request-method", "POST"});
  std::optional<HttpAnswer> answer = CorsPreflight(config, question);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 204);
  EXPECT_THAT(answer->headers, Contains(HeaderField{kAllow, kOurs}));
  EXPECT_THAT(answer->headers,
              Not(Contains(::testing::Field(
                  &HeaderField::name, "access-control-allow-credentials"))));
  question.headers.front().value = "https://evil.example";
  answer = CorsPreflight(config, question);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->headers, (HeaderFields{{"vary", "origin"}}));
}

}  // namespace
}  // namespace sandglass::gateway
