#include "gateway/connect/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "gateway/connect/stream.h"
#include "gateway/connect/unary.h"
#include "tests/unit/gateway/connect/support.h"

namespace sandglass::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;
  EXPECT_EQ(::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip,
                           kMemory, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return out;
}

TEST(GzipTest, UnpacksOneMember) {
  for (const std::string& text :
       {std::string(), std::string("abc"), std::string(1 << 20, 'x')}) {
    const auto content = Gunzip(Gzip(text), 1 << 20);
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(*content, text);
  }
}

TEST(GzipTest, RefusesBombsWithoutUnpackingThem) {
  // A gibibyte is a mebibyte of gzip; no more is unpacked than may be.
  const std::string bomb = Gzip(std::string(64 << 20, '\0'));
  EXPECT_LT(bomb.size(), 100'000u);
  for (const size_t most :
       {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 20}) {
    const auto content = Gunzip(bomb, most);
    EXPECT_EQ(content.status().code(), absl::StatusCode::kResourceExhausted)
        << most;
  }
}

TEST(GzipTest, RefusesWhatIsNone) {
  const std::string good = Gzip("some text that is long enough to be cut");
  std::vector<std::string> bad = {"", "x", "{}", good + "x", good + good};
  for (size_t size = 0; size < good.size(); ++size) {
    bad.push_back(good.substr(0, size));
  }
  for (size_t i = 0; i < good.size(); ++i) {
    // But for the time, the flags of the packer and the system's name.
    if (i >= 4 && i <= 9) continue;
    std::string broken = good;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    bad.push_back(broken);
  }
  for (const std::string& bytes : bad) {
    EXPECT_EQ(Gunzip(bytes, 1000).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bytes.size();
  }
}

TEST(GzipTest, OfACallAndOfAStreamsMessages) {
  CallHead unary = CallOf(kRunPath, Protocol::kConnectUnary, Codec::kProto);
  unary.gzip = true;
  const auto request = UnaryRequest(unary, Gzip("abc"), {});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(*request, "abc");
  EXPECT_FALSE(UnaryRequest(unary, "abc", {}).ok());

  CallHead stream = CallOf("/sandglass.v1.FileService/WriteFile",
                           Protocol::kConnectStream, Codec::kProto);
  stream.gzip = true;
  StreamReader reader(stream, {});
  std::vector<std::string> messages;
  // Each of them says by itself whether it is.
  ASSERT_TRUE(reader
                  .Feed(Enveloped(Gzip("one"), kCompressedFlag) +
                            Enveloped("two") +
                            Enveloped(Gzip("three"), kCompressedFlag),
                        messages)
                  .ok());
  EXPECT_THAT(messages, ElementsAre("one", "two", "three"));
  messages.clear();
  EXPECT_THAT(
      reader.Feed(Enveloped("none", kCompressedFlag), messages).message(),
      HasSubstr("gzip"));
}

}  // namespace
}  // namespace sandglass::gateway
