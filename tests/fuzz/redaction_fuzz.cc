// Redaction patterns and a text for them: what is taken compiles, and how the
// text is cut makes no difference. Two patterns with a length before each, then
// the text; its pieces are as long as its own bytes say.
#include <algorithm>

#include "policy/redaction/redaction.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

void Run(fuzz::Input input) {
  std::vector<Redactor::Pattern> patterns;
  for (const char* name : {"first", "second"}) {
    auto pattern = RedactionPattern::Compile(input.Text());
    if (!pattern.ok()) {
      FUZZ_CHECK(absl::IsInvalidArgument(pattern.status()));
      continue;
    }
    FUZZ_CHECK(pattern->nodes().size() <= RedactionPattern::kMaxNodes);
    patterns.push_back({name, *std::move(pattern)});
  }
  const auto redactor = Redactor::Create(std::move(patterns));
  if (!redactor.ok()) return;
  const std::string_view text = input.Rest();
  RedactionCounts counts;
  const std::string whole = (*redactor)->Redact(text, &counts);
  if (counts.empty()) FUZZ_CHECK(whole == text);

  StreamRedactor stream(*redactor);
  std::string pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + static_cast<uint8_t>(text[at]) % 16;
    stream.Write(text.substr(at, size), pieces);
    at += std::min(size, text.size() - at);
  }
  stream.Finish(pieces);
  FUZZ_CHECK(pieces == whole);
  FUZZ_CHECK(stream.counts() == counts);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
