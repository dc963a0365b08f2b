#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "internal/spawner.pb.h"
#include "sandbox/cgroup_tree.h"
#include "sandbox/egress_port.h"
#include "sandbox/image.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/spawner_event.h"
#include "sandbox/template_proto.h"
#include "sandbox/yard.h"

namespace sandglass::sandbox {
namespace {

// What is the same for every yard.
internal::SpawnerConfig ToConfig(const SandboxOptions& options,
                                 const HostReport& host,
                                 const CgroupHost& cgroups) {
  internal::SpawnerConfig config;
  for (const JailTemplate& jail : options.templates) {
    *config.add_templates() = ToProto(jail);
  }
  config.set_trace_calls(options.trace_calls);
  config.set_max_jails(options.max_jails);
  config.set_spare_jails(std::min(options.spare_jails, options.max_jails));
  config.set_landlock_abi(host.landlock_abi);
  config.set_memory_on_v1(!cgroups.memory_v1_parent.empty());
  config.set_pids_on_v1(!cgroups.pids_v1_parent.empty());
  config.set_cpu_on_v1(!cgroups.cpu_v1_parent.empty());
  config.set_io_on_v1(!cgroups.io_v1_parent.empty());
  config.mutable_disks()->Assign(host.disks.begin(), host.disks.end());
  // RequireLayers has let these pass only if the operator excused them.
  config.set_without_memory_limit(!cgroups.has_memory());
  config.set_without_pids_limit(!cgroups.has_pids());
  config.set_without_cpu_limit(!cgroups.has_cpu());
  return config;
}

// Mounts for the yard are made where the host doesn't see them.
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

// The daemon's end of one yard. Callers wait for their jail's reply; one thread
// reads the channel and hands replies out.
class Sandbox::Port {
 public:
  Port(Yard yard, bool has_zygote, uint32_t max_jails, bool traces_calls)
      : has_zygote_(has_zygote),
        traces_calls_(traces_calls),
        yard_(std::move(yard)),
        max_jails_(max_jails) {}

  ~Port() {
    if (reader_.joinable()) {
      const uint64_t one = 1;
      (void)!::write(stop_.get(), &one, sizeof(one));
      reader_.join();
    }
    yard_.channel.reset();
    // PID 1 of the yard ends at EOF and the kernel kills the rest; no zombie is
    // left while the daemon still lives.
    struct pollfd fd = {yard_.pidfd.get(), POLLIN, 0};
    if (::poll(&fd, 1, 5000) == 1) ::waitpid(yard_.pid, nullptr, 0);
  }

  absl::Status StartReader(std::function<void(absl::Status)> on_death) {
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    if (!stop_.valid()) return os::ErrnoStatus("eventfd");
    reader_ = std::thread([this, on_death = std::move(on_death)] {
      const absl::Status status = ReadEvents();
      if (status.ok()) return;
      {
        const absl::MutexLock lock(&mutex_);
        broken_ = status;
      }
      on_death(status);
    });
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& template_name, const policy::Limits& limits,
      absl::Duration timeout, FillFor fill_for, const std::string& layer) {
    internal::SpawnerRequest request;
    internal::CreateJail* create = request.mutable_create();
    create->set_layer(layer);
    create->set_template_name(template_name);
    *create->mutable_slots() = ToSlots(limits);
    create->set_with_runner(has_zygote_);
    create->set_in_haste(has_zygote_ && fill_for == FillFor::kRun);
    const absl::MutexLock lock(&mutex_);
    if (!broken_.ok()) return Unavailable();
    const int64_t end =
        os::MonotonicNanos() + absl::ToInt64Nanoseconds(timeout);
    // Those of runs that are over go by themselves, only later than they are
    // asked for where runs are short and many.
    const auto has_slot = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return live_.size() < max_jails_ || !broken_.ok();
    };
    if (fill_for == FillFor::kRun) AwaitUntil(absl::Condition(&has_slot), end);
    if (!broken_.ok()) return Unavailable();
    if (live_.size() >= max_jails_) return NoSlot();
    const uint64_t id = next_id_++;
    create->set_jail_id(id);
    live_.insert(id);
    if (const absl::Status sent =
            os::SendPacket(yard_.channel.get(), request.SerializeAsString(), {},
                           os::Wait::kNo);
        !sent.ok()) {
      live_.erase(id);
      return sent;
    }
    waiting_.insert(id);
    const auto answered = [this, id]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return answers_.contains(id) || !broken_.ok();
    };
    AwaitUntil(absl::Condition(&answered), end);
    waiting_.erase(id);
    const auto answer = answers_.find(id);
    if (answer == answers_.end()) {
      if (!broken_.ok()) return Unavailable();
      return absl::DeadlineExceededError("no jail was made in time");
    }
    absl::StatusOr<Jail::Parts> parts = std::move(answer->second);
    answers_.erase(answer);
    if (!parts.ok()) return parts.status();
    parts->traces_calls = traces_calls_;
    return std::make_unique<Jail>(*std::move(parts));
  }

