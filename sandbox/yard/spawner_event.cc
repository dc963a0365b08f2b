#include "sandbox/yard/spawner_event.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/wire/egress_ports.h"

namespace sandglass::sandbox {
namespace {

// The payloads that mark these kinds of statuses.
constexpr char kZygoteStarting[] = "sandglass.zygote-starting";
constexpr char kWantOfMemory[] = "sandglass.want-of-memory";
// The largest value that SandboxOptions allows; and a hundred years.
constexpr uint64_t kMaxJails = 4096;
constexpr uint64_t kMaxEndingMs = uint64_t{100} * 366 * 24 * 3600 * 1000;

os::Fd* FindPart(Jail::Parts& parts, internal::FdRole role) {
  switch (role) {
    case internal::FD_ROLE_INIT_PIDFD:
      return &parts.init_pidfd;
    case internal::FD_ROLE_CONTROL:
      return &parts.control;
    case internal::FD_ROLE_KILL_JAIL:
      return &parts.kill_jail;
    case internal::FD_ROLE_KILL_RUN:
      return &parts.kill_run;
    case internal::FD_ROLE_RUN_EVENTS:
      return &parts.run_events;
    case internal::FD_ROLE_FREEZE_RUN:
      return &parts.freeze_run;
    case internal::FD_ROLE_CPU_WEIGHT:
      return &parts.cpu_weight;
    case internal::FD_ROLE_CGROUP_V2:
      return &parts.groups.v2;
    case internal::FD_ROLE_CGROUP_MEMORY:
      return &parts.groups.memory;
    case internal::FD_ROLE_CGROUP_PIDS:
      return &parts.groups.pids;
    case internal::FD_ROLE_CGROUP_CPU:
      return &parts.groups.cpu;
    case internal::FD_ROLE_OOM_EVENT:
      return &parts.oom_event;
    case internal::FD_ROLE_NETLINK_SOCKETS:
      return &parts.netlink_sockets;
    case internal::FD_ROLE_RUNNER:
      return &parts.runner;
    default:
      return nullptr;
  }
}

// Each role of the egress proxy's doors has its place in the list. Whoever
// receives them checks whether they are what they should be.
bool IsDoor(internal::FdRole role, size_t place) {
  switch (role) {
    case internal::FD_ROLE_EGRESS_PROXY:
      return place == 0;
    case internal::FD_ROLE_EGRESS_DNS:
      return place == 1;
    case internal::FD_ROLE_EGRESS_PORT:
      return place >= 2 && place < 2 + kMaxServedPorts;
    default:
      return false;
  }
}

absl::Status Failure(const internal::StepFailure& failure) {
  if (failure.step() == static_cast<int>(SetupStep::kForkRunner) &&
      failure.error() == EAGAIN) {
    return ZygoteStarting();
  }
  return SetupFailure(failure.step(), failure.error());
}

absl::StatusOr<JailAnswered> ReadCreated(const internal::JailCreated& created,
                                         std::vector<os::Fd> fds,
                                         bool lost_fds) {
  if (created.no_slot()) {
    return JailAnswered{created.jail_id(),
                        absl::ResourceExhaustedError("no slot is free"), true};
  }
  if (created.has_failure()) {
    return JailAnswered{created.jail_id(), Failure(created.failure())};
  }
  if (lost_fds) {
    return JailAnswered{created.jail_id(), DescriptorsLost(), false, true};
  }
  if (created.roles_size() != static_cast<int>(fds.size())) {
    return absl::InternalError("the spawner's descriptors don't add up");
  }
  Jail::Parts parts;
  parts.id = created.jail_id();
  parts.made_ahead = created.made_ahead();
  for (int i = 0; i < created.roles_size(); ++i) {
    os::Fd& fd = fds[static_cast<size_t>(i)];
    if (IsDoor(created.roles(i), parts.doors.size())) {
      parts.doors.push_back(std::move(fd));
      continue;
    }
    os::Fd* part = FindPart(parts, created.roles(i));
    if (part == nullptr) {
      return absl::InternalError("the spawner sent an unknown fd role");
    }
    *part = std::move(fd);
  }
  for (const os::Fd* needed :
       {&parts.init_pidfd, &parts.control, &parts.kill_jail, &parts.kill_run,
        &parts.run_events, &parts.freeze_run, &parts.groups.v2,
        &parts.netlink_sockets}) {
    if (!needed->valid()) {
      return absl::InternalError("the spawner's jail lacks a descriptor");
    }
  }
  for (const internal::StepTime& step : created.steps()) {
    if (!AddStep(step.step(), step.nanoseconds(), parts.steps)) {
      return absl::InternalError("the spawner sent a step that there isn't");
    }
  }
  return JailAnswered{created.jail_id(), std::move(parts)};
}

absl::StatusOr<YardStock> ReadStock(const internal::YardStock& told) {
  // Values that no yard can have.
  if (uint64_t{told.jails()} + told.spares() + told.ending() > kMaxJails ||
      told.longest_ending_ms() > kMaxEndingMs ||
      told.stray_groups() > told.groups() ||
      told.zygote_deaths() > told.zygote_starts() ||
      told.failing().size() > kMaxFailingBytes ||
      (told.setup_failures() == 0 && !told.failing().empty())) {
    return absl::InternalError("the spawner's stock doesn't add up");
  }
  YardStock stock;
  stock.jails = told.jails();
  stock.spares = told.spares();
  stock.ending = told.ending();
  stock.longest_ending =
      absl::Milliseconds(static_cast<int64_t>(told.longest_ending_ms()));
  stock.groups = told.groups();
  stock.stray_groups = told.stray_groups();
  stock.processes = told.processes();
  stock.open_descriptors = told.open_descriptors();
  stock.mounts = told.mounts();
  stock.zygote_starts = told.zygote_starts();
  stock.zygote_deaths = told.zygote_deaths();
  stock.zygote_serves = told.zygote_serves();
  stock.setup_failures = told.setup_failures();
  // Operators read the text on a terminal.
  stock.failing = absl::CHexEscape(told.failing());
  return stock;
}

}  // namespace

absl::Status SetupFailure(int step, int error) {
  const std::string text =
      absl::StrCat("jail set-up failed at ", SetupStepName(step), ": ",
                   os::ErrorText(error));
  if (!os::IsShortage(error)) return absl::InternalError(text);
  if (error != ENOMEM) {
    return absl::ResourceExhaustedError(absl::StrCat(
        text, "; the machine has no room for one more jail just now"));
  }
  // The kernel doesn't say whose memory was exhausted.
  absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      text,
      "; the jail's own memory limit or the machine has no room for it; ask "
      "for more limits.memory_bytes, or try again later"));
  status.SetPayload(kWantOfMemory, absl::Cord());
  return status;
}

