#include "policy/language/placeholders.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr std::string_view kOpen = "${";
constexpr std::string_view kSources = "${sources}";
constexpr std::string_view kJvmNetwork = "${jvm_network}";
constexpr uint64_t kMiB = uint64_t{1} << 20;

bool IsKnown(std::string_view name, PlaceholderUse use) {
  if (name == "prepared" || name == "memory_mib" || name == "heap_mib" ||
      name == "cpus") {
    return true;
  }
  return name == "source" && (use == PlaceholderUse::kCommand ||
                              use == PlaceholderUse::kWithSource);
}

// Whether it is a placeholder that stands for whole words.
bool IsWholeWord(std::string_view text, PlaceholderUse use) {
  return (text == kSources && use == PlaceholderUse::kCommand) ||
         (text == kJvmNetwork &&
          (use == PlaceholderUse::kCommand || use == PlaceholderUse::kAhead));
}

std::string_view KnownWords(PlaceholderUse use) {
  switch (use) {
    case PlaceholderUse::kCommand:
      return "${source}, ${sources}, ${jvm_network}, ";
    case PlaceholderUse::kWithSource:
      return "${source}, ";
    case PlaceholderUse::kAhead:
      return "${jvm_network}, ";
    case PlaceholderUse::kWithoutCode:
      return "";
  }
  return "";
}

}  // namespace

std::string CheckPlaceholders(std::string_view text, PlaceholderUse use) {
  if (IsWholeWord(text, use)) return "";
  for (size_t at = text.find(kOpen); at != std::string_view::npos;
       at = text.find(kOpen, at + 1)) {
    const size_t close = text.find('}', at);
    if (close == std::string_view::npos) return "\"${\" has no \"}\"";
    const std::string_view name = text.substr(at + 2, close - at - 2);
    if (IsKnown(name, use)) continue;
    const std::string_view whole = text.substr(at, close + 1 - at);
    if (IsWholeWord(whole, use)) {
      return absl::StrCat("\"", AbslView(whole),
                          "\" has to be a word of its own");
    }
    return absl::StrCat("there is no \"", AbslView(whole),
                        "\" here; there are: ", AbslView(KnownWords(use)),
                        "${prepared}, ${memory_mib}, ${heap_mib}, ${cpus}");
  }
  return "";
}

std::string Expand(std::string_view text, const PlaceholderValues& values) {
  if (text.find(kOpen) == std::string_view::npos) return std::string(text);
  const uint64_t memory_mib = values.limits.memory_bytes / kMiB;
  const uint64_t heap_mib =
      std::max<uint64_t>(1, memory_mib * values.heap_percent / 100);
  return absl::StrReplaceAll(
      AbslView(text),
      {{"${source}", values.source},
       {"${prepared}", values.prepared},
       {"${memory_mib}", absl::StrCat(memory_mib)},
       {"${heap_mib}", absl::StrCat(heap_mib)},
       {"${cpus}", absl::StrCat((values.limits.cpu_millis + 999) / 1000)}});
}

std::vector<std::string> ExpandCommand(const std::vector<std::string>& words,
                                       const PlaceholderValues& values) {
  std::vector<std::string> expanded;
  for (const std::string& word : words) {
    if (word == kSources || word == kJvmNetwork) {
      const std::vector<std::string>& many =
          word == kSources ? values.sources : values.jvm_network;
      expanded.insert(expanded.end(), many.begin(), many.end());
    } else {
      expanded.push_back(Expand(word, values));
    }
  }
  return expanded;
}

}  // namespace sandglass::policy
