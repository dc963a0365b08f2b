// Landlock's rules as the kernel applies them. The jail's other walls give the
// same answers to what its scopes refuse, so these are looked at alone.
#include "sandbox/os/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/rights.h"

namespace sandglass::os {
namespace {

constexpr int kAbiOfScopes = 6;

// An abstract socket of this process's own.
class Listener {
 public:
  Listener() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    const std::string name = absl::StrCat("sandglass-landlock-", ::getpid());
    name.copy(address_.sun_path + 1, name.size());
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                   name.size());
    listens_ = ::bind(socket_.get(), address(), size_) == 0 &&
               ::listen(socket_.get(), 8) == 0;
  }
  bool listens() const { return listens_; }
  // 0 or errno.
  int Connect() const {
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(client.get(), address(), size_) == 0 ? 0 : errno;
  }

 private:
  const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }

  const Fd socket_;
  sockaddr_un address_ = {};
  socklen_t size_ = 0;
  bool listens_ = false;
};

// What `act` returns in a child under the rules of a jail's kind.
template <typename Act>
int UnderRules(int abi, const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    static constexpr LandlockPath kPaths[] = {{"/", LandlockAccess::kRead}};
    const Fd rules = MakeLandlockRuleset(abi, kPaths);
    if (!rules.valid() || !SetNoNewPrivs() || !LandlockRestrictSelf(rules)) {
      ::_exit(255);
    }
    ::_exit(act());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Landlock, ScopesEndAtTheDomain) {
  const int abi = LandlockAbi();
  if (abi < 1) GTEST_SKIP() << "needs Landlock";
  // Without scopes the other walls stand alone.
  const int refused = abi >= kAbiOfScopes ? EPERM : 0;
  const Listener listener;
  ASSERT_TRUE(listener.listens());
  ASSERT_EQ(listener.Connect(), 0);
  EXPECT_EQ(UnderRules(abi, [&] { return listener.Connect(); }), refused);
  const pid_t outside = ::getpid();
  EXPECT_EQ(
      UnderRules(abi, [&] { return ::kill(outside, 0) == 0 ? 0 : errno; }),
      refused);
  // Among themselves they may.
  EXPECT_EQ(UnderRules(abi,
                       [] {
                         const pid_t inner = ::fork();
                         if (inner == 0) {
                           ::pause();
                           ::_exit(0);
                         }
                         const int error =
                             ::kill(inner, SIGKILL) == 0 ? 0 : errno;
                         ::waitpid(inner, nullptr, 0);
                         return error;
                       }),
            0);
}

TEST(Landlock, OnlyWhatIsListedMayBeWritten) {
  const int abi = LandlockAbi();
  if (abi < 1) GTEST_SKIP() << "needs Landlock";
  std::string path = ::testing::TempDir() + "/landlock-XXXXXX";
  const Fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file.valid());
  const auto opens = [&](int flags) {
    const Fd opened(::open(path.c_str(), flags | O_CLOEXEC));
    return opened.valid() ? 0 : errno;
  };
  EXPECT_EQ(opens(O_WRONLY), 0);
  EXPECT_EQ(UnderRules(abi, [&] { return opens(O_WRONLY); }), EACCES);
  EXPECT_EQ(UnderRules(abi, [&] { return opens(O_RDONLY); }), 0);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace sandglass::os
