// What a program sends first where TLS is expected. The first byte says in how
// long pieces; that makes no difference.
#include <algorithm>
#include <string>
#include <string_view>

#include "sandbox/egress/parse/client_hello.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::egress {
namespace {

using State = ClientHelloParser::State;

// How many bytes it took to come to an end is in `needed`.
State FeedAll(ClientHelloParser& parser, std::string_view text, size_t piece,
              size_t& needed) {
  needed = 0;
  while (needed < text.size() && parser.state() == State::kNeedMore) {
    const std::string_view data = text.substr(needed, piece);
    parser.Feed(data);
    needed += data.size();
  }
  return parser.state();
}

void CheckHello(const ClientHello& hello) {
  if (hello.server_name) {
    FUZZ_CHECK(!hello.server_name->empty());
    FUZZ_CHECK(hello.server_name->size() <= kMaxServerNameBytes);
    FUZZ_CHECK(std::all_of(
        hello.server_name->begin(), hello.server_name->end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '.' || c == '_';
        }));
  }
  for (const std::string& protocol : hello.alpn) {
    FUZZ_CHECK(!protocol.empty() && protocol.size() <= 255);
  }
}

void Run(fuzz::Input input) {
  const size_t piece = 2 + input.Byte() % 64;
  const std::string_view text = input.Rest();
  size_t needed = 0;
  size_t min = 0;
  ClientHelloParser parser;
  ClientHelloParser same;
  FUZZ_CHECK(FeedAll(parser, text, piece, needed) ==
             FeedAll(same, text, 1, min));
  FUZZ_CHECK(min <= needed && min <= kMaxClientHelloInput);
  FUZZ_CHECK(parser.hello().server_name == same.hello().server_name);
  FUZZ_CHECK(parser.hello().alpn == same.hello().alpn);
  if (parser.state() == State::kComplete) CheckHello(parser.hello());
  if (parser.state() == State::kRefused) {
    FUZZ_CHECK(!parser.words().empty());
    FUZZ_CHECK(!parser.hello().server_name && parser.hello().alpn.empty());
  }
  // It doesn't change its mind.
  FUZZ_CHECK(parser.state() == State::kNeedMore ||
             parser.Feed(text) == same.state());
}

}  // namespace
}  // namespace sandglass::egress

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::egress::Run({data, size});
  return 0;
}
