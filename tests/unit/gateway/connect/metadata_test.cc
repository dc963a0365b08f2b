#include "gateway/connect/metadata.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::gateway {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConnectMetadata, OfARequestOnlyNamedHeadersAndBinaryOnesGoOn) {
  const auto metadata = RequestMetadata({
      {"Authorization", "Bearer sg_x"},
      {"TraceParent", "00-1"},
      {"tracestate", "a=b"},
      {"X-Request-Id", "r"},
      {"X-Custom-Bin", "YQ"},
      {"x-custom-bin", "Yg=="},
      // Those that don't.
      {"host", "h"},
      {"cookie", "secret"},
      {"content-type", "application/json"},
      {"x-forwarded-for", "1.2.3.4"},
      {"x-custom", "y"},
      {"connect-timeout-ms", "1"},
      {"grpc-timeout", "1S"},
      {"grpc-trace-bin", "YQ"},
      {"connect-a-bin", "YQ"},
      {"sandglass-caller", "root"},
      {"sandglass-caller-bin", "YQ"},
      {":path", "/"},
      {"a b-bin", "YQ"},
      {"user-agent", "curl"},
  });
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_THAT(*metadata,
              ElementsAre(HeaderField{"authorization", "Bearer sg_x"},
                          HeaderField{"traceparent", "00-1"},
                          HeaderField{"tracestate", "a=b"},
                          HeaderField{"x-request-id", "r"},
                          HeaderField{"x-custom-bin", "a"},
                          HeaderField{"x-custom-bin", "b"}));
}

TEST(ConnectMetadata, JoinedBinaryValuesAreTakenApart) {
  const auto metadata = RequestMetadata({{"a-bin", "YQ==, Yg,/w"}});
  ASSERT_TRUE(metadata.ok());
  EXPECT_THAT(*metadata,
              ElementsAre(HeaderField{"a-bin", "a"}, HeaderField{"a-bin", "b"},
                          HeaderField{"a-bin", "\xff"}));
}

TEST(ConnectMetadata, ARequestsBadValuesAreRefused) {
  for (const HeaderField& bad : HeaderFields{
           {"authorization", "Bearer x\r\nx-admin: 1"},
           {"authorization", "Bearer x\n"},
           {"authorization", "Bearer \0x"s},
           {"authorization", "Bearer é"},
           {"traceparent", "a\tb"},
           {"a-bin", "not base64!"},
           {"a-bin", "Y"},
           {"a-bin", "YQ\r\n"},
           {"x-request-id", std::string(kMaxMetadataBytes, 'x')},
       }) {
    const auto metadata = RequestMetadata({bad});
    EXPECT_EQ(metadata.status().code(), absl::StatusCode::kInvalidArgument)
        << bad.name << bad.value;
    EXPECT_THAT(std::string(metadata.status().message()), HasSubstr(bad.name));
  }
}

TEST(ConnectMetadata, ARequestsMetadataIsBoundedTogether) {
  HeaderFields headers;
  for (int i = 0; i < 9; ++i) {
    headers.push_back({"x-request-id", std::string(1000, 'x')});
  }
  EXPECT_FALSE(RequestMetadata(headers).ok());
  headers.pop_back();
  EXPECT_TRUE(RequestMetadata(headers).ok());
}

TEST(ConnectMetadata, OfAnAnswerNothingThatIsNoHeaderOrAnothersComesThrough) {
  const HeaderFields metadata = {
      {"x-cost", "1"},
      {"x-raw-bin", "\xff\r\n"},
      // Those that don't.
      {"x-split", "a\r\nset-cookie: b"},
      {"x-nul", "a\0"s},
      {"x-utf8", "é"},
      {"x\r\ny", "1"},
      {"X-Upper", "1"},
      {"", "1"},
      {":status", "500"},
      {"grpc-status", "0"},
      {"grpc-status-details-bin", "x"},
      {"connect-x", "1"},
      {"sandglass-x", "1"},
      {"trailer-x", "1"},
      {"set-cookie", "a=b"},
      {"content-length", "0"},
      {"content-type", "text/html"},
      {"transfer-encoding", "chunked"},
      {"location", "http://x"},
      {"access-control-allow-origin", "*"},
      {"retry-after", "1"},
  };
  EXPECT_THAT(AnswerHeaders(metadata),
              ElementsAre(HeaderField{"x-cost", "1"},
                          HeaderField{"x-raw-bin", "/w0K"}));
  EXPECT_THAT(AnswerHeaders(metadata, "trailer-"),
              ElementsAre(HeaderField{"trailer-x-cost", "1"},
                          HeaderField{"trailer-x-raw-bin", "/w0K"}));
  EXPECT_THAT(AnswerHeaders({}), IsEmpty());
}

TEST(ConnectMetadata, AHeaderThatMayBeThereOnceIsFoundInAnyCase) {
  const HeaderFields headers = {{"Content-Type", "a"}, {"x", "1"}, {"X", "2"}};
  const auto type = OnlyHeader(headers, "content-type");
  ASSERT_TRUE(type.ok());
  EXPECT_EQ(type->value_or(""), "a");
  const auto none = OnlyHeader(headers, "y");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  EXPECT_EQ(OnlyHeader(headers, "x").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sandglass::gateway
