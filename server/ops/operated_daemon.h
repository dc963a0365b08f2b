#ifndef SANDGLASS_SERVER_OPS_OPERATED_DAEMON_H_
#define SANDGLASS_SERVER_OPS_OPERATED_DAEMON_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "policy/language/language.h"
#include "sandbox/wire/yard_stock.h"
#include "server/live_policy/policy_reload.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// What operators, and the watch over readiness, ask of the running daemon.
// Called on many threads at once.
class OperatedDaemon {
 public:
  virtual ~OperatedDaemon() = default;
  virtual std::vector<PoolKeyState> PoolStates() const = 0;
  // What the yards have in stock; empty when nobody knows. This wakes every
  // spawner and may take a moment.
  virtual std::vector<sandbox::YardStock> YardStocks() const = 0;
  // How many sessions there are, and how many commands run in them.
  virtual size_t Sessions() const = 0;
  virtual uint32_t Commands() const = 0;
  virtual PolicyReload::State PolicyState() const = 0;
  // An error says why programs in that language can't run.
  virtual absl::Status Usable(const policy::Language& language) const = 0;
  // Tries again the languages that failed, unless none is tried.
  virtual void TryFailedLanguages() = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_OPERATED_DAEMON_H_
