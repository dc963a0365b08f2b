// The evaluator against what the kernel does with the same programs.

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kArguments[6] = {0x1111111122222222, 1, 2, 3, 4, 5};

absl::StatusOr<uint32_t> Evaluate(const BpfProgram& program) {
  return EvaluateFilter(program, kArchitecture, 39, kArguments);
}

sock_filter Do(uint16_t code, uint32_t k = 0, uint8_t jt = 0, uint8_t jf = 0) {
  return {.code = code, .jt = jt, .jf = jf, .k = k};
}
sock_filter Load(size_t offset) {
  return Do(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
sock_filter Return(uint32_t k) { return Do(BPF_RET | BPF_K, k); }

TEST(EvaluateFilterTest, SeesNumberArchitectureAndArguments) {
  const sock_filter end = Do(BPF_RET | BPF_A);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, nr)), end}), 39u);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, arch)), end}),
            kArchitecture);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, args)), end}), 0x22222222u);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, args) + 4), end}),
            0x11111111u);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, args) + 40), end}), 5u);
  EXPECT_EQ(*Evaluate({Load(offsetof(seccomp_data, instruction_pointer)), end}),
            0u);
  EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_W | BPF_LEN), end}),
            sizeof(seccomp_data));
}

TEST(EvaluateFilterTest, EvaluatesArithmetic) {
  struct Case {
    uint16_t operation;
    uint32_t a, b, result;
  };
  for (const Case& c : std::vector<Case>{{BPF_ADD, 0xffffffff, 2, 1},
                                         {BPF_SUB, 1, 2, 0xffffffff},
                                         {BPF_MUL, 0x10000, 0x10001, 0x10000},
                                         {BPF_DIV, 17, 5, 3},
                                         {BPF_AND, 0xff0, 0x0ff, 0x0f0},
                                         {BPF_OR, 0xff0, 0x0ff, 0xfff},
                                         {BPF_XOR, 0xff0, 0x0ff, 0xf0f},
                                         {BPF_LSH, 3, 31, 0x80000000},
                                         {BPF_RSH, 0x80000000, 31, 1}}) {
    const auto code = static_cast<uint16_t>(BPF_ALU | c.operation);
    EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_IMM, c.a),
                         Do(static_cast<uint16_t>(code | BPF_K), c.b),
                         Do(BPF_RET | BPF_A)}),
              c.result)
        << "operation " << c.operation;
    EXPECT_EQ(*Evaluate({Do(BPF_LDX | BPF_IMM, c.b), Do(BPF_LD | BPF_IMM, c.a),
                         Do(static_cast<uint16_t>(code | BPF_X)),
                         Do(BPF_RET | BPF_A)}),
              c.result)
        << "operation " << c.operation << " with X";
  }
  EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_IMM, 1), Do(BPF_ALU | BPF_NEG),
                       Do(BPF_RET | BPF_A)}),
            0xffffffffu);
}

TEST(EvaluateFilterTest, DivisionByAnXOfZeroKills) {
  EXPECT_EQ(*Evaluate({Do(BPF_LDX | BPF_IMM, 0), Do(BPF_ALU | BPF_DIV | BPF_X),
                       Return(SECCOMP_RET_ALLOW)}),
            0u);
}

TEST(EvaluateFilterTest, EvaluatesJumps) {
  struct Case {
    uint16_t comparison;
    uint32_t a, k;
    bool holds;
  };
  for (const Case& c : std::vector<Case>{{BPF_JEQ, 5, 5, true},
                                         {BPF_JEQ, 5, 6, false},
                                         {BPF_JGE, 5, 5, true},
                                         {BPF_JGE, 4, 5, false},
                                         {BPF_JGE, 0x80000000, 5, true},
                                         {BPF_JGT, 5, 5, false},
                                         {BPF_JGT, 6, 5, true},
                                         {BPF_JSET, 6, 2, true},
                                         {BPF_JSET, 6, 1, false}}) {
    const auto code = static_cast<uint16_t>(BPF_JMP | c.comparison | BPF_K);
    EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_IMM, c.a), Do(code, c.k, 1, 0),
                         Return(1), Return(2)}),
              c.holds ? 2u : 1u)
        << c.comparison << " " << c.a << " " << c.k;
  }
  EXPECT_EQ(*Evaluate({Do(BPF_JMP | BPF_JA, 1), Return(1), Return(2)}), 2u);
}

