// How refused system calls are told.

#include "server/job/refused_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"

namespace sandglass::server {
namespace {

using sandbox::RefusedCall;
using sandbox::RefusedCalls;
using ::testing::HasSubstr;

RefusedCall Call(int number, uint64_t first = 0, uint64_t count = 1) {
  return {.architecture = policy::kArchitecture,
          .number = number,
          .error = EPERM,
          .arguments = {first},
          .count = count};
}

TEST(DescribeCall, NamesCallArgumentsAndError) {
  EXPECT_EQ(DescribeCall(Call(SYS_unshare, 0x10000000)),
            "unshare(0x10000000, 0, 0)=EPERM");
  RefusedCall call = Call(SYS_openat);
  call.arguments[0] = ~uint64_t{0} - 99;
  call.arguments[1] = sandbox::kAddressArgument;
  call.arguments[2] = 9;
  call.error = ENOSYS;
  EXPECT_EQ(DescribeCall(call), "openat(-100, ..., 9)=ENOSYS");
}

// Whatever an init says that somebody took over.
TEST(DescribeCall, AcceptsAnyArguments) {
  EXPECT_EQ(DescribeCall(Call(100'000)), "number-100000(0, 0, 0)=EPERM");
  EXPECT_EQ(DescribeCall(Call(-5)), "number--5(0, 0, 0)=EPERM");
  if (policy::kArchitecture == AUDIT_ARCH_X86_64) {
    EXPECT_EQ(DescribeCall(Call(0x40000000 + 59)), "x32:59(0, 0, 0)=EPERM");
  }
  RefusedCall call = Call(102);
  call.architecture = AUDIT_ARCH_I386;
  EXPECT_EQ(DescribeCall(call), "i386:102(0, 0, 0)=EPERM");
  call.architecture = 0x12345;
  EXPECT_EQ(DescribeCall(call), "architecture-12345:102(0, 0, 0)=EPERM");
  call = Call(SYS_read);
  call.error = 4000;
  EXPECT_EQ(DescribeCall(call), "read(0, 0, 0)=errno-4000");
  call.error = std::numeric_limits<int>::min();
  EXPECT_THAT(DescribeCall(call), HasSubstr("=errno--"));
}

TEST(DescribeCalls, CountsAndLeavesOut) {
  EXPECT_EQ(DescribeCalls({}), "none");
  RefusedCalls calls;
  calls.calls = {Call(SYS_unshare, 1, 3), Call(SYS_mount)};
  EXPECT_EQ(DescribeCalls(calls),
            "unshare(1, 0, 0)=EPERM x3; mount(0, 0, 0)=EPERM x1");
  calls.others = 9;
  EXPECT_THAT(DescribeCalls(calls), HasSubstr("0 more kinds and 9 more calls"));
  calls.calls.assign(40, Call(SYS_mount));
  EXPECT_THAT(DescribeCalls(calls), HasSubstr("8 more kinds"));
}

TEST(CheckTraceable, AFilterHasToLetTheListenerOut) {
  const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const auto refusing = [](uint32_t number) {
    return policy::BpfProgram{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  };
  EXPECT_TRUE(CheckTraceable({{.name = "a", .seccomp = {allow}}}).ok());
  EXPECT_TRUE(CheckTraceable({}).ok());
  for (const uint32_t number : {SYS_sendmsg, SYS_execve}) {
    const absl::Status status =
        CheckTraceable({{.name = "a", .seccomp = {allow}},
                        {.name = "b", .seccomp = refusing(number)}});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("policy of profile b refuses"));
  }
}

TEST(RefusedCallLog, WritesALineForEachRunAndASum) {
  RefusedCallLog denied;
  RefusedCalls calls;
  calls.calls = {Call(SYS_unshare, 1, 3)};
  ::testing::internal::CaptureStderr();
  denied.Record({"run-1", "python", "default"}, calls);
  denied.Record({"run-2", "python", "default"}, calls);
  denied.Record({"run-3", "cpp", "default"}, {});
  denied.LogSummary();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("syscalls_denied run_id=run-1 lang=python"));
  EXPECT_THAT(log, HasSubstr("unshare(1, 0, 0)=EPERM x3"));
  EXPECT_THAT(log,
              HasSubstr("run_id=run-3 lang=cpp profile=default calls=none"));
  EXPECT_THAT(log, HasSubstr("syscalls_denied_in_all lang=python "
                             "profile=default runs=2 calls="));
  EXPECT_THAT(log, HasSubstr("unshare(1, 0, 0)=EPERM x6"));
}

}  // namespace
}  // namespace sandglass::server
