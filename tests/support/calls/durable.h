#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_DURABLE_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_DURABLE_H_

#include <memory>
#include <string>

#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {

// Gives a copy of the policy a profile "durable", else as the default one.
void MakeDurableProfile(const std::string& policy);

// A daemon with a profile "durable", whose sessions it keeps in a directory of
// the test's; and the next one, which finds them there.
class DurableTest : public OwnDaemonTest {
 protected:
  DurableTest();
  ~DurableTest() override;

  // `sessions` is what the configuration has in "sessions" besides, with a
  // comma in front.
  void Start(const std::string& sessions = "");
  // Ends the daemon, by SIGKILL or in order, and starts another.
  void Kill();
  void Restart(const std::string& sessions = "");
  void RestartInOrder();

  static v1::CreateSessionRequest DurableSession(
      const std::string& language = "python");
  // A new session's id; it outlives the object that made it.
  std::string Create(
      const v1::CreateSessionRequest& request = DurableSession());
  RunResult RunIn(const std::string& id, const std::string& code,
                  const std::string& context = "");
  v1::Session Describe(const std::string& id);
  // What a file has, or the error's text.
  std::string Content(const std::string& id, const std::string& path);

  const std::string& kept() const { return kept_; }
  const std::string& policy() const { return policy_; }

 private:
  DaemonOptions Options(const std::string& sessions) const;

  const std::string policy_;
  const std::string kept_;
  // Those that have ended; their directory is used on.
  std::vector<std::unique_ptr<Daemon>> before_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_DURABLE_H_
