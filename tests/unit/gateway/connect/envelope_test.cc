#include "gateway/connect/envelope.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "gateway/connect/grpc_web.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/gateway/connect/support.h"

namespace sandglass::gateway {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using State = EnvelopeReader::State;

// All messages of `data`, which comes in pieces of this size.
std::vector<std::string> ReadAll(EnvelopeReader& reader, std::string_view data,
                                 size_t piece) {
  std::vector<std::string> messages;
  while (!data.empty()) {
    std::string_view part = data.substr(0, piece);
    data.remove_prefix(part.size());
    State state = State::kMessage;
    while (state == State::kMessage) {
      state = reader.Feed(part);
      if (state == State::kMessage) messages.push_back(reader.message());
    }
    if (state == State::kRefused) break;
    EXPECT_TRUE(part.empty());
  }
  return messages;
}

TEST(Envelope, WhatIsWrittenIsReadBackHoweverItIsCut) {
  EXPECT_EQ(Enveloped("abc", 2), "\x02\x00\x00\x00\x03"s + "abc");
  const std::string long_message(70'000, 'x');
  EXPECT_EQ(Enveloped(long_message).substr(0, 5), "\x00\x00\x01\x11\x70"s);
  const std::string stream =
      Enveloped("") + Enveloped("a") + Enveloped(long_message) + Enveloped("");
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{5}, size_t{7},
                             size_t{4096}, stream.size()}) {
    EnvelopeReader reader(1 << 20);
    EXPECT_THAT(ReadAll(reader, stream, piece),
                ElementsAre("", "a", long_message, ""))
        << piece;
    EXPECT_TRUE(reader.Finish().ok());
  }
}

TEST(Envelope, AnEndInTheMiddleIsAnError) {
  const std::string stream = Enveloped("abc") + Enveloped("def");
  for (size_t size = 0; size <= stream.size(); ++size) {
    EnvelopeReader reader(100);
    ReadAll(reader, stream.substr(0, size), 3);
    const bool whole = size % 8 == 0;
    EXPECT_EQ(reader.Finish().ok(), whole) << size;
    if (whole) continue;
    EXPECT_EQ(reader.Finish().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(reader.Finish().message()),
                HasSubstr(size % 8 < 5 ? "within the head" : "says to have 3"));
  }
}

TEST(Envelope, ALengthAboveTheBoundIsRefusedBeforeItsMessageComes) {
  for (const std::string& head :
       {"\x00\x00\x00\x00\x65"s, "\x00\xff\xff\xff\xff"s,
        "\x00\x80\x00\x00\x00"s}) {
    EnvelopeReader reader(100);
    std::string_view data = head;
    EXPECT_EQ(reader.Feed(data), State::kRefused);
    EXPECT_EQ(reader.refusal().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(reader.refusal().message()),
                HasSubstr("may have 100"));
    EXPECT_FALSE(reader.Finish().ok());
  }
  EnvelopeReader reader(100);
  EXPECT_THAT(ReadAll(reader, Enveloped(std::string(100, 'x')), 9),
              ElementsAre(std::string(100, 'x')));
}

TEST(Envelope, ALengthThatLiesTakesNoMemory) {
  constexpr size_t kGigabyte = size_t{1} << 30;
  EnvelopeReader reader(kGigabyte);
  const std::string head = "\x00\x40\x00\x00\x00"s + "x";
  std::string_view data = head;
  EXPECT_EQ(reader.Feed(data), State::kMore);
  EXPECT_LT(reader.message().capacity(), 1000u);
}

TEST(Envelope, OnlyMessagesMayComeInARequest) {
  for (int flags = 1; flags < 256; ++flags) {
    EnvelopeReader reader(100);
    const std::string stream = Enveloped("a", static_cast<uint8_t>(flags));
    std::string_view data = stream;
    ASSERT_EQ(reader.Feed(data), State::kRefused) << flags;
    EXPECT_EQ(reader.refusal().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(reader.refusal().message()),
                HasSubstr(flags == 1 ? "compressed" : "the flags"));
    // Nothing is read afterwards.
    const std::string good = Enveloped("b");
    std::string_view more = good;
    EXPECT_EQ(reader.Feed(more), State::kRefused);
    EXPECT_EQ(more, good);
  }
}

// What the reader makes of the text, in pieces of this size.
absl::StatusOr<std::string> ReadText(std::string_view text, size_t piece) {
  WebTextReader reader;
  std::string bytes;
  while (!text.empty()) {
    const auto part = reader.Feed(text.substr(0, piece));
    if (!part.ok()) return part.status();
    bytes += *part;
    text.remove_prefix(std::min(piece, text.size()));
  }
  const absl::Status end = reader.Finish();
  if (!end.ok()) return end;
  return bytes;
}

TEST(WebText, BytesComeBackHoweverTheyAreCutAndPadded) {
  const std::string bytes = "\x00\xff message\x80"s;
  const std::string text =
      WebText(bytes) + WebText("a") + WebText("ab") + WebText("abc");
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const auto read = ReadText(text, piece);
    ASSERT_TRUE(read.ok()) << piece << read.status();
    EXPECT_EQ(*read, bytes + "aababc");
  }
  EXPECT_EQ(*ReadText("", 1), "");
}

TEST(WebText, OtherTextIsRefused) {
  for (const char* text : {"Y", "YQ", "YQ=", "YQ==Y", "YQ=a",
                           "====", "=YQ=", "YQ==\n", "Y Q=", "éYQ="}) {
    for (const size_t piece : {1, 3, 100}) {
      const auto read = ReadText(text, piece);
      EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument)
          << text;
    }
  }
  WebTextReader reader;
  EXPECT_FALSE(reader.Feed("!!!!").ok());
  EXPECT_FALSE(reader.Feed("YQ==").ok());
  EXPECT_FALSE(reader.Finish().ok());
}

TEST(GrpcWeb, TrailersAreLinesThatNoValueCanAddTo) {
  const std::string block = TrailersBlock(
      {.code = 5, .message = "no é\r\nx: 1 100%", .details = "\x08\x05"},
      {{"x-cost", "1"},
       {"x-bad", "a\r\ngrpc-status: 0"},
       {"x-bin", "\xff"},
       {"grpc-status", "0"}});
  EXPECT_EQ(block,
            "grpc-status: 5\r\n"
            "grpc-message: no %C3%A9%0D%0Ax: 1 100%25\r\n"
            "grpc-status-details-bin: CAU\r\n"
            "x-cost: 1\r\n"
            "x-bin: /w\r\n");
  EXPECT_EQ(TrailersBlock({}, {}), "grpc-status: 0\r\n");
}

}  // namespace
}  // namespace sandglass::gateway
