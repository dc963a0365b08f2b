#include "tests/chaos/faults.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/os/fd.h"
#include "tests/support/daemon/client.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(10);
// Enough for what goes on, not for what comes.
constexpr int kSpareProcesses = 2;
constexpr int kGoneClients = 4;

// Of a process that is gone by itself nothing is asked.
bool KillAll(const std::vector<Process>& processes) {
  for (const Process& process : processes) (void)Kill(process, SIGKILL);
  EXPECT_TRUE(WaitUntilDead(processes, kSoon));
  return !processes.empty();
}

bool HasState(const Process& process, char state) {
  const auto status = StatusOf(process.pid);
  const auto it = status.find("State");
  return it != status.end() && it->second.starts_with(state);
}

// Waits for the server's end, too: before it, the daemon may look healthy. One
// that another fault has stopped ends once it goes on.
bool KillAndWait(ChaosWorld& world, std::vector<Process> processes) {
  const std::optional<Process> server = world.Server();
  if (processes.empty() || !server) return false;
  const bool killed = Kill(processes.front(), SIGKILL);
  EXPECT_TRUE(HasState(*server, 'T') || WaitUntilDead({*server}, kSoon))
      << Describe(*server);
  return killed;
}

// As a daemon without rights would; root has blocks in reserve on some file
// systems.
bool Fill(const std::string& directory) {
  const std::string path = directory + "/filler";
  const os::Fd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0600));
  off_t size = 0;
  for (off_t step = off_t{64} << 20; step >= 4096;) {
    if (fallocate(file.get(), 0, size, step) == 0) {
      size += step;
    } else {
      step /= 2;
    }
  }
  return size > 0 && errno == ENOSPC;
}

// In each hierarchy that has such a file; false where none has it.
bool WriteToRoots(ChaosWorld& world, const std::string& file,
                  const std::function<std::string(const std::string&)>& value) {
  world.daemon().Remember();
  bool written = false;
  for (const std::string& root : GroupRoots(world.daemon())) {
    const std::string path = absl::StrCat(root, "/", file);
    if (access(path.c_str(), W_OK) != 0) continue;
    WriteFile(path, value(root));
    written |= ReadFile(path) == value(root) + "\n";
  }
  return written;
}

std::vector<std::string> JailGroups(ChaosWorld& world) {
  std::vector<std::string> jails;
  world.daemon().Remember();
  for (const std::string& root : GroupRoots(world.daemon())) {
    ForEachBelow(root, [&](const fs::directory_entry& entry) {
      const std::string path = entry.path();
      if (absl::StartsWith(entry.path().filename().string(), "jail-") &&
          access((path + "/cgroup.freeze").c_str(), W_OK) == 0) {
        jails.push_back(path);
      }
    });
  }
  return jails;
}

// How many of them are.
int SetFrozen(ChaosWorld& world, const char* value) {
  int so = 0;
  for (const std::string& jail : JailGroups(world)) {
    WriteFile(jail + "/cgroup.freeze", value);
    so +=
        ReadFile(jail + "/cgroup.freeze") == absl::StrCat(value, "\n") ? 1 : 0;
  }
  return so;
}

// Calls, or programs, that were not as they are without a fault: how soon one
// is, the load decides.
bool SomebodyMissedSomething(ChaosWorld&, const Ledger& ledger) {
  return WaitUntil(
      [&] { return !ledger.failures().empty() || !ledger.ended().empty(); },
      kSoon);
}

std::string NewestAuditFile(ChaosWorld& world) {
  std::string newest;
  // Another fault may just have removed the only one; the next line makes one.
  WaitUntil(
      [&] {
        std::error_code error;
        for (const auto& file : fs::directory_iterator(world.audit(), error)) {
          newest = std::max(newest, file.path().filename().string());
        }
        return !newest.empty();
      },
      kSoon);
  return newest;
}

void SetByte(const os::Fd& file, off_t place, char value) {
  EXPECT_EQ(pwrite(file.get(), &value, 1, place), 1);
}

