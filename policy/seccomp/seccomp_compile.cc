#include "policy/seccomp/seccomp_compile.h"

#include <linux/seccomp.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "policy/architecture/architecture.h"

// libseccomp's own compiler isn't used because it compares either all 64 bits
// or masked bits for equality. It has no rule for "any int but these" (socket
// families, options) that also holds for values with high bits set, short of
// hundreds of instructions, and it doesn't define which of two overlapping
// rules wins. libseccomp still provides the call numbers.

namespace sandglass::policy {
namespace {

constexpr uint32_t kAbsent = SECCOMP_RET_ERRNO | ENOSYS;
constexpr uint32_t kAllBits = 0xffffffff;

// Builds a program from its end to its start, so that the targets of a jump
// (jumps only go forward) are known when it is written. Equal instructions with
// equal continuations are written once.
class FilterBuilder {
 public:
  // Identifies an instruction by its position, counted from the end of the
  // program.
  using Label = size_t;

  Label Return(uint32_t action) { return Emit(BPF_RET | BPF_K, action); }

  // Loads the word at `offset` of seccomp_data and continues at `next`.
  Label Load(uint32_t offset, Label next) {
    return EmitBefore(BPF_LD | BPF_W | BPF_ABS, offset, next);
  }

  // Compares the accumulator; `comparison` is BPF_JEQ, BPF_JGE or BPF_JGT.
  Label Branch(uint16_t comparison, uint32_t value, Label yes, Label no) {
    if (yes == no) return yes;
    // If Reach() writes a jump, the branch moves by one instruction.
    yes = Reach(yes, kMaxJump - 1);
    no = Reach(no, kMaxJump);
    return Emit(BPF_JMP | comparison | BPF_K, value, yes, no);
  }

  // Compares (the word at `offset` & mask).
  Label Test(uint32_t offset, uint32_t mask, uint16_t comparison,
             uint32_t value, Label yes, Label no) {
    // If the next test begins with loading this word, that can be skipped: the
    // accumulator has it already.
    yes = SkipLoad(yes, offset, mask);
    no = SkipLoad(no, offset, mask);
    Label entry = Branch(comparison, value, yes, no);
    if (mask != kAllBits) {
      entry = EmitBefore(BPF_ALU | BPF_AND | BPF_K, mask, entry);
    }
    return Load(offset, entry);
  }

  // Returns the program that starts at `entry`, which must be the label made
  // last.
  absl::StatusOr<BpfProgram> Finish(Label entry) {
    if (entry + 1 != reversed_.size()) {
      return absl::InternalError("the filter does not start at its entry");
    }
    if (reversed_.size() > BPF_MAXINSNS) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the filter has ", reversed_.size(),
                       " instructions, the kernel takes ", BPF_MAXINSNS,
                       "; leave out rules or join them"));
    }
    return BpfProgram(reversed_.rbegin(), reversed_.rend());
  }

 private:
  static constexpr size_t kMaxJump = 255;  // sock_filter's jt and jf: 8 bits

  Label Emit(uint16_t code, uint32_t k, Label yes = 0, Label no = 0) {
    const auto [known, is_new] =
        written_.try_emplace({code, k, yes, no}, reversed_.size());
    if (!is_new) return known->second;
    const bool jumps = BPF_CLASS(code) == BPF_JMP;
    reversed_.push_back({.code = code,
                         .jt = static_cast<uint8_t>(jumps ? Distance(yes) : 0),
                         .jf = static_cast<uint8_t>(jumps ? Distance(no) : 0),
                         .k = k});
    return reversed_.size() - 1;
  }

  // Writes an instruction that isn't a jump, and so must come directly before
  // `next`.
  Label EmitBefore(uint16_t code, uint32_t k, Label next) {
    const auto known = written_.find({code, k, next, next});
    if (known != written_.end()) return known->second;
    const Label label = Emit(code, k, Reach(next, 0), next);
    written_[{code, k, next, next}] = label;
    return label;
  }

  // The distance from the instruction that would be written next.
  size_t Distance(Label target) const { return reversed_.size() - target - 1; }

  // Returns `target`, or a new instruction with the same effect that is near
  // enough.
  Label Reach(Label target, size_t distance) {
    if (Distance(target) <= distance) return target;
    const sock_filter& there = reversed_[target];
    if (BPF_CLASS(there.code) == BPF_RET) {
      const sock_filter copy = there;
      reversed_.push_back(copy);
      // Later users are nearer to the copy, so they will use it.
      written_[{copy.code, copy.k, 0, 0}] = reversed_.size() - 1;
    } else {
      reversed_.push_back({.code = BPF_JMP | BPF_JA,
                           .jt = 0,
                           .jf = 0,
                           .k = static_cast<uint32_t>(Distance(target))});
    }
    return reversed_.size() - 1;
  }

  Label SkipLoad(Label label, uint32_t offset, uint32_t mask) const {
    const sock_filter& load = reversed_[label];
    if (load.code != (BPF_LD | BPF_W | BPF_ABS) || load.k != offset) {
      return label;
    }
    if (mask == kAllBits) return label - 1;
    const sock_filter& masking = reversed_[label - 1];
    const bool same =
        masking.code == (BPF_ALU | BPF_AND | BPF_K) && masking.k == mask;
    return same ? label - 2 : label;
  }

  BpfProgram reversed_;
  std::map<std::tuple<uint16_t, uint32_t, Label, Label>, Label> written_;
};

using Label = FilterBuilder::Label;

