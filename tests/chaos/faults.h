#ifndef SANDGLASS_TESTS_CHAOS_FAULTS_H_
#define SANDGLASS_TESTS_CHAOS_FAULTS_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/chaos/world.h"

namespace sandglass::testing {

// Something that goes wrong for a while.
struct Fault {
  std::string name;
  // Whether the daemon ends by it, so that calls break and sessions are gone.
  bool ends_daemon = false;
  // What programs may end by, and calls fail with, beside what the daemon's end
  // or the audit log does.
  std::set<v1::Outcome> outcomes = {};
  std::set<grpc::StatusCode> codes = {};
  // Whether it has hit something, which where others went before it may be
  // gone.
  std::function<bool(ChaosWorld&)> begin;
  // Whether what goes on has met it, before it is taken away.
  std::function<bool(ChaosWorld&, const Ledger&)> felt =
      [](ChaosWorld&, const Ledger&) { return true; };
  // Takes away what `begin` did, where that doesn't go by itself.
  std::function<void(ChaosWorld&)> end = [](ChaosWorld&) {};
};

Fault KilledZygotes();
Fault KilledSpawner();
Fault KilledServer();
Fault KilledProxy();
Fault FullDisk(size_t which);  // of ChaosWorld::disks
Fault FewProcesses();
Fault FewDescriptors();
Fault FrozenJails();
Fault StoppedServer();
Fault BrokenPolicy();
Fault AuditFileRemoved();
Fault AuditFileReplaced();
// In place, while it is written to.
Fault AuditFileAltered();
// Until the server is started again, as docs/audit.md has it.
Fault AuditDirectoryRemoved();
Fault ClientsGone();

// Those that may come at any time, two at once.
std::vector<Fault> AllFaults();

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_CHAOS_FAULTS_H_
