#include "gateway/connect/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "gateway/connect/connect_errors.h"
#include "server/base/errors.h"

namespace sandglass::gateway {
namespace {

// zlib's number for gzip's head and check, with the largest window.
constexpr int kGzip = 16 + MAX_WBITS;
constexpr size_t kFirstBytes = 16 << 10;

}  // namespace

absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t max_bytes) {
  z_stream stream = {};
  if (::inflateInit2(&stream, kGzip) != Z_OK) {
    return absl::ResourceExhaustedError("there is no memory to unpack gzip");
  }
  const absl::Cleanup end = [&stream] { ::inflateEnd(&stream); };
  // zlib only reads it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string content;
  size_t size = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    if (size == content.size()) {
      if (size > max_bytes) {
        return server::MessageTooLarge(size, max_bytes);
      }
      // One byte more shows that there is more.
      content.resize(std::min(std::max(2 * size, kFirstBytes), max_bytes + 1));
    }
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + size);
    stream.avail_out = static_cast<uInt>(content.size() - size);
    result = ::inflate(&stream, Z_NO_FLUSH);
    size = content.size() - stream.avail_out;
  }
  if (size > max_bytes) return server::MessageTooLarge(size, max_bytes);
  if (result != Z_STREAM_END) return BadGzip("isn't gzip, or is cut off");
  if (stream.avail_in > 0) return BadGzip("has something behind its end");
  content.resize(size);
  return content;
}

}  // namespace sandglass::gateway
