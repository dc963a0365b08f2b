// Which socket options and which requests of ioctl the shipped policy's filter
// lets through, against lists that are written down here a second time.

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kHighBits[] = {uint64_t{1} << 32, uint64_t{1} << 63,
                                  uint64_t{0xffffffff} << 32};

uint32_t Errno(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

class SeccompArguments : public ::testing::Test {
 protected:
  void SetUp() override {
    auto policy = SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default");
    ASSERT_TRUE(policy.ok()) << policy.status();
    auto program = policy->Compile();
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
  }

  uint32_t Ask(int number, std::initializer_list<uint64_t> arguments) {
    uint64_t plain[6] = {};
    size_t i = 0;
    for (const uint64_t argument : arguments) plain[i++] = argument;
    const auto answer = EvaluateFilter(program_, kArchitecture, number, plain);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(SECCOMP_RET_KILL_PROCESS);
  }

  BpfProgram program_;
};

TEST_F(SeccompArguments, SocketOptionsOfExploitsAreRefused) {
  const auto set = [this](uint64_t level, uint64_t option) {
    return Ask(__NR_setsockopt, {3, level, option});
  };
  EXPECT_EQ(set(6, 31), Errno(EPERM));  // TCP_ULP
  for (uint64_t option = 0; option < 130; ++option) {
    const bool multicast4 = option >= 35 && option <= 48;
    const bool others4 = option == 16 || option == 17 || option >= 64;
    EXPECT_EQ(set(0, option),
              multicast4 || others4 ? Errno(EPERM) : SECCOMP_RET_ALLOW)
        << option;
    const bool multicast6 = (option >= 42 && option <= 48) || option == 20 ||
                            option == 21 || option == 27 || option == 28;
    const bool others6 = option == 1 || (option >= 32 && option <= 35) ||
                         option == 64 || option == 65;
    EXPECT_EQ(set(41, option),
              multicast6 || others6 ? Errno(EPERM) : SECCOMP_RET_ALLOW)
        << option;
    const bool attaches = option == 26 || (option >= 50 && option <= 52);
    EXPECT_EQ(set(1, option), attaches ? Errno(EPERM) : SECCOMP_RET_ALLOW)
        << option;
    const bool tcp = option == 14 || (option >= 19 && option <= 22) ||
                     option == 29 || (option >= 31 && option <= 33) ||
                     option >= 37;
    EXPECT_EQ(set(6, option), tcp ? Errno(EPERM) : SECCOMP_RET_ALLOW) << option;
    const bool udp = option == 100 || option >= 105;
    EXPECT_EQ(set(17, option), udp ? Errno(EPERM) : SECCOMP_RET_ALLOW)
        << option;
    EXPECT_EQ(set(270, option), SECCOMP_RET_ALLOW) << option;
    for (const uint64_t level : {58, 103, 132, 255, 263, 271, 282, 283, 284}) {
      EXPECT_EQ(set(level, option), Errno(EPERM)) << level;
    }
  }
}

TEST_F(SeccompArguments, TerminalTricksAreRefused) {
  for (const uint64_t request : {TIOCSTI, TIOCLINUX, TIOCSETD}) {
    EXPECT_EQ(Ask(__NR_ioctl, {0, request}), Errno(EPERM));
    EXPECT_EQ(Ask(__NR_ioctl, {0, request | kHighBits[0]}), Errno(EPERM));
  }
  EXPECT_EQ(Ask(__NR_ioctl, {0, TIOCGWINSZ}), SECCOMP_RET_ALLOW);
}

TEST_F(SeccompArguments, OfFilesFewRequestsAreKnown) {
  // TCGETS2, FIONREAD, FIONBIO, FIOCLEX, TIOCGPTN, SIOCGIFCONF, FICLONE,
  // FICLONERANGE, FS_IOC_GETFLAGS
  const std::vector<uint64_t> known = {0x802c542a, 0x541b,     0x5421,
                                       0x5451,     0x80045430, 0x8912,
                                       0x40049409, 0x4020940d, 0x80086601};
  for (const uint64_t request : known) {
    EXPECT_EQ(Ask(__NR_ioctl, {0, request}), SECCOMP_RET_ALLOW) << request;
  }
  // FS_IOC_GETFSUUID, FS_IOC_GETFSSYSFSPATH, EXT4_IOC_GETFSUUID,
  // FS_IOC_GETFSLABEL, FS_IOC_GETFSMAP, FIEMAP, FIBMAP, FITRIM,
  // FS_IOC_FSGETXATTR, FS_IOC_SETFLAGS, BTRFS_IOC_FS_INFO, EXT4_IOC_MOVE_EXT,
  // FS_IOC_ADD_ENCRYPTION_KEY, NS_GET_OWNER_UID, NS_GET_USERNS,
  // PIDFD_GET_INFO
  const std::vector<uint64_t> others = {
      0x80111500, 0x80811501, 0x8008662c, 0x81009431, 0xc0c0583b, 0xc020660b,
      0x1,        0xc0185879, 0x801c581f, 0x40086602, 0x8400941f, 0xc028660f,
      0xc0506617, 0xb704,     0xb701,     0xc040ff0b};
  for (const uint64_t request : others) {
    EXPECT_EQ(Ask(__NR_ioctl, {0, request}), Errno(ENOTTY)) << request;
    EXPECT_EQ(Ask(__NR_ioctl, {0, request | kHighBits[0]}), Errno(ENOTTY));
  }
}

}  // namespace
}  // namespace sandglass::policy
