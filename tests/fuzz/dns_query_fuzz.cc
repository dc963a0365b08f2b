// Queries of DNS by a program, one datagram each. Every answer fits into a
// datagram and is about what was asked.
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

void Run(fuzz::Input input) {
  input.Byte();
  Take(input.Rest());
}

}  // namespace
}  // namespace sandglass::egress

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::egress::Run({data, size});
  return 0;
}
