// A program's bytes on a person's terminal: nothing comes out that could move
// the cursor, change the terminal or turn text around, however the bytes are
// cut into pieces. The first byte cuts them.
#include <algorithm>
#include <string>
#include <string_view>

#include "client/base/terminal_filter.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/terminal.h"

namespace sandglass::client {
namespace {

std::string Filtered(absl::string_view bytes, size_t piece) {
  TerminalFilter filter;
  std::string out;
  while (!bytes.empty()) {
    const absl::string_view next = bytes.substr(0, piece);
    out += filter.Feed(next);
    bytes.remove_prefix(next.size());
  }
  return out + filter.Finish();
}

}  // namespace
}  // namespace sandglass::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace client = sandglass::client;
  sandglass::fuzz::Input input(data, size);
  const size_t piece = size_t{input.Byte()} % 8 + 1;
  const std::string_view rest = input.Rest();
  const absl::string_view bytes(rest.data(), rest.size());
  const std::string whole = client::Filtered(bytes, bytes.size() + 1);
  sandglass::fuzz::CheckHarmless(whole, sandglass::fuzz::Lines::kMany);
  FUZZ_CHECK(client::Filtered(bytes, piece) == whole);
  // What is harmless stays as it is.
  FUZZ_CHECK(client::Filtered(whole, piece) == whole);
  const std::string visible = client::VisibleText(bytes);
  sandglass::fuzz::CheckHarmless(visible, sandglass::fuzz::Lines::kOne);
  FUZZ_CHECK(client::IsPlainText(visible));
  FUZZ_CHECK(client::IsPlainText(bytes) == (visible == bytes));
  FUZZ_CHECK(client::FindInvalidUtf8(visible) == absl::string_view::npos);
  return 0;
}
