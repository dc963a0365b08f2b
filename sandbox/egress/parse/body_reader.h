#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/egress/parse/http_fields.h"

// Bodies of HTTP/1.1 messages (RFC 9112, sections 6 and 7).
namespace sandglass::egress {

// The most hexadecimal digits of a chunk's size, leading zeros included: as
// many as kMaxContentLength has.
inline constexpr size_t kMaxChunkDigits = 16;
// The most bytes of all chunk extensions of a body together. Nobody needs
// extensions, and one for each byte of a body would cost more than the body.
inline constexpr size_t kMaxExtensionBytes = size_t{4} << 10;
// The most bytes of the trailers, with their line ends. Where there are
// trailers, they are few.
inline constexpr size_t kMaxTrailerBytes = size_t{8} << 10;

// Finds out which bytes of a stream are the content of one body, and where the
// body ends. Nothing is copied, and only counts are kept. Chunks are taken
// apart: what is passed on has to be framed anew, with AppendChunkHead and its
// neighbours, so that no sizes, extensions and trailers get through that two
// servers may read differently. Extensions and trailers are dropped.
class BodyReader {
 public:
  enum class State : uint8_t { kMore, kEnd, kRefused };

  explicit BodyReader(const BodyFraming& framing);

  // Consumes bytes from the front of `data`: at least one while the state is
  // kMore and there is one, but none beyond the body. Returns the content among
  // them, which is a piece of `data` and may be empty. Call it until `data` is
  // empty or state() isn't kMore; then it consumes nothing more.
  std::string_view Read(std::string_view& data);

  // kEnd at once where there is no body. Never kEnd with kUntilClose: see
  // AtClose.
  State state() const { return state_; }
  // With kRefused: one line that says what was wrong. The connection can't be
  // used any further.
  const std::string& words() const { return words_; }

  // Call when the connection was closed for reading. Returns whether the body
  // is complete.
  bool AtClose() const;

 private:
  // Where in the chunked body the next byte is.
  enum class Place : uint8_t {
    kSize,         // digits of a size
    kExtension,    // what follows the digits
    kSizeLf,       // LF of the size's line
    kData,         // content
    kDataCr,       // the line end after the content
    kDataLf,       //
    kTrailer,      // at the beginning of a line
    kTrailerLine,  // inside of a line
    kTrailerLf,    // LF of that line
    kLastLf,       // LF of the empty line
  };

  std::string_view ConsumeContent(std::string_view& data);
  void ParseByte(char c);
  void ParseSize(char c);
  void ParseExtension(char c);
  void ParseTrailer(char c);
  void EndOfSize();
  void Expect(char c, char wanted, Place next);
  void Refuse(std::string words);

  BodyFraming::Kind kind_;
  State state_ = State::kMore;
  Place place_ = Place::kSize;
  uint64_t left_ = 0;             // bytes of the content or of the chunk
  size_t digits_ = 0;             // of the size, read so far
  bool extension_named_ = false;  // there was a ";"
  size_t extension_bytes_ = 0;
  size_t trailer_bytes_ = 0;
  std::string words_;
};

// A chunk consists of its head, `size` bytes of content (at least 1, because 0
// would end the body) and kChunkEnd. After the last one comes kLastChunk.
void AppendChunkHead(uint64_t size, std::string& out);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_