// Writes the code for one test, which continues at `yes` or `no`.
Label EmitTest(FilterBuilder& builder, const SeccompPolicy::ArgumentTest& test,
               Label yes, Label no) {
  const auto low_offset = static_cast<uint32_t>(offsetof(seccomp_data, args) +
                                                test.index * sizeof(uint64_t));
  const uint32_t high_offset = low_offset + sizeof(uint32_t);  // little endian
  const auto low = static_cast<uint32_t>(test.value);
  const auto high = static_cast<uint32_t>(test.value >> 32);
  const auto low_mask = static_cast<uint32_t>(test.mask);
  const auto high_mask = static_cast<uint32_t>(test.mask >> 32);

  // "!=", "<" and "<=" are the opposites of "==", ">=" and ">".
  if (test.op == "!=" || test.op == "<" || test.op == "<=") std::swap(yes, no);
  if (test.op == "==" || test.op == "!=") {
    if (low_mask != 0) {
      yes = builder.Test(low_offset, low_mask, BPF_JEQ, low, yes, no);
    }
    if (high_mask != 0) {
      yes = builder.Test(high_offset, high_mask, BPF_JEQ, high, yes, no);
    }
    return yes;
  }
  const uint16_t comparison =
      test.op == ">=" || test.op == "<" ? BPF_JGE : BPF_JGT;
  Label entry = builder.Test(low_offset, low_mask, comparison, low, yes, no);
  if (high_mask != 0) {
    const Label equal =
        builder.Test(high_offset, high_mask, BPF_JEQ, high, entry, no);
    entry = builder.Test(high_offset, high_mask, BPF_JGT, high, yes, equal);
  }
  return entry;
}

uint32_t Action(const SeccompPolicy::Rule& rule) {
  if (rule.error == 0) return SECCOMP_RET_ALLOW;
  if (rule.error == SeccompPolicy::kIgnored) return SECCOMP_RET_ERRNO | 0;
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(rule.error);
}

// The numbers from `first` up to the next segment's: either one answer for all
// of them, or the rules for one call.
struct Segment {
  uint32_t first;
  uint32_t action;  // if rules is empty
  std::vector<const SeccompPolicy::Rule*> rules;
};

// Covers all 32-bit numbers, in order. x32's begin at 0x40000000, above the
// last call, so they belong to the last segment, whose answer is ENOSYS.
std::vector<Segment> SplitNumbers(
    const std::vector<SeccompPolicy::Rule>& rules) {
  std::map<uint32_t, std::vector<const SeccompPolicy::Rule*>> calls;
  for (const SeccompPolicy::Rule& rule : rules) {
    if (rule.number < 0) continue;  // no call of this architecture
    calls[static_cast<uint32_t>(rule.number)].push_back(&rule);
  }
  std::vector<Segment> segments = {{.first = 0, .action = kAbsent}};
  const auto append = [&segments](Segment segment) {
    if (segments.back().first == segment.first) segments.pop_back();
    if (segments.empty() || !segments.back().rules.empty() ||
        !segment.rules.empty() || segments.back().action != segment.action) {
      segments.push_back(std::move(segment));
    }
  };
  for (auto& [number, own] : calls) {
    const bool plain = own.front()->tests.empty();
    const uint32_t action = plain ? Action(*own.front()) : kAbsent;
    if (plain) own.clear();
    append({.first = number, .action = action, .rules = std::move(own)});
    append({.first = number + 1, .action = kAbsent});
  }
  return segments;
}

Label EmitSegment(FilterBuilder& builder, const Segment& segment) {
  // What no rule decides gets the default, although Load() accepts no such
  // policy.
  Label entry = builder.Return(segment.action);
  for (auto rule = segment.rules.rbegin(); rule != segment.rules.rend();
       ++rule) {
    const Label otherwise = entry;
    entry = builder.Return(Action(**rule));
    const auto& tests = (*rule)->tests;
    for (auto test = tests.rbegin(); test != tests.rend(); ++test) {
      entry = EmitTest(builder, *test, entry, otherwise);
    }
  }
  return entry;
}

// Writes a balanced tree over the segments [begin, end).
Label EmitTree(FilterBuilder& builder, const std::vector<Segment>& segments,
               size_t begin, size_t end) {
  if (end - begin == 1) return EmitSegment(builder, segments[begin]);
  const size_t middle = begin + (end - begin) / 2;
  const Label above = EmitTree(builder, segments, middle, end);
  const Label below = EmitTree(builder, segments, begin, middle);
  return builder.Branch(BPF_JGE, segments[middle].first, above, below);
}

}  // namespace

absl::StatusOr<BpfProgram> SeccompPolicy::Compile() const {
  return CompileRules(rules_);
}

absl::StatusOr<BpfProgram> CompileRules(
    const std::vector<SeccompPolicy::Rule>& rules) {
  const std::vector<Segment> segments = SplitNumbers(rules);
  FilterBuilder builder;
  const Label tree = EmitTree(builder, segments, 0, segments.size());
  const Label numbers = builder.Load(offsetof(seccomp_data, nr), tree);
  // The architecture is checked first, because the same number means different
  // calls on different architectures (i386's socketcall is x86-64's getuid).
  const Label foreign = builder.Return(kAbsent);
  return builder.Finish(
      builder.Load(offsetof(seccomp_data, arch),
                   builder.Branch(BPF_JEQ, kArchitecture, numbers, foreign)));
}

}  // namespace sandglass::policy
