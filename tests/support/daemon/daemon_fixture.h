#ifndef SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_FIXTURE_H_
#define SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/daemon/client.h"
#include "tests/support/daemon/daemon.h"
#include "tests/support/host/process.h"
#include "tests/support/matchers.h"

namespace sandglass::testing {

// Base of suites whose tests share one daemon. After each test the daemon must
// still be there, know of no unfinished run and have no process more than
// before; after the suite it must end with 0 and leave nothing.
class DaemonTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { StartSuite({}); }
  static void TearDownTestSuite();
  // For suites whose daemon needs options: to be called by a SetUpTestSuite of
  // their own.
  static void StartSuite(const DaemonOptions& options);
  void SetUp() override;
  void TearDown() override;

  static Daemon& daemon() { return *daemon_; }
  static Client& client() { return daemon_->client(); }
  static RunResult Run(const v1::RunCodeRequest& request) {
    return client().Run(request);
  }

 private:
  static std::unique_ptr<Daemon> daemon_;
  static absl::Status start_status_;
  std::vector<Process> before_;
};

// Base of tests that break their daemon, or need one with options.
class OwnDaemonTest : public ::testing::Test {
 protected:
  // A failed start is a fatal failure of the test; check HasFatalFailure or
  // use ASSERT_NO_FATAL_FAILURE.
  void StartDaemon(const DaemonOptions& options = {});
  // Stop with all its checks.
  void StopDaemon();
  void TearDown() override;

  Daemon& daemon() { return *daemon_; }
  Client& client() { return daemon_->client(); }
  std::unique_ptr<Daemon> daemon_;
};

// A daemon whose policy was changed by its operator.
class ChangedPolicyTest : public OwnDaemonTest {
 protected:
  ChangedPolicyTest();
  ~ChangedPolicyTest() override;

  // With `other` instead of `text` wherever that is in `file`, a path below
  // policy/data. That it is nowhere is a fatal failure of the test, as in
  // StartDaemon.
  void StartWith(const std::string& file, const std::string& text,
                 const std::string& other);

 private:
  const std::string policy_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_FIXTURE_H_