  uint32_t live_jails() const {
    const absl::MutexLock lock(&mutex_);
    return static_cast<uint32_t>(live_.size());
  }

  bool WaitUntilEmpty(absl::Duration timeout) const {
    const absl::MutexLock lock(&mutex_);
    const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return live_.empty() || !broken_.ok();
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&empty), timeout);
  }

 private:
  // Until the condition holds, or os::MonotonicNanos() is `end`: absl::Mutex
  // counts by the wall clock, which may be set meanwhile.
  void AwaitUntil(const absl::Condition& condition, int64_t end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int64_t left = end - os::MonotonicNanos();
         left > 0 &&
         !mutex_.AwaitWithTimeout(condition, absl::Nanoseconds(left));) {
      left = end - os::MonotonicNanos();
    }
  }

  absl::Status Unavailable() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return absl::UnavailableError(
        absl::StrCat("the spawner is gone: ", broken_.message()));
  }
  absl::Status NoSlot() const {
    return absl::ResourceExhaustedError(
        absl::StrCat("all ", max_jails_, " jails are in use; try again later"));
  }

  // Returns OK when asked to stop, else why the channel can't go on.
  absl::Status ReadEvents() {
    for (;;) {
      struct pollfd fds[2] = {{yard_.channel.get(), POLLIN, 0},
                              {stop_.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) {
        if (errno == EINTR) continue;
        return os::ErrnoStatus("poll");
      }
      if (fds[1].revents != 0) return absl::OkStatus();
      absl::StatusOr<os::Packet> packet =
          os::ReceivePacket(yard_.channel.get(), os::Wait::kNo);
      if (absl::IsNotFound(packet.status())) continue;
      if (!packet.ok()) return packet.status();
      if (absl::Status status = TakeEvent(*std::move(packet)); !status.ok()) {
        return status;
      }
    }
  }

  absl::Status TakeEvent(os::Packet packet) {
    absl::StatusOr<SpawnerNews> news = ReadSpawnerEvent(std::move(packet));
    if (!news.ok()) return news.status();
    const absl::MutexLock lock(&mutex_);
    if (const auto* removed = std::get_if<JailRemoved>(&*news)) {
      live_.erase(removed->jail_id);
      return absl::OkStatus();
    }
    auto& answer = std::get<JailAnswered>(*news);
    if (!answer.parts.ok()) live_.erase(answer.jail_id);
    if (absl::IsResourceExhausted(answer.parts.status())) {
      answer.parts = NoSlot();
    }
    // Who no longer waits gets nothing: the parts close, and with the control
    // socket init ends.
    if (waiting_.contains(answer.jail_id)) {
      answers_.emplace(answer.jail_id, std::move(answer.parts));
    }
    return absl::OkStatus();
  }

  const bool has_zygote_;
  const bool traces_calls_;
  Yard yard_;
  const uint32_t max_jails_;
  os::Fd stop_;
  std::thread reader_;
  mutable absl::Mutex mutex_;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  // Asked for and not yet reported gone.
  std::set<uint64_t> live_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::StatusOr<Jail::Parts>> answers_
      ABSL_GUARDED_BY(mutex_);
};

