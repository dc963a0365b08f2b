#include "sandbox/egress/parse/body_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::egress {
namespace {

using ::testing::HasSubstr;
using Kind = BodyFraming::Kind;
using State = BodyReader::State;

constexpr BodyFraming kChunked = {Kind::kChunked};

struct Outcome {
  State state = State::kMore;
  std::string content;
  std::string rest;  // what isn't the body's
  std::string words;
  bool whole = false;
};

Outcome Read(const BodyFraming& framing, std::string_view text,
             size_t piece = std::string::npos) {
  BodyReader reader(framing);
  Outcome outcome;
  while (!text.empty() && reader.state() == State::kMore) {
    std::string_view data = text.substr(0, piece);
    const size_t before = data.size();
    const std::string_view content = reader.Read(data);
    EXPECT_LT(data.size(), before) << "nothing was taken";
    outcome.content.append(content);
    text.remove_prefix(before - data.size());
  }
  outcome.state = reader.state();
  outcome.rest = std::string(text);
  outcome.words = reader.words();
  outcome.whole = reader.AtClose();
  return outcome;
}

void ExpectRefused(const std::string& text, const std::string& words) {
  for (const size_t piece : {std::string::npos, size_t{1}}) {
    const Outcome outcome = Read(kChunked, text, piece);
    EXPECT_EQ(outcome.state, State::kRefused) << text.substr(0, 100);
    EXPECT_THAT(outcome.words, HasSubstr(words));
    EXPECT_FALSE(outcome.whole);
  }
}

TEST(BodyReaderTest, WithoutABodyTakesNothing) {
  for (const BodyFraming& framing :
       {BodyFraming{Kind::kNone}, BodyFraming{Kind::kLength, 0}}) {
    BodyReader reader(framing);
    EXPECT_EQ(reader.state(), State::kEnd);
    std::string_view data = "GET";
    EXPECT_EQ(reader.Read(data), "");
    EXPECT_EQ(data, "GET");
    EXPECT_TRUE(reader.AtClose());
  }
}

TEST(BodyReaderTest, ReadsABodyOfALength) {
  for (size_t piece = 1; piece < 8; ++piece) {
    const Outcome outcome = Read({Kind::kLength, 5}, "12345GET", piece);
    EXPECT_EQ(outcome.state, State::kEnd);
    EXPECT_EQ(outcome.content, "12345");
    EXPECT_EQ(outcome.rest, "GET");
  }
  const Outcome cut = Read({Kind::kLength, 5}, "1234");
  EXPECT_EQ(cut.state, State::kMore);
  EXPECT_FALSE(cut.whole);
}

TEST(BodyReaderTest, ContentIsNotCopied) {
  BodyReader reader({Kind::kLength, kMaxContentLength});
  const std::string text(1000, 'x');
  std::string_view data = text;
  const std::string_view content = reader.Read(data);
  EXPECT_EQ(content.data(), text.data());
  EXPECT_EQ(content.size(), text.size());
  EXPECT_TRUE(data.empty());
}

TEST(BodyReaderTest, ReadsUntilTheConnectionIsClosed) {
  const Outcome outcome = Read({Kind::kUntilClose}, "anything\r\n0\r\n\r\n", 3);
  EXPECT_EQ(outcome.state, State::kMore);
  EXPECT_EQ(outcome.content, "anything\r\n0\r\n\r\n");
  EXPECT_TRUE(outcome.whole);
}

TEST(BodyReaderTest, ReadsChunksHoweverTheyAreCut) {
  const std::string body =
      "5\r\nhello\r\n0000A ;a=\"b;\";c\r\n, chunked \r\n"
      "1\t \r\n\n\r\n00\r\nTrailer: x\r\nY:\r\n\r\n";
  for (size_t piece = 1; piece <= body.size(); ++piece) {
    const Outcome outcome = Read(kChunked, body + "GET", piece);
    ASSERT_EQ(outcome.state, State::kEnd) << outcome.words;
    EXPECT_EQ(outcome.content, "hello, chunked \n");
    EXPECT_EQ(outcome.rest, "GET");
  }
  for (size_t cut = 0; cut < body.size(); ++cut) {
    const Outcome outcome = Read(kChunked, body.substr(0, cut));
    EXPECT_EQ(outcome.state, State::kMore);
    EXPECT_FALSE(outcome.whole);
  }
}

TEST(BodyReaderTest, ReadsAnEmptyChunkedBody) {
  const Outcome outcome = Read(kChunked, "0\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(outcome.state, State::kEnd);
  EXPECT_EQ(outcome.content, "");
  EXPECT_EQ(outcome.rest, "0\r\n\r\n");
}

TEST(BodyReaderTest, MalformedSizesAreRefused) {
  ExpectRefused("\r\n", "begins with");
  ExpectRefused("g\r\n", "begins with \"g\"");
  ExpectRefused(" 5\r\n", "begins with");
  ExpectRefused("-1\r\n", "begins with");
  ExpectRefused("+5\r\n", "begins with");
  ExpectRefused(";a\r\n", "begins with");
  ExpectRefused("0x5\r\n", "behind a chunk's size there is \"x\"");
  ExpectRefused("5 5\r\n", "behind a chunk's size");
  // Although the chunk before it has an extension.
  ExpectRefused("1;a\r\nx\r\n1 b\r\n", "there is \"b\"");
  ExpectRefused("5\nhello", "behind a chunk's size");
  ExpectRefused("5;a\nhello", "behind a chunk's size");
  ExpectRefused(std::string("5;\0\r\n", 5), "behind a chunk's size");
  ExpectRefused("5\rhello", "instead of \"\\n\"");
  ExpectRefused("5\r\r\n", "instead of \"\\n\"");
}

TEST(BodyReaderTest, SizesHaveABound) {
  EXPECT_EQ(Read(kChunked, "7fffffffffffffff\r\nx").content, "x");
  EXPECT_EQ(Read(kChunked, "0000000000000001\r\nx").content, "x");
  ExpectRefused("8000000000000000\r\n", "above 9223372036854775807");
  ExpectRefused("10000000000000005\r\n", "16 digits");
  ExpectRefused("00000000000000001\r\n", "16 digits");
  ExpectRefused(std::string(1000, '0'), "16 digits");
}

TEST(BodyReaderTest, ChunksAreAsLongAsTheySay) {
  ExpectRefused("5\r\nhello!\r\n", "there is \"!\"");
  ExpectRefused("5\r\nhell\r\n0\r\n\r\n", "instead of \"\\r\"");
  ExpectRefused("5\r\nhello\n0\r\n\r\n", "instead of \"\\r\"");
  ExpectRefused("5\r\nhello\r0\r\n\r\n", "instead of \"\\n\"");
  ExpectRefused("0\r\n\rX", "instead of \"\\n\"");
}

TEST(BodyReaderTest, ExtensionsHaveABoundTogether) {
  const std::string half(kMaxExtensionBytes / 2 - 1, 'x');
  const std::string chunk = "1;" + half + "\r\nx\r\n";
  EXPECT_EQ(Read(kChunked, chunk + chunk + "0\r\n\r\n").state, State::kEnd);
  ExpectRefused(chunk + chunk + "0;", "4096 bytes of chunk extensions");
}

TEST(BodyReaderTest, TrailersHaveABoundAndNoControlCharacters) {
  const std::string start = "0\r\nX: ";
  const std::string left(kMaxTrailerBytes - 5, 'x');
  EXPECT_EQ(Read(kChunked, start + left + "\r\n\r\n").state, State::kEnd);
  ExpectRefused(start + left + "x\r\n\r\n", "8192 bytes of trailers");
  ExpectRefused("0\r\nX: a\nY: b\r\n\r\n", "a trailer has");
  ExpectRefused("0\r\n\n", "a trailer has");
  ExpectRefused("0\r\nX: a\rY", "instead of \"\\n\"");
  ExpectRefused(std::string("0\r\nX: \0\r\n", 9), "a trailer has");
}

TEST(BodyReaderTest, ChunksAreWrittenPlainly) {
  std::string out;
  for (const std::string_view content :
       {std::string_view("hello"), std::string_view("0123456789abcdef")}) {
    AppendChunkHead(content.size(), out);
    out.append(content).append(kChunkEnd);
  }
  out.append(kLastChunk);
  EXPECT_EQ(out, "5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
  const Outcome outcome = Read(kChunked, out);
  EXPECT_EQ(outcome.state, State::kEnd);
  EXPECT_EQ(outcome.content, "hello0123456789abcdef");
}

}  // namespace
}  // namespace sandglass::egress
