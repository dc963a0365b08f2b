#include "tests/chaos/world.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kWarmUp = absl::Seconds(3);
constexpr absl::Duration kSettle = absl::Seconds(30);
// So long nothing changes once all is done: jails that nobody used go after a
// second.
constexpr absl::Duration kCalm = absl::Seconds(2);
// By then there is again what was there: what fails is tried again after a
// minute at most.
constexpr absl::Duration kBack = absl::Seconds(90);
constexpr size_t kWholeLog = 1'000'000;

std::string Config(const std::string& audit, const std::string& durable) {
  return absl::StrCat(R"({
    "audit": {"dir": ")",
                      audit, R"(", "fsync": "interval"},
    "pool": {"floor": 2, "idle_age": "1s", "spawners": 1},
    "sessions": {"max": 16, "durable_dir": ")",
                      durable, R"("},
    "retention": {"time": "1s"},
    "log": {"level": "warning"}
  })");
}

}  // namespace

bool EnterOwnMounts() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

ChaosWorld::ChaosWorld() : place_(MakeTestDirectory()) {
  Mount("state", "size=16m");
  Mount("cache", "size=64m");
  Mount("audit", "size=256m");
  Mount("durable", "size=16m");
  // What is prepared is large and only read.
  const std::string prepared = place_ + "/cache/prepared";
  fs::create_directory(prepared);
  if (mount(TEST_CACHE_DIR "/prepared", prepared.c_str(), nullptr, MS_BIND,
            nullptr) == 0) {
    mounts_.push_back(prepared);
  } else {
    NoteMountError(prepared);
  }
  fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy(),
           fs::copy_options::recursive);
  MakeDurableProfile(policy());
}

ChaosWorld::~ChaosWorld() {
  daemon_.reset();
  for (auto it = mounts_.rbegin(); it != mounts_.rend(); ++it) {
    umount2(it->c_str(), MNT_DETACH);
  }
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

void ChaosWorld::Mount(const std::string& name, const std::string& size) {
  const std::string path = absl::StrCat(place_, "/", name);
  fs::create_directory(path);
  const std::string data = absl::StrCat("mode=0755,", size);
  if (mount("sandglass-chaos", path.c_str(), "tmpfs", 0, data.c_str()) != 0) {
    return NoteMountError(path);
  }
  mounts_.push_back(path);
}

void ChaosWorld::NoteMountError(const std::string& path) {
  made_ = absl::ErrnoToStatus(errno, absl::StrCat("mount ", path));
}

std::vector<std::string> ChaosWorld::disks() const {
  return {place_ + "/state", place_ + "/cache", place_ + "/audit",
          place_ + "/durable"};
}

CensusPlaces ChaosWorld::Places() const {
  return {.directories = {daemon_->directory() + "/state",
                          daemon_->directory() + "/run",
                          place_ + "/cache/libraries", place_ + "/durable"},
          .written = disks(),
          // Mounts of ours count as well, before and after.
          .named = place_};
}

absl::Status ChaosWorld::Start() {
  if (!made_.ok()) return made_;
  const std::string directory = place_ + "/state/daemon";
  fs::create_directory(directory);
  auto daemon = Daemon::Start(
      {.config = Config(audit(), place_ + "/durable/sessions"),
       .extra_arguments = {"--supervise", "--policy-dir", policy()},
       .cache_directory = place_ + "/cache",
       .directory = directory});
  if (!daemon.ok()) return daemon.status();
  daemon_ = *std::move(daemon);
  Ledger ledger;
  // Until each kind of jail that the load uses has waited once.
  MixedLoad::RunEach(daemon_->client(), ledger);
  MixedLoad load(daemon_->address(), ledger);
  WaitUntil([] { return false; }, kWarmUp);
  MixedLoad::RunEach(daemon_->client(), ledger);
  load.Stop();
  baseline_ = Settled();
  if (!ledger.failures().empty() || !ledger.wrong().empty()) {
    return absl::InternalError(absl::StrCat(
        "what went wrong before any fault: ",
        absl::StrJoin(ledger.wrong(), "; "),
        ledger.failures().empty() ? "" : ledger.failures().begin()->first));
  }
  return absl::OkStatus();
}

absl::Status ChaosWorld::Stop() { return daemon_->Stop(); }

std::optional<Process> ChaosWorld::Server() const {
  for (const Process& process : Named("sandglassd")) {
    const auto status = StatusOf(process.pid);
    const auto parent = status.find("PPid");
    if (parent != status.end() &&
        parent->second == absl::StrCat(daemon_->pid())) {
      return process;
    }
  }
  return std::nullopt;
}

std::vector<Process> ChaosWorld::Named(const std::string& name) const {
  std::vector<Process> found = daemon_->Processes();
  std::erase_if(found, [&](const Process& process) {
    return NameOf(process.pid) != name;
  });
  return found;
}

std::vector<Process> ChaosWorld::Zygotes() const {
  std::vector<Process> found = daemon_->Processes();
  std::erase_if(found, [](const Process& process) {
    return !absl::StartsWith(CommandOf(process.pid), "sandglass-zygote");
  });
  return found;
}

std::optional<absl::Duration> ChaosWorld::UntilHealthy(absl::Duration timeout) {
  const absl::Time start = absl::Now();
  Client client(daemon_->address());
  const bool healthy = WaitUntil(
      [&] {
        if (!client.Serving()) return false;
        const RunResult result = client.Run(Bash("echo again"));
        return result.status.ok() &&
               result.response.outcome() == v1::OUTCOME_OK;
      },
      timeout);
  if (!healthy) return std::nullopt;
  return absl::Now() - start;
}

std::string ChaosWorld::Chain(int number) const {
  return absl::StrCat(place_, "/audit/kept", number);
}

void ChaosWorld::KeepAuditFile(const std::string& name) {
  const fs::path file = absl::StrCat(audit(), "/", name);
  std::error_code error;
  if (fs::exists(absl::StrCat(Chain(chain_), "/", name), error) &&
      !fs::equivalent(file, absl::StrCat(Chain(chain_), "/", name), error)) {
    // The server was killed before it saw that the first was gone, and went on
    // from the line before it.
    AuditBeginsAnew();
  }
  fs::create_directories(Chain(chain_), error);
  // The same file: lines that are still written to it are kept as well.
  fs::create_hard_link(file, absl::StrCat(Chain(chain_), "/", name), error);
}

void ChaosWorld::KeepAudit() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(audit(), error)) {
    names.insert(file.path().filename().string());
  }
  const int before = chain_;
  for (const std::string& name : names) KeepAuditFile(name);
  // A new chain has all that came before, too.
  if (chain_ != before) {
    for (const std::string& name : names) KeepAuditFile(name);
  }
  for (int i = 0; i <= chain_; ++i) fs::create_directories(Chain(i), error);
}

