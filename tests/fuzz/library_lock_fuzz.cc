// Lock files. What the installer gets of one is plain text of names, versions
// and checksums, and the same again when it is read once more. A byte for the
// ecosystem, a library with a length before it, then the lock.
#include <algorithm>

#include "policy/libraries/library_lock.h"
#include "policy/libraries/library_policy.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string FileOf(const LibrarySet& set, const std::string& path) {
  for (const LockFile& file : LockFiles(set)) {
    if (file.path == path) return file.text;
  }
  return "";
}

void CheckFile(const LockFile& file) {
  FUZZ_CHECK(file.path.rfind("lock/", 0) == 0 && !Has(file.path, ".."));
  FUZZ_CHECK(std::all_of(file.text.begin(), file.text.end(), [](char c) {
    return (c >= 0x20 && c <= 0x7e) || c == '\n' || c == '\t';
  }));
  for (const char* part : {"://", "..", "git+", "file:", "$", "`", "\n-", "\n/",
                           "\n.", "@ ", " -r", " -e"}) {
    FUZZ_CHECK(!Has(file.text, part));
  }
  FUZZ_CHECK(file.text.rfind("-", 0) != 0);
}

// The form that the lock came in; empty: what is written isn't that form.
std::string Again(const LibrarySet& set) {
  switch (set.ecosystem()) {
    case Ecosystem::kPython:
      return FileOf(set, "lock/hashes.txt");
    case Ecosystem::kNode:
      return FileOf(set, "lock/package-lock.json");
    case Ecosystem::kGo:
      return FileOf(set, "lock/go.sum");
    case Ecosystem::kRuby:
    case Ecosystem::kJava:
      break;
  }
  return "";
}

void Check(const LibrarySet& set, const std::vector<std::string>& texts) {
  FUZZ_CHECK(!set.libraries().empty());
  FUZZ_CHECK(!set.lock()->entries.empty());
  FUZZ_CHECK(set.lock()->entries.size() <= kMaxLockEntries);
  for (const Library& entry : set.lock()->entries) {
    const auto again = ParseLibrary(entry.ecosystem, entry.ToArgument());
    FUZZ_CHECK(again.ok() && *again == entry);
  }
  for (const Library& asked : set.libraries()) {
    const bool there = std::any_of(
        set.lock()->entries.begin(), set.lock()->entries.end(),
        [&](const Library& entry) { return entry.name == asked.name; });
    FUZZ_CHECK(there);
  }
  for (const LockFile& file : LockFiles(set)) CheckFile(file);
  const std::string text = Again(set);
  if (text.empty() || text.size() > kMaxLockBytes) return;
  const auto again = ParseLibraryRequest(set.ecosystem(), texts, text);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(LockFiles(*again) == LockFiles(set));
  LibraryPolicy policy;
  LibraryRules& rules = policy.rules[set.ecosystem()];
  FUZZ_CHECK(Decide(policy, set).allowed);
  auto deny =
      LibraryPattern::Parse(set.ecosystem(), set.lock()->entries.back().name);
  if (!deny.ok()) return;
  rules.deny = {*deny};
  FUZZ_CHECK(!Decide(policy, set).allowed);
}

void Run(fuzz::Input input) {
  const Ecosystem ecosystem =
      kEcosystems[input.Byte() % std::size(kEcosystems)];
  std::vector<std::string> texts = {input.Text()};
  if (texts[0].empty()) texts.clear();
  const auto set =
      ParseLibraryRequest(ecosystem, texts, std::string(input.Rest()));
  if (!set.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(set.status()));
    return;
  }
  if (set->lock() != nullptr) Check(*set, texts);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
