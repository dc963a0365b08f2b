#ifndef SANDGLASS_TESTS_SECURITY_POSTURE_POSTURE_KINDS_H_
#define SANDGLASS_TESTS_SECURITY_POSTURE_POSTURE_KINDS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/client.h"
#include "tests/support/daemon/daemon.h"

// The kinds of jails, and how a test gets a live one of each.
namespace sandglass::testing {

// Has a thread, a child and a grandchild where it is a program; a compiler is
// stopped (SIGSTOP) at its work.
struct LiveJail {
  std::unique_ptr<TestSession> session;  // where it serves one
  std::unique_ptr<StreamCall> call;
  std::string marker;  // in the grandchild's command line
  pid_t inside = 0;    // or this is one of the jail's
};

struct PostureKind {
  std::string name;  // of its file of expectations, too
  std::string test_name;
  std::string yard;
  // What to look at, and what a new section is to be based on.
  std::vector<std::pair<std::string, std::string>> roles;
  std::string language;  // empty: any
  bool of_pool = false;  // there is none where that is off
  // Until its jails are there; false where they don't come.
  std::function<bool(Client&)> prepare;
  std::function<LiveJail(Daemon&)> start;
};

inline void PrintTo(const PostureKind& kind, std::ostream* stream) {
  *stream << kind.name;
}

const std::vector<PostureKind>& PostureKinds();

// Whether this host and this daemon have such jails at all.
bool CanBeHere(const PostureKind& kind, Client& client);

// Jails and interpreters that wait, which a daemon without a pool has not.
extern const std::set<std::string> kRolesOfThePool;
bool PoolIsOff();

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_POSTURE_POSTURE_KINDS_H_