bool IsWantOfMemory(const absl::Status& status) {
  return status.GetPayload(kWantOfMemory).has_value();
}

absl::Status ZygoteStarting() {
  absl::Status status = absl::UnavailableError("no zygote can serve yet");
  status.SetPayload(kZygoteStarting, absl::Cord());
  return status;
}

bool IsZygoteStarting(const absl::Status& status) {
  return status.GetPayload(kZygoteStarting).has_value();
}

absl::StatusOr<SpawnerNews> ReadSpawnerEvent(os::Packet packet) {
  internal::SpawnerEvent event;
  if (!event.ParseFromString(packet.data)) {
    return absl::InternalError("the spawner sent a malformed event");
  }
  switch (event.event_case()) {
    case internal::SpawnerEvent::kCreated: {
      absl::StatusOr<JailAnswered> answer =
          ReadCreated(event.created(), std::move(packet.fds), packet.lost_fds);
      if (!answer.ok()) return answer.status();
      return *std::move(answer);
    }
    case internal::SpawnerEvent::kGone:
      return JailRemoved{event.gone().jail_id()};
    case internal::SpawnerEvent::kStock: {
      absl::StatusOr<YardStock> stock = ReadStock(event.stock());
      if (!stock.ok()) return stock.status();
      return *std::move(stock);
    }
    case internal::SpawnerEvent::kZygote:
      return ZygoteChanged{event.zygote().serves()};
    default:
      return absl::InternalError("the spawner sent an unexpected event");
  }
}

}  // namespace sandglass::sandbox
