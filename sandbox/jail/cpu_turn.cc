#include "sandbox/jail/cpu_turn.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sandglass::sandbox {
namespace {

// The smallest of cpu.shares (kernel/sched/core.c); cpu.weight has 1.
constexpr uint64_t kLeast = 2;

// Returns 0 if it can't be read.
uint64_t ReadWeight(const os::Fd& file) {
  std::array<char, 32> text;
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  uint64_t weight = 0;
  if (size <= 0 || !absl::SimpleAtoi(absl::StripAsciiWhitespace(
                                         absl::string_view(text.data(), size)),
                                     &weight)) {
    return 0;
  }
  return weight;
}

bool WriteWeight(const os::Fd& file, uint64_t weight) {
  const std::string text = absl::StrCat(weight);
  return ::pwrite(file.get(), text.data(), text.size(), 0) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace

bool CpuTurn::Begin() {
  const absl::MutexLock lock(&mutex_);
  if (whole_ == 0) return false;
  if (WriteWeight(weight_, whole_)) whole_ = 0;
  return true;
}

void CpuTurn::Yield() {
  const absl::MutexLock lock(&mutex_);
  if (whole_ > 0 || !weight_.valid()) return;
  const uint64_t whole = ReadWeight(weight_);
  const uint64_t part = std::max(whole / kYieldedPart, kLeast);
  if (part < whole && WriteWeight(weight_, part)) whole_ = whole;
}

}  // namespace sandglass::sandbox