Sandbox::Sandbox() = default;
Sandbox::~Sandbox() = default;

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
  if (absl::Status status = SweepCgroups(roots_file); !status.ok()) {
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
                           options.images, options.authority_certificate);
  }
  if (!status.ok()) return status;
  // Inside a container /proc is often masked, and the kernel then refuses new
  // ones in nested user namespaces; an unmasked one anywhere in view is enough.
  // EPERM: our pid namespace belongs to more than our user namespace, whose
  // /proc is then the one in view; the probe has found that this is enough.
  if (!os::MountProc(proc.c_str(),
                     {.flags = os::kNoSuid | os::kNoDev | os::kNoExec}) &&
      errno != EPERM) {
    return os::ErrnoStatus("mount a fresh proc on ", proc);
  }
  YardOptions yard = {.spawner_path = options.spawner_path,
                      .root = root,
                      .uids = options.uids,
                      .config = ToConfig(options, host, *cgroup_host),
                      .template_ledger = options.template_ledger};
  yard.uids.count /= static_cast<uint32_t>(YardCount(options));
  auto sandbox = std::make_unique<Sandbox>();
  // Each yard has ids of its own.
  const auto start = [&](const std::string& kind,
                         const std::string& group) -> absl::Status {
    absl::StatusOr<YardCgroups> groups =
        MakeYardCgroups(*cgroup_host, options.instance, group, yard.uids.first);
    if (!groups.ok()) return groups.status();
    absl::StatusOr<Yard> started = StartYard(yard, *groups);
    if (!started.ok()) return started.status();
    sandbox->Adopt(kind, *std::move(started), yard.config.has_zygote(),
                   options.max_jails, options.trace_calls);
    yard.uids.first += yard.uids.count;
    return absl::OkStatus();
  };
  if (status = start(kExecKind, "yard"); !status.ok()) return status;
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
    config.set_start_delay_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(zygote.start_delay)));
    status = start(zygote.kind, absl::StrCat("yard-", zygote.kind));
    if (!status.ok()) return status;
  }
  // The yards have copies of their own; the server needs neither.
  os::DetachMount(proc.c_str());
  os::DetachMount(root.c_str());
  return sandbox;
}

size_t YardCount(const SandboxOptions& options) {
  return 1 + options.zygotes.size();
}

absl::Status Sandbox::Sweep(const std::string& state_dir) {
  return SweepCgroups(state_dir + "/cgroups");
}

void Sandbox::Adopt(const std::string& kind, Yard yard, bool has_zygote,
                    uint32_t max_jails, bool traces_calls) {
  ports_[kind] = std::make_unique<Port>(std::move(yard), has_zygote, max_jails,
                                        traces_calls);
}

void Sandbox::SetEgress(std::unique_ptr<EgressPort> egress) {
  egress_ = std::move(egress);
}

absl::Status Sandbox::StartReader(
    const std::function<void(absl::Status)>& on_death) {
  if (egress_ != nullptr) {
    if (absl::Status started = egress_->StartWatch(on_death); !started.ok()) {
      return started;
    }
  }
  for (const auto& [kind, port] : ports_) {
    if (absl::Status started = port->StartReader(on_death); !started.ok()) {
      return started;
    }
  }
  return absl::OkStatus();
}

bool Sandbox::Makes(const std::string& kind) const {
  return ports_.find(kind) != ports_.end();
}

absl::StatusOr<std::unique_ptr<Jail>> Sandbox::CreateJail(
    const std::string& kind, const std::string& template_name,
    const policy::Limits& limits, absl::Duration timeout, FillFor fill_for,
    const std::string& layer) {
  const auto port = ports_.find(kind);
  if (port == ports_.end()) {
    return absl::NotFoundError(absl::StrCat("no yard makes ", kind, " jails"));
  }
  absl::StatusOr<std::unique_ptr<Jail>> jail =
      port->second->CreateJail(template_name, limits, timeout, fill_for, layer);
  if (!jail.ok()) return jail;
  const std::vector<os::Fd> doors = (*jail)->TakeDoors();
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
  for (const auto& [kind, port] : ports_) count += port->live_jails();
  return count;
}

bool Sandbox::WaitUntilEmpty(absl::Duration timeout) const {
  const absl::Time deadline = os::SteadyNow() + timeout;
  for (const auto& [kind, port] : ports_) {
    if (!port->WaitUntilEmpty(deadline - os::SteadyNow())) return false;
  }
  return true;
}

}  // namespace sandglass::sandbox
