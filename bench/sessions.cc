#include "bench/sessions.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/container_session.h"
#include "bench/rounds.h"
#include "bench/session_client.h"
#include "sandbox/os/process.h"

namespace sandglass::bench {
namespace {

// Freed memory and new idle jails take a moment to be counted.
constexpr absl::Duration kSettle = absl::Seconds(2);
constexpr size_t kSmall = size_t{1} << 10;
constexpr size_t kLarge = size_t{10} << 20;
constexpr char kSmallName[] = "small";
constexpr char kLargeName[] = "large";
// Containers take so much longer that they come in each fourth round only.
constexpr int kContainerRounds = 4;

// Times steps, one after another, with a rest before each.
class Steps {
 public:
  explicit Steps(const SessionsOptions& options) : options_(options) {}

  void Count() { counted_ = true; }

  // Of the daemon; what it does in the rest after a step is the step's.
  absl::Status Measure(const char* name,
                       const std::function<absl::Status()>& step) {
    Rest();
    before_ = options_.groups->Cpu();
    const int64_t start = os::MonotonicNanos();
    absl::Status status = step();
    const absl::Duration took = absl::Nanoseconds(os::MonotonicNanos() - start);
    if (counted_ && status.ok()) last_ = &Add(name, kSandglassSession, took);
    return status;
  }
  // Of a command that tells its own times.
  absl::Status Measure(
      const char* name, const char* contender,
      const std::function<absl::StatusOr<CommandResult>()>& step) {
    Rest();
    const absl::StatusOr<CommandResult> result = step();
    if (counted_ && result.ok()) {
      Samples& samples = Add(name, contender, result->time);
      samples.cpu += result->cpu;
    }
    return result.status();
  }

  std::vector<SessionStep> Finish() {
    Rest();
    std::vector<SessionStep> steps;
    for (const auto& [key, samples] : samples_) {
      SessionStep& step = steps.emplace_back();
      step.name = key.first;
      step.contender = key.second;
      if (samples->has_cpu) {
        step.cpu = samples->cpu / static_cast<double>(samples->times.size());
      }
      step.time = Summarise(std::move(samples->times));
    }
    // Each step's contenders beside each other.
    const auto place = [this](const std::string& name) {
      return std::find_if(
          samples_.begin(), samples_.end(),
          [&name](const auto& entry) { return entry.first.first == name; });
    };
    std::stable_sort(steps.begin(), steps.end(),
                     [&place](const SessionStep& a, const SessionStep& b) {
                       return place(a.name) < place(b.name);
                     });
    return steps;
  }

 private:
  struct Samples {
    std::vector<absl::Duration> times;
    absl::Duration cpu;
    bool has_cpu = true;
  };
  using Key = std::pair<std::string, std::string>;

  void Rest() {
    absl::SleepFor(options_.gap);
    if (last_ != nullptr) {
      const std::optional<absl::Duration> now = options_.groups->Cpu();
      last_->has_cpu = last_->has_cpu && now.has_value() && before_.has_value();
      if (last_->has_cpu) last_->cpu += *now - *before_;
    }
    last_ = nullptr;
  }

  Samples& Add(const char* name, const char* contender, absl::Duration took) {
    for (auto& [key, samples] : samples_) {
      if (key.first == name && key.second == contender) {
        samples->times.push_back(took);
        return *samples;
      }
    }
    samples_.emplace_back(Key(name, contender), std::make_unique<Samples>());
    samples_.back().second->times.push_back(took);
    return *samples_.back().second;
  }

