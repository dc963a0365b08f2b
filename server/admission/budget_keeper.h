#ifndef SANDGLASS_SERVER_ADMISSION_BUDGET_KEEPER_H_
#define SANDGLASS_SERVER_ADMISSION_BUDGET_KEEPER_H_

#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/admission/admission.h"

namespace sandglass::server {

// Keeps what tenants have used of their budgets over a restart of the daemon,
// in a file of a directory that only the daemon writes into. When the daemon is
// killed, what was used in the last kEvery is lost. A file that can't be read
// or written is logged, and budgets then begin anew with the daemon.
class BudgetKeeper {
 public:
  static constexpr absl::Duration kEvery = absl::Seconds(5);

  // Gives `admission`, which must outlive this object, what the file says. The
  // file's name tells apart daemons that share the directory: it is made of
  // `daemon`, by which the same daemon is known after a restart.
  BudgetKeeper(os::Fd directory, const std::string& daemon,
               Admission& admission);
  // Writes down what was used until now.
  ~BudgetKeeper();
  BudgetKeeper(const BudgetKeeper&) = delete;
  BudgetKeeper& operator=(const BudgetKeeper&) = delete;

 private:
  absl::Status Read();
  void Write();

  const os::Fd directory_;
  const std::string file_;
  Admission& admission_;
  std::string written_;  // the last use that was, but for times
  bool failing_ = false;
  absl::Notification over_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_BUDGET_KEEPER_H_
