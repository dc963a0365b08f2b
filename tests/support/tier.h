#ifndef SANDGLASS_TESTS_SUPPORT_TIER_H_
#define SANDGLASS_TESTS_SUPPORT_TIER_H_

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace sandglass::testing {

// Whether tests run with every change ($SANDGLASS_TIER is "change", which
// tests/run.sh sets), so that those with many cases try a part of them only;
// each night, and without the variable, they try all.
inline bool OnlyAPart() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* tier = std::getenv("SANDGLASS_TIER");
  return tier != nullptr && std::string_view(tier) == "change";
}

// Whether the case with this index is to be tried, where with every change one
// of `nth` is: the first, the one `nth` places after it, and so on.
inline bool IsOfThisTier(size_t index, size_t nth) {
  return !OnlyAPart() || index % nth == 0;
}

// Those of `all` that are to be tried.
template <typename Case>
std::vector<Case> OfThisTier(std::vector<Case> all, size_t nth) {
  std::vector<Case> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    if (IsOfThisTier(i, nth)) kept.push_back(std::move(all[i]));
  }
  return kept;
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_TIER_H_
