// Queries of DNS by a program. The first byte says whether it is one datagram
// or a stream, and in how long pieces that comes. Every answer fits into a
// datagram and is about what was asked.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/egress/parse/dns_message.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::egress {
namespace {

using Kind = ParsedDns::Kind;

void CheckAnswer(const std::string& answer, std::string_view message) {
  FUZZ_CHECK(answer.size() >= 12 && answer.size() <= kMaxDnsAnswerBytes);
  FUZZ_CHECK(answer.substr(0, 2) == message.substr(0, 2));
  // An answer is never answered.
  FUZZ_CHECK(ParseDnsQuery(answer).kind == Kind::kDrop);
}

void CheckQuery(const DnsQuery& query, std::string_view message) {
  FUZZ_CHECK(query.name.size() <= 253);
  FUZZ_CHECK(message.substr(12, query.question.size()) == query.question);
  // The question alone is a query for the same.
  std::string again = std::string(message.substr(0, 12)) + query.question;
  again[11] = 0;
  const ParsedDns same = ParseDnsQuery(again);
  FUZZ_CHECK(same.kind == Kind::kQuery && same.query.name == query.name);
  FUZZ_CHECK(same.query.type == query.type && !same.query.edns);

  const std::vector<std::string> addresses = {
      std::string(4, 'a'), std::string(16, 'b'), std::string(3, 'c')};
  const std::string answer = BuildDnsAddresses(query, addresses, 60);
  CheckAnswer(answer, message);
  const bool known = query.type == kDnsTypeA || query.type == kDnsTypeAaaa;
  FUZZ_CHECK(answer[6] == 0 && answer[7] == (known ? 1 : 0));
  CheckAnswer(
      BuildDnsAddresses(query, std::vector<std::string>(99, addresses[0]), 60),
      message);
}

void Take(std::string_view message) {
  const ParsedDns parsed = ParseDnsQuery(message);
  if (parsed.kind == Kind::kQuery) {
    CheckQuery(parsed.query, message);
  } else {
    FUZZ_CHECK(!parsed.words.empty());
  }
  if (parsed.kind == Kind::kError) {
    FUZZ_CHECK(parsed.code != DnsCode::kNoError);
    CheckAnswer(BuildDnsAnswer(parsed.query, parsed.code), message);
  }
}

std::vector<std::string> Messages(std::string_view stream, size_t piece) {
  DnsStreamReader reader;
  std::vector<std::string> messages;
  auto state = DnsStreamReader::State::kNeedMore;
  while (!stream.empty() && state != DnsStreamReader::State::kRefused) {
    std::string_view data = stream.substr(0, piece);
    const size_t before = data.size();
    state = reader.Next(data);
    FUZZ_CHECK(data.size() < before);
    stream.remove_prefix(before - data.size());
    if (state == DnsStreamReader::State::kMessage) {
      FUZZ_CHECK(reader.message().size() <= kMaxDnsQueryBytes);
      messages.push_back(reader.message());
    }
  }
  return messages;
}

void Run(fuzz::Input input) {
  const uint8_t first = input.Byte();
  const std::string_view rest = input.Rest();
  if (first == 0) return Take(rest);
  const std::vector<std::string> messages = Messages(rest, first);
  FUZZ_CHECK(messages == Messages(rest, std::string_view::npos));
  std::string stream;
  for (const std::string& message : messages) {
    Take(message);
    stream += FrameDnsMessage(message);
  }
  FUZZ_CHECK(stream == rest.substr(0, stream.size()));
}

}  // namespace
}  // namespace sandglass::egress

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::egress::Run({data, size});
  return 0;
}