TEST(EvaluateFilterTest, KeepsScratchMemoryAndX) {
  EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_IMM, 7), Do(BPF_ST, 15),
                       Do(BPF_LD | BPF_IMM, 0), Do(BPF_LDX | BPF_MEM, 15),
                       Do(BPF_MISC | BPF_TXA), Do(BPF_RET | BPF_A)}),
            7u);
  EXPECT_EQ(*Evaluate({Do(BPF_LD | BPF_IMM, 8), Do(BPF_MISC | BPF_TAX),
                       Do(BPF_STX, 0), Do(BPF_LD | BPF_IMM, 0),
                       Do(BPF_LD | BPF_MEM, 0), Do(BPF_RET | BPF_A)}),
            8u);
}

TEST(EvaluateFilterTest, RefusesWhatTheKernelWouldNotInstall) {
  const sock_filter end = Return(SECCOMP_RET_ALLOW);
  struct Case {
    const char* name;
    BpfProgram program;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"empty", {}, "0 instructions"},
      {"too long", BpfProgram(4097, end), "4097 instructions"},
      {"no return", {Load(0)}, "does not return"},
      {"load outside", {Load(64), end}, "instruction 0"},
      {"load unaligned", {Load(2), end}, "unaligned"},
      {"packet byte load",
       {Do(BPF_LD | BPF_B | BPF_ABS, 0), end},
       "not an instruction"},
      {"packet indirect load",
       {Do(BPF_LD | BPF_W | BPF_IND, 0), end},
       "not an instruction"},
      {"modulo", {Do(BPF_ALU | BPF_MOD | BPF_K, 3), end}, "not an instruction"},
      {"unknown opcode", {Do(0xffff), end}, "not an instruction"},
      {"division by 0",
       {Do(BPF_ALU | BPF_DIV | BPF_K, 0), end},
       "divides by 0"},
      {"long shift", {Do(BPF_ALU | BPF_LSH | BPF_K, 32), end}, "more than 31"},
      {"jump to the end", {Do(BPF_JMP | BPF_JA, 1), end}, "out of the program"},
      {"far jump",
       {Do(BPF_JMP | BPF_JA, 0xffffffff), end},
       "out of the program"},
      {"jt out",
       {Do(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), end},
       "out of the program"},
      {"jf out",
       {Do(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), end},
       "out of the program"},
      {"fault behind the return", {end, Load(64), end}, "instruction 1"},
      {"scratch word 16", {Do(BPF_ST, 16), end}, "16 words"},
      {"scratch unwritten",
       {Do(BPF_LD | BPF_MEM, 0), end},
       "before it is written"},
      {"scratch written on one path only",
       {Do(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), Do(BPF_ST, 3),
        Do(BPF_LD | BPF_MEM, 3), end},
       "before it is written"},
  };
  for (const Case& c : cases) {
    const auto result = Evaluate(c.program);
    ASSERT_FALSE(result.ok()) << c.name;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(result.status().message()).find(c.message),
              std::string::npos)
        << c.name << ": " << result.status();
  }
}

TEST(EvaluateFilterTest, TakesTheLongestProgram) {
  BpfProgram program(4096, Do(BPF_LD | BPF_IMM, 1));
  program.back() = Return(SECCOMP_RET_ALLOW);
  EXPECT_EQ(*Evaluate(program), SECCOMP_RET_ALLOW);
}

TEST(AskInsteadOfRefusing, AsksJustWhereTheFilterRefuses) {
  const BpfProgram refusing = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),  // ignored
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)};
  const BpfProgram asking = AskInsteadOfRefusing(refusing);
  const uint64_t none[6] = {};
  const auto ask = [&](int number) {
    return EvaluateFilter(asking, kArchitecture, number, none);
  };
  EXPECT_EQ(*ask(1), SECCOMP_RET_ALLOW);
  EXPECT_EQ(*ask(2), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(*ask(3), static_cast<uint32_t>(SECCOMP_RET_ERRNO));
  EXPECT_EQ(*ask(4), SECCOMP_RET_USER_NOTIF);
}

}  // namespace
}  // namespace sandglass::policy
