// Watches the kernel memory that the commands of a session hold and that no
// control group is charged for.
#include <algorithm>
#include <memory>
#include <string>

#include "policy/verdict/verdict.h"
#include "server/base/clock.h"
#include "server/exec/exec_table.h"
#include "server/job/run_times.h"

namespace sandglass::server {

void ExecTable::CheckUnchargedIn(absl::Duration wait,
                                 const std::string& session_id,
                                 Commands& commands) {
  commands.uncharged_timer = loop_.CallAt(
      After(Now(), std::max(wait, kUnchargedInterval)),
      [this, session_id, &commands] {
        commands.uncharged_timer = 0;
        // A running command holds its session.
        const auto running = std::ranges::find_if(
            commands.by_number,
            [](const auto& of) { return !of.second->over(); });
        if (running == commands.by_number.end()) return;
        uncharged_loop_.Post(
            [this, session_id, session = running->second->shared_session()] {
              const MonotonicTime began = Now();
              const policy::UnchargedMemory memory =
                  session->host().processes()->ReadUncharged();
              const absl::Duration took = Between(began, Now());
              loop_.Post([this, session_id, memory, took] {
                RecordUncharged(session_id, memory, took);
              });
            });
      });
}

void ExecTable::RecordUncharged(const std::string& session_id,
                                const policy::UnchargedMemory& memory,
                                absl::Duration took) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second.running == 0) return;
  // Another measurement has begun since.
  if (found->second.uncharged_timer != 0) return;
  if (const auto excess = policy::FindExcess(memory); excess.has_value()) {
    KillThose(found->second, excess->reason, excess->bytes);
  }
  CheckUnchargedIn(kUnchargedShare * took, session_id, found->second);
}

}  // namespace sandglass::server
