#include "sandbox/yard/sandbox.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/jail/lock_census.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/template_proto.h"
#include "sandbox/yard/egress_port.h"
#include "sandbox/yard/yard.h"
#include "sandbox/yard/yard_group.h"
#include "sandbox/yard/yard_port.h"
#include "sandbox/yard/yard_root.h"

namespace sandglass::sandbox {
namespace {

// What is the same for every yard.
internal::SpawnerConfig ToSpawnerConfig(const SandboxOptions& options,
                                        const HostReport& host,
                                        const CgroupHost& cgroups) {
  internal::SpawnerConfig config;
  for (const JailTemplate& jail : options.templates) {
    *config.add_templates() = ToProto(jail);
  }
  config.set_trace_calls(options.trace_calls);
  config.set_max_jails(options.max_jails);
  config.set_spare_jails(std::min(options.spare_jails, options.max_jails));
  config.set_parallel_raises(options.parallel_raises);
  config.set_landlock_abi(host.landlock_abi);
  config.set_memory_on_v1(!cgroups.memory_v1_parent.empty());
  config.set_pids_on_v1(!cgroups.pids_v1_parent.empty());
  config.set_cpu_on_v1(!cgroups.cpu_v1_parent.empty());
  config.set_io_on_v1(!cgroups.io_v1_parent.empty());
  config.mutable_disks()->Assign(host.disks.begin(), host.disks.end());
  // RequireLayers has let a missing limit pass only if the operator excused it.
  config.set_without_memory_limit(!cgroups.has_memory());
  config.set_without_pids_limit(!cgroups.has_pids());
  config.set_without_cpu_limit(!cgroups.has_cpu());
  return config;
}

// How long after each other the zygotes of one kind are started: none is needed
// before there is a crowd.
constexpr absl::Duration kNextZygote = absl::Milliseconds(100);

// What operators read of the yards of one kind, which are counted from 0.
std::string YardName(const std::string& kind, size_t number) {
  return number == 0 ? kind : absl::StrCat(kind, "-", number + 1);
}

// Mounts for the yards are made where the host doesn't see them.
absl::Status EnterOwnMountNamespace() {
  if (!os::Unshare(os::kNewMount)) return os::ErrnoStatus("unshare(NEWNS)");
  if (!os::MakeMountsSlave()) return os::ErrnoStatus("make mounts slaves");
  return absl::OkStatus();
}

absl::Status MakeStagingDirs(const std::string& state_dir) {
  for (const char* name : {"/yard", "/proc"}) {
    const std::string path = state_dir + name;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return os::ErrnoStatus("mkdir ", path);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Sandbox::Sandbox() = default;
Sandbox::~Sandbox() { LockCensus::Shared().Stop(); }

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Start(
    const SandboxOptions& options, const HostReport& host) {
  if (::geteuid() != 0) {
    return absl::PermissionDeniedError(
        "making yards needs root; start sandglassd as root (it gives the "
        "rights "
        "up before it serves)");
  }
  if (options.state_dir.empty() || options.state_dir.front() != '/' ||
      options.instance.empty()) {
    return absl::InvalidArgumentError(
        "a sandbox needs an absolute state directory and an instance name");
  }
  if (os::ThreadCount() != 1) {
    return absl::FailedPreconditionError(
        "yards can only be made while the daemon has one thread");
  }
  const std::string roots_file = options.state_dir + "/cgroups";
  if (absl::Status status = SweepCgroups(roots_file, options.instance);
      !status.ok() && !absl::IsFailedPrecondition(status)) {
    return status;
  }
  absl::StatusOr<CgroupHost> cgroup_host = FindCgroups(options.cgroup_parent);
  if (!cgroup_host.ok()) return cgroup_host.status();
  if (host.disks.empty()) cgroup_host->io_v1_parent.clear();
  if (absl::Status made =
          MakeCgroupTree(*cgroup_host, options.instance, roots_file);
      !made.ok()) {
    return made;
  }
  const std::string root = options.state_dir + "/yard";
  const std::string proc = options.state_dir + "/proc";
  absl::Status status = MakeStagingDirs(options.state_dir);
  if (status.ok()) status = EnterOwnMountNamespace();
  if (status.ok()) {
    status = BuildYardRoot(root, options.prepared_dir, options.layers_dir,
                           options.images, options.authority_certificate,
                           options.host_etc);
  }
  if (!status.ok()) return status;
  // Inside a container /proc is often masked, and the kernel then refuses to
  // mount new ones in nested user namespaces; one unmasked /proc anywhere in
  // view is enough. EPERM: our pid namespace belongs to an outer user
  // namespace. The /proc in view is then that of this pid namespace, and the
  // probe has found that this is enough.
  if (!os::MountProc(proc.c_str(),
                     {.flags = os::kNoSuid | os::kNoDev | os::kNoExec}) &&
      errno != EPERM) {
    return os::ErrnoStatus("mount a fresh proc on ", proc);
  }
  YardOptions yard = {.spawner_path = options.spawner_path,
                      .root = root,
                      .uids = options.uids,
                      .config = ToSpawnerConfig(options, host, *cgroup_host),
                      .template_ledger = options.template_ledger};
  yard.uids.count /= static_cast<uint32_t>(YardCount(options));
  auto sandbox = std::make_unique<Sandbox>();
  // Each yard has a range of ids of its own.
  const auto start = [&](const std::string& kind, const std::string& group,
                         uint32_t count,
                         absl::Duration start_delay) -> absl::Status {
    for (uint32_t i = 0; i < count; ++i) {
      if (yard.config.has_zygote()) {
        yard.config.mutable_zygote()->set_start_delay_ms(static_cast<uint32_t>(
            absl::ToInt64Milliseconds(start_delay + i * kNextZygote)));
      }
      absl::StatusOr<YardCgroups> groups = MakeYardCgroups(
          *cgroup_host, options.instance, YardName(group, i), yard.uids.first);
      if (!groups.ok()) return groups.status();
      absl::StatusOr<Yard> started = StartYard(yard, *groups);
      if (!started.ok()) return started.status();
      sandbox->Adopt(kind, *std::move(started), yard.config.has_zygote(),
                     options.max_jails, options.trace_calls);
      yard.uids.first += yard.uids.count;
    }
    return absl::OkStatus();
  };
  status = start(kExecKind, "yard", options.exec_yards, absl::ZeroDuration());
  if (!status.ok()) return status;
  for (const ZygoteOptions& zygote : options.zygotes) {
    absl::StatusOr<std::string> library =
        os::ReadWholeFile(zygote.library_path);
    if (!library.ok()) return library.status();
    yard.zygote_library = *std::move(library);
    yard.zygote_script = zygote.script;
    yard.config.set_spare_jails(
        std::min(zygote.spare_jails, options.max_jails));
    internal::Zygote& config = *yard.config.mutable_zygote();
    config.Clear();
    config.mutable_argv()->Assign(zygote.argv.begin(), zygote.argv.end());
    config.mutable_env()->Assign(zygote.env.begin(), zygote.env.end());
    config.set_renew_after(zygote.renew_after);
    config.set_layer(zygote.layer);
    if (zygote.image != policy::kHostImage) config.set_image(zygote.image);
    status = start(zygote.kind, absl::StrCat("yard-", zygote.kind),
                   zygote.yards, zygote.start_delay);
    if (!status.ok()) return status;
  }
  // The yards have copies of both, and the server needs neither.
  os::DetachMount(proc.c_str());
  os::DetachMount(root.c_str());
  return sandbox;
}

size_t YardCount(const SandboxOptions& options) {
  size_t count = options.exec_yards;
  for (const ZygoteOptions& zygote : options.zygotes) count += zygote.yards;
  return count;
}

absl::Status Sandbox::Sweep(const std::string& state_dir,
                            const std::string& instance) {
  return SweepCgroups(state_dir + "/cgroups", instance);
}

void Sandbox::Adopt(const std::string& kind, Yard yard, bool has_zygote,
                    uint32_t max_jails, bool traces_calls) {
  std::unique_ptr<YardGroup>& group = groups_[kind];
  if (group == nullptr) group = std::make_unique<YardGroup>();
  group->Add(std::make_unique<YardPort>(std::move(yard), has_zygote, max_jails,
                                        traces_calls));
}

std::vector<std::pair<std::string, YardPort*>> Sandbox::NamedPorts() const {
  std::vector<std::pair<std::string, YardPort*>> ports;
  for (const auto& [kind, group] : groups_) {
    for (size_t i = 0; i < group->ports().size(); ++i) {
      ports.emplace_back(YardName(kind, i), group->ports()[i].get());
    }
  }
  return ports;
}

void Sandbox::SetEgress(std::unique_ptr<EgressPort> egress) {
  egress_ = std::move(egress);
}

absl::Status Sandbox::StartReader(const OnDeath& on_death,
                                  const OnLoss& on_loss) {
  if (egress_ != nullptr) {
    if (absl::Status started = egress_->StartWatch(on_death); !started.ok()) {
      return started;
    }
  }
  for (const auto& [kind, group] : groups_) {
    for (size_t i = 0; i < group->ports().size(); ++i) {
      YardGroup& others = *group;
      YardPort& port = *group->ports()[i];
      absl::Status started = port.StartReader(
          [on_death, on_loss, &others, &port,
           name = YardName(kind, i)](const absl::Status& status) {
            if (on_loss != nullptr && others.GoesOnWithout(port)) {
              on_loss(name, status);
            } else {
              on_death(status);
            }
          });
      if (!started.ok()) return started;
    }
  }
  LockCensus::Shared().Start();
  SocketWatch::Shared().Start();
  return absl::OkStatus();
}

std::vector<std::string> Sandbox::SilentYards() const {
  std::vector<std::string> silent;
  for (const auto& [name, port] : NamedPorts()) {
    if (port->IsSilent()) silent.push_back(name);
  }
  return silent;
}

bool Sandbox::Makes(const std::string& kind) const {
  return groups_.contains(kind);
}

absl::StatusOr<std::unique_ptr<Jail>> Sandbox::CreateJail(
    const std::string& kind, const std::string& template_name,
    const policy::Limits& limits, absl::Duration timeout, FillFor fill_for,
    const std::string& layer) {
  const auto group = groups_.find(kind);
  if (group == groups_.end()) {
    return absl::NotFoundError(absl::StrCat("no yard makes ", kind, " jails"));
  }
  absl::StatusOr<std::unique_ptr<Jail>> jail = group->second->CreateJail(
      template_name, limits, timeout, fill_for, layer);
  if (!jail.ok()) return jail;
  const std::vector<os::Fd> doors = (*jail)->ReleaseDoors();
  if (doors.empty()) return jail;
  if (egress_ == nullptr) {
    return absl::UnavailableError("there is no egress proxy for the jail");
  }
  absl::StatusOr<std::unique_ptr<NetworkLease>> network =
      egress_->Open(template_name, doors);
  if (!network.ok()) return network.status();
  (*jail)->SetNetwork(*std::move(network));
  return jail;
}

uint32_t Sandbox::live_jails() const {
  uint32_t count = 0;
  for (const auto& [name, port] : NamedPorts()) count += port->live_jails();
  return count;
}

std::vector<YardStock> Sandbox::CollectStock(absl::Duration timeout) {
  const absl::Time deadline = os::SteadyNow() + timeout;
  // All yards are asked before any answer is waited for.
  std::map<std::string, uint64_t> answers;
  for (const auto& [name, port] : NamedPorts()) {
    answers[name] = port->AskStock();
  }
  std::vector<YardStock> stocks;
  for (const auto& [name, port] : NamedPorts()) {
    std::optional<YardStock> stock =
        port->AwaitStock(answers.at(name), deadline);
    if (!stock.has_value()) continue;
    stock->kind = name;
    stocks.push_back(*std::move(stock));
  }
  return stocks;
}

bool Sandbox::WaitUntilEmpty(absl::Duration timeout) const {
  const absl::Time deadline = os::SteadyNow() + timeout;
  for (const auto& [name, port] : NamedPorts()) {
    if (!port->WaitUntilEmpty(deadline - os::SteadyNow())) return false;
  }
  return true;
}

}  // namespace sandglass::sandbox
