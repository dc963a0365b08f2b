#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/egress/parse/http_fields.h"

// Bodies of HTTP/1.1 messages (RFC 9112, sections 6 and 7).
namespace sandglass::egress {

// Hexadecimal digits of a chunk's size: those of kMaxContentLength. Zeros in
// front count.
inline constexpr size_t kMaxChunkDigits = 16;
// Of all chunk extensions of a body, in bytes: nobody needs them, and with one
// for each byte of a body they would cost more than it does.
inline constexpr size_t kMaxExtensionBytes = size_t{4} << 10;
// Of the trailers, with their line ends; they are few where there are any.
inline constexpr size_t kMaxTrailerBytes = size_t{8} << 10;

// Says which bytes of a stream are the content of one body, and where it ends.
// Nothing is copied, and nothing is kept but counts. Chunks are taken apart:
// what goes on is to be framed anew, with AppendChunkHead and its neighbours,
// so that no sizes, extensions and trailers go through that two servers may
// read differently. Extensions and trailers are dropped.
class BodyReader {
 public:
  enum class State : uint8_t { kMore, kEnd, kRefused };

  explicit BodyReader(const BodyFraming& framing);

  // Takes bytes from the front of `data`, at least one as long as it is kMore
  // and there is one, and none behind the body. Returns the content among
  // them: a piece of `data`, perhaps empty. Call it until `data` is empty or
  // state() isn't kMore; then it takes nothing more.
  std::string_view Read(std::string_view& data);

  // kEnd at once where there is no body. With kUntilClose never: see AtClose.
  State state() const { return state_; }
  // With kRefused: what was wrong, one line. The connection can't go on.
  const std::string& words() const { return words_; }

  // The connection was closed for reading. Whether the body is whole.
  bool AtClose() const;

 private:
  // Where in the chunks the next byte is.
  enum class Place : uint8_t {
    kSize,         // digits of a size
    kExtension,    // behind them
    kSizeLf,       // LF of the line
    kData,         // content
    kDataCr,       // the line end behind the content
    kDataLf,       //
    kTrailer,      // at the beginning of a line
    kTrailerLine,  // inside
    kTrailerLf,    // LF of it
    kLastLf,       // LF of the empty line
  };

  std::string_view TakeContent(std::string_view& data);
  void TakeByte(char c);
  void TakeSize(char c);
  void TakeExtension(char c);
  void TakeTrailer(char c);
  void EndOfSize();
  void Expect(char c, char wanted, Place next);
  void Refuse(std::string words);

  BodyFraming::Kind kind_;
  State state_ = State::kMore;
  Place place_ = Place::kSize;
  uint64_t left_ = 0;             // of the content, or of the chunk
  size_t digits_ = 0;             // of the size
  bool extension_named_ = false;  // there was a ";"
  size_t extension_bytes_ = 0;
  size_t trailer_bytes_ = 0;
  std::string words_;
};

// A chunk is its head, `size` bytes of content (at least 1: 0 would end the
// body) and kChunkEnd; behind the last one comes kLastChunk.
void AppendChunkHead(uint64_t size, std::string& out);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_BODY_READER_H_
