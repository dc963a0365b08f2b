// A program's output on its way into the answer: the note of its end is found
// and taken out however the output is cut into pieces, and of the rest the
// buffer keeps what it promises. The first byte cuts the pieces, the next two
// are the buffer's limit; of the output, 0xff stands for the note's word.
#include <algorithm>
#include <string>
#include <string_view>

#include "sandbox/jail/job_frame.h"
#include "server/job/end_marker.h"
#include "server/job/output_buffer.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::server {
namespace {

struct Taken {
  std::string output;
  std::optional<int> exit_code;
};

Taken InPieces(const std::string& word, std::string_view output, size_t piece) {
  EndMarker note(word);
  Taken taken;
  while (!output.empty()) {
    const size_t size = std::min(piece, output.size());
    taken.output += note.Feed(output.substr(0, size));
    output.remove_prefix(size);
  }
  taken.output += note.Rest();
  taken.exit_code = note.exit_code();
  return taken;
}

// The same done simply.
Taken Wanted(const std::string& word, const std::string& output) {
  for (size_t at = output.find(word); at != std::string::npos;
       at = output.find(word, at + 1)) {
    const size_t digits = at + word.size();
    const size_t end =
        std::min(output.find_first_not_of("0123456789", digits), output.size());
    if (end == digits || end - digits > 3 || end == output.size() ||
        output[end] != '\n') {
      continue;
    }
    const int code = std::stoi(output.substr(digits, end - digits));
    if (code > 255) continue;
    return {output.substr(0, at) + output.substr(end + 1), code};
  }
  return {output, std::nullopt};
}

void CheckBuffer(std::string_view output, size_t piece, uint64_t limit) {
  OutputBuffer buffer(limit);
  for (std::string_view rest = output; !rest.empty();) {
    const size_t size = std::min(piece, rest.size());
    buffer.Append(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  const StreamResult result = buffer.Collect();
  FUZZ_CHECK(result.total_bytes == output.size());
  FUZZ_CHECK(result.truncated == (output.size() > limit));
  // On each side of what is left out up to three bytes of a character go, too.
  FUZZ_CHECK(result.data.size() <= limit);
  FUZZ_CHECK(result.data.size() + (result.truncated ? 6 : 0) >=
             std::min<size_t>(limit, output.size()));
  FUZZ_CHECK(result.head_bytes <= result.data.size());
  FUZZ_CHECK(result.data.substr(0, result.head_bytes) ==
             output.substr(0, result.head_bytes));
  const size_t tail = result.data.size() - result.head_bytes;
  FUZZ_CHECK(result.data.substr(result.head_bytes) ==
             output.substr(output.size() - tail));
}

}  // namespace
}  // namespace sandglass::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::fuzz::Input input(data, size);
  const size_t piece = size_t{input.Byte()} + 1;
  const uint64_t limit = input.Short();
  const std::string word =
      sandglass::sandbox::EndWord("0123456789abcdef0123456789abcdef");
  std::string output;
  for (const char c : input.Rest()) {
    if (c == '\xff') {
      output += word;
    } else {
      output += c;
    }
  }
  const auto wanted = sandglass::server::Wanted(word, output);
  const auto taken = sandglass::server::InPieces(word, output, piece);
  FUZZ_CHECK(taken.output == wanted.output);
  FUZZ_CHECK(taken.exit_code == wanted.exit_code);
  sandglass::server::CheckBuffer(output, piece, limit);
  return 0;
}
