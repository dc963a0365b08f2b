#ifndef SANDGLASS_TESTS_JAIL_SESSION_FIXTURE_H_
#define SANDGLASS_TESTS_JAIL_SESSION_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/jail/session_jail.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::sandbox {

// The yards of these tests. RunSessionTests starts them, as root, runs all
// tests and ends them.
extern std::unique_ptr<Sandbox> g_sandbox;
// Where the tests put layers, by id.
extern std::string g_layers;
// `adjust` may change what they are.
int RunSessionTests(
    int argc, char** argv,
    const std::function<void(SandboxOptions&)>& adjust = [](SandboxOptions&) {
    });

// A kind of jail with a Python runner.
inline constexpr char kPythonKind[] = "python";

// A process of a test's jail, as far as it is known.
struct Seen {
  std::optional<SpawnedEvent> spawned;
  std::optional<SpawnFailedEvent> failed;
  std::optional<ProcessExitedEvent> exited;
  std::string out, err, channel;  // a terminal's output is `out`
};

// A jail with a session's handle, and everything that it says.
class TestSession {
 public:
  explicit TestSession(const std::string& kind = kExecKind,
                       const policy::Limits& limits = {});
  // Takes one that is set up otherwise.
  explicit TestSession(std::unique_ptr<Jail> jail);

  SessionJail& session() { return *session_; }

  // Asks for a process.
  uint64_t Spawn(const ProcessSpec& spec);
  // Asks and waits until it runs; fails the test when it doesn't.
  Seen& Started(const ProcessSpec& spec);
  // Asks and waits until it ended, one way or another.
  Seen& Ended(const ProcessSpec& spec);
  Seen& AwaitEnd(uint64_t id);
  Seen& At(uint64_t id) { return seen_[id]; }

  // Takes what comes until `done`; fails the test after half a minute.
  bool Await(const std::function<bool()>& done);

  // Of the jail's own program.
  const std::optional<StartedEvent>& main_started() const { return started_; }
  const std::optional<ExitedEvent>& main_exited() const { return exited_; }
  bool waits() const { return waits_; }
  // Its init's end, which fails a test that has not said that it comes.
  void ExpectGone() { gone_expected_ = true; }
  bool gone() const { return gone_; }
  std::optional<FileChannelEvent>& files() { return files_; }

  // Where the groups of its processes are, without the last "/".
  static std::string RunDirectory(const Seen& process);

 private:
  void HandleEvents();
  void ReadStreams();

  std::unique_ptr<SessionJail> session_;
  std::map<uint64_t, Seen> seen_;
  std::optional<StartedEvent> started_;
  std::optional<ExitedEvent> exited_;
  std::optional<FileChannelEvent> files_;
  bool waits_ = false;
  bool gone_ = false, gone_expected_ = false;
  uint64_t last_id_ = 0;
};

// A jail of its own that is ready; fails the test when there is none.
std::unique_ptr<Jail> ReadyJail(const std::string& kind = kExecKind,
                                const policy::Limits& limits = {},
                                const std::string& layer = "");
// Passes a jail's first events by until `done`.
void AwaitJail(Jail& jail, const std::function<bool()>& done);

ProcessSpec Shell(const std::string& code);
ProcessSpec Python(const std::string& code);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_TESTS_JAIL_SESSION_FIXTURE_H_
