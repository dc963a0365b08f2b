// Sessions that begin with the files of another.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/job/request_checks.h"
#include "server/session/session_table.h"

namespace sandglass::server {
namespace {

constexpr int kMaxChildren = 64;

}  // namespace

absl::StatusOr<std::vector<SessionSpec>> SessionTable::CheckChildren(
    const Session& parent, const v1::ForkSessionRequest& request) const {
  Violations violations;
  if (request.children().empty() || request.children_size() > kMaxChildren) {
    return InvalidRequest(
        {{"children",
          absl::StrCat("has ", request.children_size(), " entries; 1 to ",
                       kMaxChildren, " can be made at once")}});
  }
  const v1::Session now = parent.Describe();
  // What the request doesn't name for a child is as in the parent, not as in
  // the profile.
  policy::Profile profile = *parent.spec().profile;
  profile.limits = parent.spec().limits;
  const policy::Language* language = parent.spec().language;
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  std::vector<SessionSpec> specs;
  for (int i = 0; i < request.children_size(); ++i) {
    const v1::ForkChild& child = request.children(i);
    Violations own;
    SessionSpec spec = parent.spec();
    spec.forked_from = parent.id();
    const policy::LimitRequest wishes =
        LimitWishes(child.limits(), "limits", own);
    const policy::LimitFloors none;
    spec.limits = ApplyWishes(*policy, profile, language,
                              language == nullptr ? none : language->limits,
                              wishes, "limits", own);
    if (language != nullptr) {
      CheckKernelStarts(*language, spec.limits, "limits.open_files", own);
    }
    StringMap env(child.env());
    env.insert(spec.env.begin(), spec.env.end());
    CheckEnv(env, own);
    spec.env.assign(env.begin(), env.end());
    std::sort(spec.env.begin(), spec.env.end());
    const StringMap& labels =
        child.has_labels() ? child.labels().labels() : now.labels();
    CheckLabels(labels, own);
    spec.labels = {labels.begin(), labels.end()};
    spec.idle_timeout = SessionTimeWish(
        true,
        child.has_idle_timeout() ? child.idle_timeout() : now.idle_timeout(),
        "idle_timeout", options_.idle_timeout, own);
    spec.max_age = SessionTimeWish(
        true, child.has_max_age() ? child.max_age() : now.max_age(), "max_age",
        options_.max_age, own);
    own = WithPrefix(
        absl::StrCat(Indexed("children", static_cast<size_t>(i)), "."),
        std::move(own));
    violations.insert(violations.end(), own.begin(), own.end());
    specs.push_back(std::move(spec));
  }
  if (!violations.empty()) return InvalidRequest(violations);
  return specs;
}

absl::StatusOr<v1::ForkSessionResponse> SessionTable::Fork(
    const Identity& caller, const v1::ForkSessionRequest& request,
    const std::shared_ptr<CancelToken>& cancel) {
  const absl::StatusOr<SharedSession> parent =
      Find(caller, request.session_id());
  if (!parent.ok()) return parent.status();
  absl::StatusOr<std::vector<SessionSpec>> specs =
      CheckChildren(**parent, request);
  if (!specs.ok()) return specs.status();
  Wanted wanted;
  for (const SessionSpec& spec : *specs) wanted.Add(spec);
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status room = RoomAtBest(caller, wanted); !room.ok()) {
      return room;
    }
  }
  const absl::StatusOr<SessionUse> use = SessionUse::Begin(
      *parent, [cancel] { cancel->Cancel(policy::KillReason::kCancelled); });
  if (!use.ok()) return use.status();
  absl::StatusOr<SharedArchive> archive = (*parent)->host().Fork(*cancel);
  if (!archive.ok()) {
    if (absl::Status lives = (*parent)->Lives(); !lives.ok()) return lives;
    return archive.status();
  }
  std::vector<SharedSession> children;
  absl::Status failure;
  for (SessionSpec& spec : *specs) {
    absl::StatusOr<SharedSession> child =
        Make(caller, std::move(spec), (*parent)->copy().get(), *archive);
    failure = child.status();
    if (!failure.ok()) break;
    children.push_back(*std::move(child));
  }
  std::vector<SharedSession> evicted;
  if (failure.ok()) {
    absl::MutexLock lock(&mutex_);
    failure = MakeRoom(caller, wanted, evicted);
    if (failure.ok()) {
      for (const auto& child : children) Insert(child);
    }
  }
  EndEvicted(evicted);
  if (!failure.ok()) {
    for (const auto& child : children) Discard(*child);
    return failure;
  }
  for (const auto& child : children) {
    if (failure = Record(caller, child); failure.ok()) continue;
    for (const auto& other : children) {
      End(other, {"SESSION_DIED", "its fork could not be put on record"});
    }
    return failure;
  }
  v1::ForkSessionResponse response;
  for (const auto& child : children) {
    Log(LogLevel::kInfo, "session_forked",
        {{"session_id", child->id()},
         {"caller", caller.name},
         {"forked_from", (*parent)->id()}});
    *response.add_sessions() = child->Describe();
  }
  return response;
}

}  // namespace sandglass::server