// By a process with its ids: a root of a container may not have the right to.
void SetDescriptors(pid_t pid, rlim_t max) {
  const auto ids = StatusOf(pid);
  // Real, effective and so on are the same.
  const auto uid = static_cast<uid_t>(std::stoul(ids.at("Uid")));
  const auto gid = static_cast<gid_t>(std::stoul(ids.at("Gid")));
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit = {};
    if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ||
        prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) != 0) {
      _exit(1);
    }
    limit.rlim_cur = std::min(max, limit.rlim_max);
    _exit(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "its limit of descriptors can't be set";
}

// The process has none with this number, nor can the next one have a lower.
rlim_t LowestFreeDescriptor(pid_t pid) {
  rlim_t number = 0;
  std::error_code error;
  while (fs::exists(
      fs::symlink_status(absl::StrCat("/proc/", pid, "/fd/", number), error))) {
    ++number;
  }
  return number;
}

}  // namespace

Fault KilledZygotes() {
  return {.name = "killed zygotes",
          .begin = [](ChaosWorld& world) { return KillAll(world.Zygotes()); }};
}

Fault KilledSpawner() {
  return {.name = "killed spawner",
          .ends_daemon = true,
          .begin = [](ChaosWorld& world) {
            return KillAndWait(world, world.Named("sandglass-spawn"));
          }};
}

Fault KilledServer() {
  return {.name = "killed server",
          .ends_daemon = true,
          .begin = [](ChaosWorld& world) {
            const auto server = world.Server();
            return server && KillAndWait(world, {*server});
          }};
}

Fault KilledProxy() {
  return {.name = "killed proxy",
          .ends_daemon = true,
          .begin = [](ChaosWorld& world) {
            return KillAndWait(world, world.Named("sandglass-egres"));
          }};
}

Fault FullDisk(size_t which) {
  Fault fault = {
      .name = absl::StrCat("full disk ", which),
      .codes = {grpc::StatusCode::UNAVAILABLE},
      .begin =
          [which](ChaosWorld& world) { return Fill(world.disks()[which]); },
      .end =
          [which](ChaosWorld& world) {
            fs::remove(world.disks()[which] + "/filler");
          }};
  // Who writes to a durable session is told.
  if (which == ChaosWorld::kDurableDisk) {
    fault.codes = {grpc::StatusCode::RESOURCE_EXHAUSTED};
    fault.felt = SomebodyMissedSomething;
  }
  return fault;
}

Fault FewProcesses() {
  return {.name = "few processes",
          // Programs are refused what they need as well, and may go on without,
          // or wait for it for ever: node does for a thread of its own.
          .outcomes = {v1::OUTCOME_OK, v1::OUTCOME_TIMEOUT,
                       v1::OUTCOME_NONZERO_EXIT, v1::OUTCOME_SIGNALED,
                       v1::OUTCOME_PIDS_LIMIT, v1::OUTCOME_COMPILE_ERROR,
                       v1::OUTCOME_JAIL_FAILED},
          .codes = {grpc::StatusCode::INTERNAL, grpc::StatusCode::UNAVAILABLE,
                    grpc::StatusCode::NOT_FOUND,
                    grpc::StatusCode::RESOURCE_EXHAUSTED},
          .begin =
              [](ChaosWorld& world) {
                std::map<std::string, std::string> max;
                return WriteToRoots(
                    world, "pids.max", [&max](const std::string& root) {
                      std::string& value = max[root];
                      if (value.empty()) {
                        value = absl::StrCat(
                            std::stoi(ReadFile(root + "/pids.current")) +
                            kSpareProcesses);
                      }
                      return value;
                    });
              },
          .felt = SomebodyMissedSomething,
          .end =
              [](ChaosWorld& world) {
                WriteToRoots(world, "pids.max",
                             [](const std::string&) { return "max"; });
              }};
}