std::vector<std::string> ChaosWorld::Missing(const Ledger& ledger) {
  KeepAudit();
  std::set<std::string> lines;  // "event id"
  for (int i = 0; i <= chain_; ++i) {
    for (const auto& file : fs::directory_iterator(Chain(i))) {
      const std::string text = ReadFile(file.path());
      for (const absl::string_view line :
           absl::StrSplit(text, '\n', absl::SkipEmpty())) {
        const auto entry =
            nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
        if (!entry.is_object()) continue;
        const std::string event = entry.value("event", "");
        const char* id = event == "run"    ? "run_id"
                         : event == "exec" ? "exec_id"
                                           : "session_id";
        lines.insert(absl::StrCat(event, " ", entry.value(id, "")));
      }
    }
  }
  std::vector<std::string> missing;
  for (const auto& [event, ids] : ledger.acknowledged()) {
    for (const std::string& id : ids) {
      const std::string line = absl::StrCat(event, " ", id);
      if (!lines.contains(line)) missing.push_back(line);
    }
  }
  return missing;
}

std::vector<std::string> ChaosWorld::VerifyAudit() {
  KeepAudit();
  std::vector<std::string> said;
  for (int i = 0; i <= chain_; ++i) {
    const client::SubprocessResult result =
        client::RunProcess({.args = {"audit", "verify", Chain(i)}});
    if (result.exit_code != 0) {
      said.push_back(absl::StrCat("exit ", result.exit_code, ": ", result.out,
                                  result.err));
    }
  }
  return said;
}

void ChaosWorld::EndSessions() {
  using Stub = v1::SessionService::Stub;
  Client client(daemon_->address());
  v1::ListSessionsResponse sessions;
  if (!CallSessions(client, &Stub::ListSessions, v1::ListSessionsRequest(),
                    &sessions)
           .ok()) {
    return;
  }
  for (const v1::Session& session : sessions.sessions()) {
    v1::DeleteSessionRequest request;
    request.set_session_id(session.session_id());
    v1::DeleteSessionResponse response;
    (void)CallSessions(client, &Stub::DeleteSession, request, &response);
  }
}

Census ChaosWorld::Settled() {
  EndSessions();
  daemon_->Remember();
  Census last;
  absl::Time since = absl::Now();
  WaitUntil(
      [&] {
        Census now = Count(*daemon_, Places());
        if (now != last) {
          last = std::move(now);
          since = absl::Now();
        }
        return absl::Now() - since > kCalm;
      },
      kSettle);
  return last;
}

std::vector<std::string> ChaosWorld::Left() {
  EndSessions();
  daemon_->Remember();
  std::vector<std::string> wrong;
  absl::Time since = absl::Now();
  // For a while: what is left may hide where something isn't back yet.
  WaitUntil(
      [&] {
        const Census now = Count(*daemon_, Places());
        wrong = More(now, baseline_);
        const std::vector<std::string> missing =
            MissingProcesses(now, baseline_);
        wrong.insert(wrong.end(), missing.begin(), missing.end());
        if (!wrong.empty()) since = absl::Now();
        return absl::Now() - since > kCalm;
      },
      kBack);
  return wrong;
}

int ChaosWorld::LogLines(const std::string& event) const {
  int lines = 0;
  for (const absl::string_view line :
       absl::StrSplit(daemon_->LogTail(kWholeLog), '\n')) {
    if (absl::StrContains(line, absl::StrCat(" ", event, " "))) ++lines;
  }
  return lines;
}

}  // namespace sandglass::testing
