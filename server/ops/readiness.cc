#include "server/ops/readiness.h"

#include <algorithm>
#include <utility>

#include "sandbox/os/clocks.h"
#include "server/base/log.h"
#include "server/base/proto_time.h"

namespace sandglass::server {
namespace {

constexpr char kSandbox[] = "sandglass.v1.SandboxService";
constexpr char kSession[] = "sandglass.v1.SessionService";
constexpr char kFile[] = "sandglass.v1.FileService";
constexpr char kExec[] = "sandglass.v1.ExecService";
constexpr char kPort[] = "sandglass.v1.PortService";
constexpr char kPolicy[] = "sandglass.v1.PolicyService";
constexpr char kLayer[] = "sandglass.v1.LayerService";
constexpr char kOperator[] = "sandglass.v1.OperatorService";
constexpr char kIdentity[] = "sandglass.v1.IdentityService";

constexpr const char* kServices[] = {kSandbox, kSession,  kFile,
                                     kExec,    kPort,     kPolicy,
                                     kLayer,   kOperator, kIdentity};

struct ConditionRow {
  const char* name;
  // The services that can't do their work without the condition. If only one
  // language or one disk is out of order, the others still work.
  std::vector<std::string_view> services;
  // Whether the daemon as a whole is ready without it.
  bool ready_without = false;
};

const ConditionRow& RowOf(size_t condition) {
  static const auto* rows = new std::array<ConditionRow, kReadyConditions>{{
      {"isolation", {kSandbox, kSession, kFile, kExec, kPort, kLayer}},
      {"languages", {}},
      {"pool", {}},
      {"disk", {}},
      {"audit", {kSandbox, kSession, kExec}},
      // A daemon that can't go on without a helper ends, so that it is started
      // again.
      {"helpers", {}},
      {"policy", {}, true},
      {"warm", {}, true},
      {"credentials", {}, true},
  }};
  return (*rows)[condition];
}

bool Needs(size_t condition, std::string_view service) {
  if (service.empty()) return !RowOf(condition).ready_without;
  const auto& services = RowOf(condition).services;
  return std::find(services.begin(), services.end(), service) != services.end();
}

}  // namespace

absl::Span<const char* const> Readiness::Services() { return kServices; }

Readiness::Readiness() {
  const absl::Time now = os::WallNow();
  absl::MutexLock lock(&mutex_);
  for (State& state : states_) state.since = now;
  State& isolation = states_[static_cast<size_t>(ReadyWhen::kIsolation)];
  isolation.detail = "not tried yet";
  isolation.status = absl::UnavailableError(isolation.detail);
}

void Readiness::Start(ServingListener tell) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  tell_ = std::move(tell);
  NotifyListener(Whom::kAll);
}

void Readiness::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  if (tell_) NotifyListener(Whom::kChanged);
  tell_ = nullptr;
}

void Readiness::Set(ReadyWhen condition, const absl::Status& status,
                    const std::string& detail) {
  const auto index = static_cast<size_t>(condition);
  absl::MutexLock lock(&mutex_);
  State& state = states_[index];
  state.detail = status.ok() ? detail : std::string(status.message());
  const bool changed = state.status.ok() != status.ok();
  if (changed) {
    state.since = os::WallNow();
    Log(status.ok() ? LogLevel::kInfo : LogLevel::kError,
        status.ok() ? "condition_holds" : "condition_fails",
        {{"condition", std::string(RowOf(index).name)},
         {"detail", state.detail, true}});
  }
  state.status = status;
  if (changed && tell_) NotifyListener(Whom::kChanged);
}

absl::Status Readiness::Get(ReadyWhen condition) const {
  absl::MutexLock lock(&mutex_);
  return states_[static_cast<size_t>(condition)].status;
}

bool Readiness::Ready() const {
  absl::MutexLock lock(&mutex_);
  return Serves("");
}

bool Readiness::Stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

google::protobuf::RepeatedPtrField<v1::Condition> Readiness::Conditions()
    const {
  absl::MutexLock lock(&mutex_);
  google::protobuf::RepeatedPtrField<v1::Condition> conditions;
  for (size_t i = 0; i < kReadyConditions; ++i) {
    v1::Condition& condition = *conditions.Add();
    condition.set_name(RowOf(i).name);
    condition.set_holds(states_[i].status.ok());
    condition.set_detail(states_[i].detail);
    *condition.mutable_since() = ToProto(states_[i].since);
    for (const std::string_view service : RowOf(i).services) {
      condition.add_services(std::string(service));
    }
  }
  return conditions;
}

bool Readiness::Serves(std::string_view service) const {
  if (!tell_ || stopped_) return false;
  for (size_t i = 0; i < kReadyConditions; ++i) {
    if (!states_[i].status.ok() && Needs(i, service)) return false;
  }
  return true;
}

void Readiness::NotifyListener(Whom whom) {
  std::set<std::string> serving;
  const auto tell = [&](const std::string& service)
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          const bool now = Serves(service);
                          const bool before = serving_.count(service) > 0;
                          if (now) serving.insert(service);
                          if (whom == Whom::kAll || now != before) {
                            tell_(service, now);
                          }
                        };
  for (const char* service : kServices) tell(service);
  // The whole is told last, so that clients that wait for it find the services
  // ready.
  tell("");
  serving_ = std::move(serving);
}

}  // namespace sandglass::server