  const SessionsOptions& options_;
  // In the order of first sight.
  std::vector<std::pair<Key, std::unique_ptr<Samples>>> samples_;
  std::optional<absl::Duration> before_;
  Samples* last_ = nullptr;
  bool counted_ = false;
};

using Part = std::pair<const char*, std::function<absl::Status()>>;

absl::Status OneRound(SessionClient& client, Steps& steps) {
  std::string id;
  std::string child;
  const auto fork = [&](const char* name, size_t bytes) {
    absl::StatusOr<std::string> forked = client.Fork(id, name, bytes);
    if (!forked.ok()) return forked.status();
    child = *std::move(forked);
    return absl::OkStatus();
  };
  const std::vector<Part> parts = {
      {kWarmRun, [&] { return client.Run(""); }},
      {kCreateAndRun,
       [&] {
         const absl::StatusOr<std::string> created = client.Create();
         if (!created.ok()) return created.status();
         id = *created;
         return client.Run(id);
       }},
      {kKernelRun, [&] { return client.Run(id); }},
      {kExecTrue, [&] { return client.ExecTrue(id); }},
      {kWriteSmall, [&] { return client.Write(id, kSmallName, kSmall); }},
      {kReadSmall, [&] { return client.Read(id, kSmallName, kSmall); }},
      {kForkSmall, [&] { return fork(kSmallName, kSmall); }},
      {kWriteLarge, [&] { return client.Write(id, kLargeName, kLarge); }},
      {kReadLarge, [&] { return client.Read(id, kLargeName, kLarge); }},
      {kForkLarge, [&] { return fork(kLargeName, kLarge); }},
      {kDelete, [&] { return client.Delete(id); }},
  };
  for (const auto& [name, part] : parts) {
    if (absl::Status status = steps.Measure(name, part); !status.ok()) {
      return status;
    }
    if (child.empty()) continue;
    if (absl::Status status = client.Delete(child); !status.ok()) {
      return status;
    }
    child.clear();
  }
  return absl::OkStatus();
}

// A runtime's container and the files that are put into it.
struct Peer {
  const char* name;
  std::unique_ptr<ContainerSession> container;
  std::string small;
  std::string large;
};

std::string MakeFile(const std::string& path, size_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
  return path;
}

std::vector<Peer> MakePeers(const ContenderOptions& options) {
  std::vector<Peer> peers;
  for (const char* name : {kCrun, kRunc}) {
    absl::StatusOr<std::unique_ptr<ContainerSession>> container =
        ContainerSession::Prepare(name, options);
    // The machine's facts name what isn't installed.
    if (!container.ok()) continue;
    const std::string& scratch = options.root.scratch;
    peers.push_back({.name = name,
                     .container = *std::move(container),
                     .small = MakeFile(scratch + "/small", kSmall),
                     .large = MakeFile(scratch + "/large", kLarge)});
  }
  return peers;
}

// What a peer's command must have written.
absl::StatusOr<CommandResult> Checked(absl::StatusOr<CommandResult> result,
                                      size_t bytes) {
  if (result.ok() && result->output.size() != bytes) {
    return absl::UnknownError(
        absl::StrCat("read ", result->output.size(), " of ", bytes, " bytes"));
  }
  return result;
}

absl::Status OneRound(Peer& peer, Steps& steps) {
  ContainerSession& container = *peer.container;
  const auto write = [&](const char* to, const std::string& from) {
    return container.Exec({"/bin/sh", "-c", absl::StrCat("cat > /tmp/", to)},
                          from);
  };
  const auto read = [&](const char* name, size_t bytes) {
    return Checked(container.Exec({"/bin/cat", absl::StrCat("/tmp/", name)}),
                   bytes);
  };
  const std::vector<
      std::pair<const char*, std::function<absl::StatusOr<CommandResult>()>>>
      parts = {
          {kCreateAndRun,
           [&]() -> absl::StatusOr<CommandResult> {
             absl::StatusOr<CommandResult> started = container.Start();
             if (!started.ok()) return started;
             absl::StatusOr<CommandResult> ran =
                 container.Exec({"/usr/bin/python3", "-c", "print(1)"});
             if (!ran.ok()) return ran;
             ran->time += started->time;
             ran->cpu += started->cpu;
             return ran;
           }},
          {kKernelRun,
           [&] {
             return container.Exec({"/usr/bin/python3", "-c", "print(1)"});
           }},
          {kExecTrue, [&] { return container.Exec({"/bin/true"}); }},
          {kWriteSmall, [&] { return write(kSmallName, peer.small); }},
          {kReadSmall, [&] { return read(kSmallName, kSmall); }},
          {kWriteLarge, [&] { return write(kLargeName, peer.large); }},
          {kReadLarge, [&] { return read(kLargeName, kLarge); }},
          {kDelete, [&] { return container.Remove(); }},
      };
  for (const auto& [name, part] : parts) {
    if (absl::Status status = steps.Measure(name, peer.name, part);
        !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(peer.name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Memory of the daemon's groups that so many used sessions add, each.
absl::Status MeasureIdle(SessionClient& client, const SessionsOptions& options,
                         SessionsReport& report) {
  absl::SleepFor(kSettle);
  const uint64_t before = options.groups->MemoryBytes();
  std::vector<std::string> ids;
  absl::Status status;
  while (status.ok() && ids.size() < options.idle) {
    const absl::StatusOr<std::string> id = client.Create();
    status = id.status();
    if (!id.ok()) break;
    ids.push_back(*id);
    status = client.Run(*id);
  }
  absl::SleepFor(kSettle);
  const uint64_t after = options.groups->MemoryBytes();
  if (status.ok() && after > before) {
    report.idle = ids.size();
    report.idle_bytes =
        static_cast<double>(after - before) / static_cast<double>(ids.size());
  }
  for (const std::string& id : ids) (void)client.Delete(id);
  return status;
}

}  // namespace

SessionsReport MeasureSessions(const SessionsOptions& options) {
  SessionsReport report;
  SessionClient client(options.address);
  std::vector<Peer> peers = MakePeers(*options.containers);
  Steps steps(options);
  absl::Status status;
  for (int round = 1; status.ok() && round <= options.rounds + kWarmUpRounds;
       ++round) {
    if (round > kWarmUpRounds) steps.Count();
    status = OneRound(client, steps);
    for (Peer& peer : peers) {
      if (!status.ok() || round % kContainerRounds != 0) break;
      status = OneRound(peer, steps);
    }
    Progress("sessions", round, options.rounds + kWarmUpRounds);
  }
  report.steps = steps.Finish();
  if (status.ok()) status = MeasureIdle(client, options, report);
  if (!status.ok()) report.problem = std::string(status.message());
  return report;
}

}  // namespace sandglass::bench
