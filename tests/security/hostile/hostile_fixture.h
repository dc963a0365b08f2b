#ifndef SANDGLASS_TESTS_SECURITY_HOSTILE_HOSTILE_FIXTURE_H_
#define SANDGLASS_TESTS_SECURITY_HOSTILE_HOSTILE_FIXTURE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/security/host/host_watch.h"
#include "tests/security/hostile/neighbour.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {

// How the program that attacks came into its jail.
enum class Way {
  kExec,    // an empty jail, bash
  kPython,  // a zygote's child
  kRuby,    // likewise
  kNode,    // was started ahead
};
inline constexpr Way kAllWays[] = {Way::kExec, Way::kPython, Way::kRuby,
                                   Way::kNode};
std::string NameOf(Way way);

// Words of one attempt of the payload (tests/payloads/hostile/attempts.h).
using Attempt = std::vector<std::string>;
Attempt operator+(Attempt first, const Attempt& second);

// Base of suites that attack. After each test the host is as it was, and
// somebody else's run, which began before it, is well.
class HostileTest : public DaemonTest {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static HostWatch& host() { return *host_; }
  static Neighbour& neighbour() { return *neighbour_; }

  // A run of the payload that begins in this way.
  static v1::RunCodeRequest Payload(Way way, const Attempt& attempt);
  // Runs it until it began in the way that was asked for: what is made ahead
  // may have been taken by the run before. `list` becomes a file of this name.
  static RunResult RunIn(Way way, const Attempt& attempt,
                         const std::string& list = "");
  // How the payload ends when an attempt is refused with this errno.
  static int Refused(int error);
  // Runs each attempt and expects the exit code. The attempts have one jail,
  // but for those in an empty jail, which each night have one each (OnlyAPart).
  // Afterwards, and whenever one is not as expected, expects that nobody was
  // harmed.
  struct Case {
    Attempt attempt;
    int exit_code;
    // Another answer that another kernel may give; 0: none.
    int or_exit_code = 0;
  };
  static void RunCases(Way way, const std::vector<Case>& cases,
                       const Attempt& options = {});
  // Each attempt in an empty jail of its own.
  static void RunEach(const std::vector<Case>& cases, const Attempt& options);
  static void RunInOne(Way way, const std::vector<Case>& cases,
                       const Attempt& options);
  // That the host is as it was and the neighbour well, now.
  static void ExpectNobodyHarmed(const std::string& by);

 private:
  static std::unique_ptr<HostWatch> host_;
  static std::unique_ptr<Neighbour> neighbour_;
  static size_t attempts_;  // of RunCases
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_HOSTILE_HOSTILE_FIXTURE_H_
