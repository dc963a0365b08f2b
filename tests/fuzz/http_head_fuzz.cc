// A connection of HTTP/1.1, as a program or a server speaks it to the egress
// proxy: heads and bodies until one is refused. The first byte says which it is
// and how long the pieces are in which it comes; that makes no difference, and
// what goes on is read by its receiver as it was here.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/egress/parse/body_reader.h"
#include "sandbox/egress/parse/http_head.h"
#include "sandbox/egress/parse/response_head.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::egress {
namespace {

constexpr RequestRules kTransparent = {.proxy_forms = false,
                                       .origin_form = true};

bool IsOneLine(const std::string& words) {
  return !words.empty() && std::all_of(words.begin(), words.end(), [](char c) {
    return c >= ' ' && c <= '~';
  });
}

// Feeds pieces; takes what was consumed off `text`.
template <typename Parser>
HeadState FeedAll(Parser& parser, std::string_view& text, size_t piece) {
  HeadState state = HeadState::kNeedMore;
  while (!text.empty() && state == HeadState::kNeedMore) {
    std::string_view data = text.substr(0, piece);
    const size_t before = data.size();
    state = parser.Feed(data);
    text.remove_prefix(before - data.size());
  }
  return state;
}

void CheckFields(const std::vector<HttpField>& fields) {
  FUZZ_CHECK(fields.size() <= kMaxFields);
  for (const HttpField& field : fields) {
    FUZZ_CHECK(IsToken(field.name) && IsFieldValue(field.value));
  }
}

void CheckRequest(const RequestHead& head) {
  CheckFields(head.fields);
  FUZZ_CHECK(IsToken(head.method) && head.port > 0);
  FUZZ_CHECK(!head.host.empty() && head.host.size() <= kMaxHostBytes);
  if (head.form == TargetForm::kAuthority) {
    FUZZ_CHECK(head.framing.kind == BodyFraming::Kind::kNone);
    return;
  }
  const std::string written = SerializeRequestHead(head, true);
  // Longer than what came by what is ours.
  if (written.size() > kMaxHeadBytes || head.fields.size() + 4 > kMaxFields) {
    return;
  }
  RequestRules rules = kTransparent;
  rules.default_port = head.default_port;
  RequestHeadParser parser(rules);
  std::string_view rest = written;
  FUZZ_CHECK(parser.Feed(rest) == HeadState::kComplete && rest.empty());
  const RequestHead& again = parser.head();
  FUZZ_CHECK(again.method == head.method && again.host == head.host);
  FUZZ_CHECK(again.port == head.port && again.path == head.path);
  FUZZ_CHECK(again.framing == head.framing);
  FUZZ_CHECK(again.expect_continue == head.expect_continue);
  FUZZ_CHECK(again.connection.empty() && !again.upgrade);
}

void CheckResponse(const ResponseHead& head, std::string_view method) {
  CheckFields(head.fields);
  FUZZ_CHECK(head.status >= 100 && head.status <= 999 && head.status != 101);
  const std::string written =
      SerializeResponseHead(head, DownstreamFraming(head, 1), true);
  if (written.size() > kMaxHeadBytes || head.fields.size() + 4 > kMaxFields) {
    return;
  }
  ResponseHeadParser parser(method);
  std::string_view rest = written;
  FUZZ_CHECK(parser.Feed(rest) == HeadState::kComplete && rest.empty());
  FUZZ_CHECK(parser.head().status == head.status);
  FUZZ_CHECK(parser.head().framing == head.framing);
}

// What goes on of a body; whether it was whole.
struct Body {
  std::string content;
  std::string chunks;
  bool whole = false;
};

Body ReadBody(const BodyFraming& framing, std::string_view& text,
              size_t piece) {
  BodyReader reader(framing);
  Body body;
  while (!text.empty() && reader.state() == BodyReader::State::kMore) {
    std::string_view data = text.substr(0, piece);
    const size_t before = data.size();
    const std::string_view content = reader.Read(data);
    FUZZ_CHECK(data.size() < before);
    text.remove_prefix(before - data.size());
    body.content += content;
    if (content.empty()) continue;
    AppendChunkHead(content.size(), body.chunks);
    body.chunks.append(content).append(kChunkEnd);
  }
  body.whole = reader.state() == BodyReader::State::kEnd;
  if (reader.state() == BodyReader::State::kRefused) {
    FUZZ_CHECK(IsOneLine(reader.words()));
  }
  return body;
}

bool GoOnBehindBody(const BodyFraming& framing, std::string_view& text,
                    size_t piece) {
  std::string_view at_once = text;
  const Body body = ReadBody(framing, text, piece);
  const Body same = ReadBody(framing, at_once, std::string_view::npos);
  FUZZ_CHECK(body.content == same.content && body.whole == same.whole);
  if (!body.whole) return false;
  FUZZ_CHECK(text == at_once);
  const std::string chunks = body.chunks + std::string(kLastChunk);
  std::string_view rest = chunks;
  const Body again = ReadBody({BodyFraming::Kind::kChunked}, rest, piece);
  FUZZ_CHECK(again.whole && rest.empty() && again.content == body.content);
  return true;
}

// Whether another head follows.
template <typename MakeParser, typename Check>
bool TakeMessage(std::string_view& text, size_t piece, const MakeParser& make,
                 const Check& check) {
  std::string_view at_once = text;
  auto parser = make();
  auto same = make();
  const HeadState state = FeedAll(parser, text, piece);
  FUZZ_CHECK(state == FeedAll(same, at_once, std::string_view::npos));
  FUZZ_CHECK(text == at_once);
  if (state == HeadState::kRefused) {
    FUZZ_CHECK(IsOneLine(parser.refusal().words));
    FUZZ_CHECK(parser.refusal().words == same.refusal().words);
    FUZZ_CHECK(parser.refusal().status >= 400);
  }
  if (state != HeadState::kComplete) return false;
  check(parser.head());
  return GoOnBehindBody(parser.head().framing, text, piece);
}

void Run(fuzz::Input input) {
  const uint8_t first = input.Byte();
  const size_t piece = 1 + (first >> 2) % 16;
  std::string_view text = input.Rest();
  bool more = true;
  while (more && !text.empty()) {
    if ((first & 2) == 0) {
      const RequestRules rules =
          (first & 1) != 0 ? kTransparent : RequestRules();
      more = TakeMessage(
          text, piece, [&] { return RequestHeadParser(rules); }, CheckRequest);
    } else {
      const std::string_view method = (first & 1) != 0 ? "HEAD" : "GET";
      more = TakeMessage(
          text, piece, [&] { return ResponseHeadParser(method); },
          [&](const ResponseHead& head) { CheckResponse(head, method); });
    }
  }
}

}  // namespace
}  // namespace sandglass::egress

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::egress::Run({data, size});
  return 0;
}