Fault FewDescriptors() {
  return {.name = "few descriptors",
          // A spawner's message without its descriptors is a broken one, which
          // ends the daemon.
          .outcomes = {v1::OUTCOME_JAIL_FAILED, v1::OUTCOME_SHUTDOWN},
          .codes = {grpc::StatusCode::INTERNAL, grpc::StatusCode::UNAVAILABLE,
                    grpc::StatusCode::CANCELLED, grpc::StatusCode::NOT_FOUND,
                    grpc::StatusCode::RESOURCE_EXHAUSTED},
          .begin =
              [](ChaosWorld& world) {
                const auto server = world.Server();
                // New ones only take the place of old ones.
                if (server) {
                  SetDescriptors(server->pid,
                                 LowestFreeDescriptor(server->pid) / 2);
                }
                return server.has_value();
              },
          .felt = SomebodyMissedSomething,
          .end =
              [](ChaosWorld& world) {
                if (const auto server = world.Server()) {
                  SetDescriptors(server->pid, RLIM_INFINITY);
                }
              }};
}

Fault FrozenJails() {
  return {.name = "frozen jails",
          .begin = [](ChaosWorld& world) { return SetFrozen(world, "1") > 0; },
          .end = [](ChaosWorld& world) { SetFrozen(world, "0"); }};
}

Fault StoppedServer() {
  return {.name = "stopped server",
          .begin =
              [](ChaosWorld& world) {
                const auto server = world.Server();
                return server && Kill(*server, SIGSTOP) &&
                       WaitUntil([&] { return HasState(*server, 'T'); }, kSoon);
              },
          .end =
              [](ChaosWorld& world) {
                if (const auto server = world.Server()) {
                  (void)Kill(*server, SIGCONT);
                }
              }};
}

Fault BrokenPolicy() {
  auto refused = std::make_shared<int>(0);
  return {.name = "broken policy and configuration",
          .begin =
              [refused](ChaosWorld& world) {
                *refused = world.LogLines("policy_not_reloaded");
                WriteFile(world.policy() + "/profiles/broken.json",
                          "{ nonsense");
                fs::rename(world.config(), world.config() + ".kept");
                WriteFile(world.config(), "{\"lis");
                world.daemon().Signal(SIGHUP);
                return true;
              },
          .felt =
              [refused](ChaosWorld& world, const Ledger&) {
                return WaitUntil(
                    [&] {
                      return world.LogLines("policy_not_reloaded") > *refused;
                    },
                    kSoon);
              },
          .end =
              [](ChaosWorld& world) {
                fs::remove(world.policy() + "/profiles/broken.json");
                fs::rename(world.config() + ".kept", world.config());
                world.daemon().Signal(SIGHUP);
              }};
}

Fault AuditFileRemoved() {
  auto removed = std::make_shared<std::string>();
  return {.name = "audit file removed",
          .codes = {grpc::StatusCode::UNAVAILABLE},
          .begin =
              [removed](ChaosWorld& world) {
                *removed = NewestAuditFile(world);
                world.KeepAuditFile(*removed);
                return fs::remove(absl::StrCat(world.audit(), "/", *removed));
              },
          .felt =
              [removed](ChaosWorld& world, const Ledger&) {
                return WaitUntil(
                    [&] { return NewestAuditFile(world) > *removed; }, kSoon);
              }};
}

Fault AuditFileReplaced() {
  return {.name = "audit file replaced",
          .codes = {grpc::StatusCode::UNAVAILABLE},
          .begin = [](ChaosWorld& world) {
            const std::string name = NewestAuditFile(world);
            const std::string path = absl::StrCat(world.audit(), "/", name);
            // Replaced by a copy that is not its own.
            world.KeepAuditFile(name);
            fs::remove(path);
            WriteFile(path, "{\"seq\":1}\n");
            EXPECT_TRUE(WaitUntil(
                [&] { return NewestAuditFile(world) != name; }, kSoon));
            return fs::remove(path);
          }};
}

