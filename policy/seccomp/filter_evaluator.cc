#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "policy/seccomp/seccomp.h"

// The checks follow the kernel's bpf_check_classic(), check_load_and_stores()
// (net/core/filter.c) and seccomp_check_filter() (kernel/seccomp.c).

namespace sandglass::policy {
namespace {

bool IsConditional(uint16_t code) {
  return BPF_CLASS(code) == BPF_JMP && BPF_OP(code) != BPF_JA;
}

absl::Status Malformed(size_t at, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat("malformed filter: instruction ", at, ": ", what));
}

absl::Status CheckScratchIndex(size_t at, const sock_filter& instruction) {
  if (instruction.k >= BPF_MEMWORDS) {
    return Malformed(at, "scratch memory has 16 words");
  }
  return absl::OkStatus();
}

absl::Status CheckJump(const BpfProgram& program, size_t at) {
  const sock_filter& instruction = program[at];
  const size_t left = program.size() - at - 1;  // instructions after this one
  if (BPF_OP(instruction.code) == BPF_JA) {
    if (instruction.k < left) return absl::OkStatus();
  } else if (instruction.jt < left && instruction.jf < left) {
    return absl::OkStatus();
  }
  return Malformed(at, "jumps out of the program");
}

// Checks the opcode, constants and jump targets of one instruction.
absl::Status CheckInstruction(const BpfProgram& program, size_t at) {
  const sock_filter& instruction = program[at];
  switch (instruction.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      if (instruction.k % sizeof(uint32_t) != 0 ||
          instruction.k >= sizeof(seccomp_data)) {
        return Malformed(at, "loads outside seccomp_data or unaligned");
      }
      return absl::OkStatus();
    case BPF_LD | BPF_W | BPF_LEN:
    case BPF_LDX | BPF_W | BPF_LEN:
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
    case BPF_MISC | BPF_TAX:
    case BPF_MISC | BPF_TXA:
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
    // Both names stand for 0. NOLINTNEXTLINE(misc-redundant-expression)
    case BPF_ALU | BPF_ADD | BPF_K:
    case BPF_ALU | BPF_ADD | BPF_X:
    case BPF_ALU | BPF_SUB | BPF_K:
    case BPF_ALU | BPF_SUB | BPF_X:
    case BPF_ALU | BPF_MUL | BPF_K:
    case BPF_ALU | BPF_MUL | BPF_X:
    case BPF_ALU | BPF_DIV | BPF_X:
    case BPF_ALU | BPF_AND | BPF_K:
    case BPF_ALU | BPF_AND | BPF_X:
    case BPF_ALU | BPF_OR | BPF_K:
    case BPF_ALU | BPF_OR | BPF_X:
    case BPF_ALU | BPF_XOR | BPF_K:
    case BPF_ALU | BPF_XOR | BPF_X:
    case BPF_ALU | BPF_LSH | BPF_X:
    case BPF_ALU | BPF_RSH | BPF_X:
    case BPF_ALU | BPF_NEG:
      return absl::OkStatus();
    case BPF_ALU | BPF_DIV | BPF_K:
      if (instruction.k == 0) return Malformed(at, "divides by 0");
      return absl::OkStatus();
    case BPF_ALU | BPF_LSH | BPF_K:
    case BPF_ALU | BPF_RSH | BPF_K:
      if (instruction.k >= 32) return Malformed(at, "shifts by more than 31");
      return absl::OkStatus();
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM:
    case BPF_ST:
    case BPF_STX:
      return CheckScratchIndex(at, instruction);
    case BPF_JMP | BPF_JA:
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JEQ | BPF_X:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_X:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_X:
    case BPF_JMP | BPF_JSET | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_X:
      return CheckJump(program, at);
    default:
      return Malformed(at, "not an instruction that seccomp takes");
  }
}

// Refuses programs that on some path read scratch memory before writing it.
absl::Status CheckScratchReads(const BpfProgram& program) {
  // For each instruction, the words that have certainly been written when it is
  // reached; one bit per word.
  std::vector<uint16_t> known(program.size(), 0xffff);
  uint16_t written = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& instruction = program[at];
    written &= known[at];
    const uint16_t bit = static_cast<uint16_t>(1u << (instruction.k & 15));
    const uint16_t code = instruction.code;
    if (code == BPF_ST || code == BPF_STX) {
      written |= bit;
    } else if (code == (BPF_LD | BPF_MEM) || code == (BPF_LDX | BPF_MEM)) {
      if ((written & bit) == 0) {
        return Malformed(at, "reads scratch memory before it is written");
      }
    } else if (code == (BPF_JMP | BPF_JA)) {
      known[at + 1 + instruction.k] &= written;
      written = 0xffff;
    } else if (IsConditional(code)) {
      known[at + 1 + instruction.jt] &= written;
      known[at + 1 + instruction.jf] &= written;
      written = 0xffff;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(const BpfProgram& program) {
  if (program.empty() || program.size() > BPF_MAXINSNS) {
    return absl::InvalidArgumentError(
        absl::StrCat("malformed filter: ", program.size(),
                     " instructions; it takes 1 to ", BPF_MAXINSNS));
  }
  for (size_t at = 0; at < program.size(); ++at) {
    absl::Status checked = CheckInstruction(program, at);
    if (!checked.ok()) return checked;
  }
  if (BPF_CLASS(program.back().code) != BPF_RET) {
    return Malformed(program.size() - 1, "the last one does not return");
  }
  return CheckScratchReads(program);
}

// The result of `operation` on A and X; the caller handles division by an X of
// 0.
uint32_t Calculate(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
    case BPF_ADD:
      return a + b;
    case BPF_SUB:
      return a - b;
    case BPF_MUL:
      return a * b;
    case BPF_DIV:
      return a / b;
    case BPF_AND:
      return a & b;
    case BPF_OR:
      return a | b;
    case BPF_XOR:
      return a ^ b;
    case BPF_LSH:
      return a << (b & 31);
    case BPF_RSH:
      return a >> (b & 31);
    default:
      return 0 - a;  // BPF_NEG, the only one left
  }
}

bool Compare(uint16_t comparison, uint32_t a, uint32_t b) {
  switch (comparison) {
    case BPF_JEQ:
      return a == b;
    case BPF_JGE:
      return a >= b;
    case BPF_JGT:
      return a > b;
    default:
      return (a & b) != 0;  // BPF_JSET, the only one left
  }
}

// Runs a checked program. Jumps only go forward, so it ends.
uint32_t Run(const BpfProgram& program, const seccomp_data& data) {
  uint32_t accumulator = 0;
  uint32_t index = 0;
  uint32_t scratch[BPF_MEMWORDS] = {};
  for (size_t at = 0;; ++at) {
    const sock_filter& instruction = program[at];
    const uint16_t code = instruction.code;
    const uint32_t operand = BPF_SRC(code) == BPF_X ? index : instruction.k;
    switch (BPF_CLASS(code)) {
      case BPF_LD:
      case BPF_LDX: {
        uint32_t value = instruction.k;
        if (BPF_MODE(code) == BPF_ABS) {
          std::memcpy(&value,
                      reinterpret_cast<const char*>(&data) + instruction.k,
                      sizeof(value));
        } else if (BPF_MODE(code) == BPF_MEM) {
          value = scratch[instruction.k];
        } else if (BPF_MODE(code) == BPF_LEN) {
          value = sizeof(seccomp_data);
        }
        (BPF_CLASS(code) == BPF_LD ? accumulator : index) = value;
        break;
      }
      case BPF_ST:
        scratch[instruction.k] = accumulator;
        break;
      case BPF_STX:
        scratch[instruction.k] = index;
        break;
      case BPF_ALU:
        // The kernel makes the filter return 0, which kills the thread.
        if (BPF_OP(code) == BPF_DIV && operand == 0) return 0;
        accumulator = Calculate(BPF_OP(code), accumulator, operand);
        break;
      case BPF_JMP:
        if (!IsConditional(code)) {
          at += instruction.k;
        } else {
          at += Compare(BPF_OP(code), accumulator, operand) ? instruction.jt
                                                            : instruction.jf;
        }
        break;
      case BPF_MISC:
        if (BPF_MISCOP(code) == BPF_TAX) {
          index = accumulator;
        } else {
          accumulator = index;
        }
        break;
      default:  // BPF_RET
        return BPF_RVAL(code) == BPF_A ? accumulator : instruction.k;
    }
  }
}

}  // namespace

absl::StatusOr<uint32_t> EvaluateFilter(const BpfProgram& program,
                                        uint32_t architecture, int number,
                                        const uint64_t (&arguments)[6]) {
  const absl::Status checked = CheckProgram(program);
  if (!checked.ok()) return checked;
  seccomp_data data = {.nr = number, .arch = architecture};
  for (size_t i = 0; i < 6; ++i) data.args[i] = arguments[i];
  return Run(program, data);
}

BpfProgram AskInsteadOfRefusing(BpfProgram program) {
  for (sock_filter& instruction : program) {
    if (instruction.code == (BPF_RET | BPF_K) &&
        (instruction.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO &&
        (instruction.k & SECCOMP_RET_DATA) != 0) {
      instruction.k = SECCOMP_RET_USER_NOTIF;
    }
  }
  return program;
}

}  // namespace sandglass::policy