Fault AuditFileAltered() {
  struct Altered {
    std::string name;
    os::Fd file;  // which somebody may remove meanwhile
    off_t place = 0;
    char digit = 0;
  };
  auto altered = std::make_shared<Altered>();
  return {.name = "audit file altered",
          .begin =
              [altered](ChaosWorld& world) {
                altered->name = NewestAuditFile(world);
                const std::string path =
                    absl::StrCat(world.audit(), "/", altered->name);
                const std::string text = ReadFile(path);
                const std::string key = "\"prev\":\"";
                const size_t at = text.find(key, text.find('\n'));
                if (at == std::string::npos) return false;
                altered->file =
                    os::Fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
                altered->place = static_cast<off_t>(at + key.size());
                altered->digit = text[at + key.size()];
                SetByte(altered->file, altered->place,
                        altered->digit == '0' ? '1' : '0');
                return true;
              },
          .felt =
              [altered](ChaosWorld& world, const Ledger&) {
                // Beside the daemon, which goes on with it.
                const client::SubprocessResult result = client::RunProcess(
                    {.args = {"audit", "verify", world.audit()}});
                EXPECT_EQ(result.exit_code, 1) << result.err;
                const std::string said = result.out + result.err;
                EXPECT_THAT(said, HasSubstr(altered->name + ":2: "));
                return absl::StrContains(said, "was altered");
              },
          // It must fit what was written behind it meanwhile.
          .end =
              [altered](ChaosWorld&) {
                if (!altered->file.valid()) return;
                SetByte(altered->file, altered->place, altered->digit);
              }};
}

Fault AuditDirectoryRemoved() {
  return {
      .name = "audit directory removed",
      .ends_daemon = true,
      .begin =
          [](ChaosWorld& world) {
            world.KeepAudit();
            fs::remove_all(world.audit());
            Client client(world.daemon().address());
            EXPECT_TRUE(WaitUntil([&] { return !client.Serving(); }, kSoon));
            const RunResult refused = client.Run(Bash("echo no"));
            EXPECT_EQ(DetailsOf(refused.status).reason, "AUDIT_UNWRITABLE")
                << refused.status.error_message();
            EXPECT_FALSE(fs::exists(world.audit()));
            world.AuditBeginsAnew();
            return true;
          },
      .end =
          [](ChaosWorld& world) {
            if (const auto server = world.Server()) {
              KillAndWait(world, {*server});
            }
          }};
}

Fault ClientsGone() {
  auto clients =
      std::make_shared<std::vector<std::unique_ptr<client::Subprocess>>>();
  return {.name = "clients gone",
          // On two processors they are as many as may run, for as long as a run
          // may wait.
          .codes = {grpc::StatusCode::RESOURCE_EXHAUSTED},
          .begin =
              [clients](ChaosWorld& world) {
                for (int i = 0; i < kGoneClients; ++i) {
                  clients->push_back(std::make_unique<client::Subprocess>(
                      client::SubprocessOptions{
                          .program = STUCK_CLIENT_PATH,
                          .args = {world.daemon().address(), "bash",
                                   "echo ready; while :; do echo more; done",
                                   "x"}}));
                }
                // One half reads no more, the other is gone in mid-call. Where
                // others have the places, some may not have got as far.
                bool any = false;
                for (size_t i = 0; i < clients->size(); ++i) {
                  any |= (*clients)[i]->ReadUntil("started");
                  (*clients)[i]->Signal(i % 2 == 0 ? SIGSTOP : SIGKILL);
                }
                return any;
              },
          .end = [clients](ChaosWorld&) { clients->clear(); }};
}

std::vector<Fault> AllFaults() {
  return {KilledZygotes(),   KilledSpawner(), KilledServer(),
          KilledProxy(),     FullDisk(0),     FullDisk(1),
          FullDisk(2),       FullDisk(3),     FewProcesses(),
          FewDescriptors(),  FrozenJails(),   StoppedServer(),
          BrokenPolicy(),    ClientsGone(),   AuditFileRemoved(),
          AuditFileAltered()};
}

}  // namespace sandglass::testing
