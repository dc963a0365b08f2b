#include "server/run/approvals.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "server/base/digest.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/base/random_id.h"
#include "server/base/shares.h"
#include "server/base/strings.h"
#include "server/run/approval_inputs.h"
#include "server/run/run_registry.h"

namespace sandglass::server {
namespace {

// For so long an approval that ended can still be asked for.
constexpr absl::Duration kRemembered = absl::Minutes(10);
constexpr size_t kMaxComment = 1024;
// The most sessions whose rules are remembered. Ids are never used twice, so
// those of sessions that are gone do no harm.
constexpr size_t kMaxSessions = 10000;

// Texts are left out, so that a list has room for many approvals.
v1::Approval WithoutText(const v1::Approval& approval) {
  v1::Approval shorter = approval;
  ForgetTexts(shorter);
  return shorter;
}

// Whether it can still be answered, or used.
bool IsOpen(const v1::Approval& approval) {
  return approval.state() == v1::APPROVAL_STATE_PENDING ||
         approval.state() == v1::APPROVAL_STATE_APPROVED;
}

std::string StateWords(v1::ApprovalState state) {
  switch (state) {
    case v1::APPROVAL_STATE_APPROVED:
      return "is approved";
    case v1::APPROVAL_STATE_DENIED:
      return "is denied";
    case v1::APPROVAL_STATE_USED:
      return "is used up";
    default:
      return "has expired";
  }
}

absl::Status CheckComment(const std::string& comment) {
  if (comment.size() <= kMaxComment) return absl::OkStatus();
  return InvalidRequest(
      {{"comment", absl::StrCat("has ", comment.size(),
                                " bytes; it may have at most ", kMaxComment)}});
}

v1::Approval AnsweredBy(const Identity& caller, const std::string& comment,
                        v1::Approval approval) {
  approval.set_approver(caller.name);
  approval.set_comment(comment);
  return approval;
}

std::string WithComment(std::string message, const v1::Approval& approval) {
  if (!approval.comment().empty()) {
    absl::StrAppend(&message, ": ", Quoted(approval.comment(), 200));
  }
  return message;
}

}  // namespace

ApprovalSubject AskedAbout(const Identity& caller,
                           v1::RunCodeRequest& request) {
  ApprovalSubject subject;
  subject.caller = caller;
  v1::Approval& shown = subject.shown;
  shown.set_session_id(request.session_id());
  *shown.mutable_args() = request.args();
  *shown.mutable_labels() = request.labels();
  for (const auto& [name, value] : request.env()) shown.add_env(name);
  std::sort(shown.mutable_env()->begin(), shown.mutable_env()->end());
  // The contents are put aside, because a copy of the request may be large.
  v1::RunCodeRequest aside;
  std::vector<std::string> contents(static_cast<size_t>(request.files_size()));
  const auto swap = [&] {
    aside.mutable_approval_id()->swap(*request.mutable_approval_id());
    aside.mutable_request_id()->swap(*request.mutable_request_id());
    aside.mutable_labels()->swap(*request.mutable_labels());
    aside.mutable_code()->swap(*request.mutable_code());
    aside.mutable_stdin()->swap(*request.mutable_stdin());
    for (int i = 0; i < request.files_size(); ++i) {
      contents[static_cast<size_t>(i)].swap(
          *request.mutable_files(i)->mutable_content());
    }
  };
  swap();
  subject.request = InOneOrder(request);
  swap();
  return subject;
}

std::string FingerprintOfRun(const ApprovalSubject& subject,
                             const RunInputs& inputs, const v1::Limits& limits,
                             const policy::Profile& profile) {
  Digest digest;
  digest.Add(subject.request);
  digest.Add(inputs.code_sha256);
  digest.AddNumber(inputs.files.size());
  for (const RunInputs::File& file : inputs.files) digest.Add(file.sha256);
  digest.Add(inputs.stdin_sha256);
  digest.Add(subject.caller.name);
  digest.Add(limits.SerializeAsString());
  digest.Add(profile.name);
  digest.Add(profile.canonical);
  return digest.Hex();
}

ApprovalTable::ApprovalTable(ApprovalOptions options,
                             ApprovalRecorder* recorder, Clock clock)
    : options_(std::move(options)),
      recorder_(recorder),
      clock_(std::move(clock)) {}

bool ApprovalTable::IsApprover(const Identity& caller) const {
  return caller.scopes.Has(Scope::kApprove);
}

bool ApprovalTable::MayAnswerFor(const Identity& caller,
                                 const Identity& owner) {
  return caller.scopes.Has(Scope::kApprove) &&
         (caller.SeesAll() || caller.tenant == owner.tenant);
}

absl::Status ApprovalTable::Record(const char* event,
                                   const v1::Approval& approval) const {
  return recorder_ == nullptr ? absl::OkStatus()
                              : recorder_->WriteApproval(event, approval);
}

absl::StatusOr<v1::ApprovalNeeded> ApprovalTable::Ask(
    const ApprovalSubject& subject) {
  absl::MutexLock lock(&mutex_);
  Sweep();
  v1::ApprovalNeeded needed;
  SharesOptions of_pending = WithReserveWithin(options_.max_pending);
  of_pending.max_per_caller = options_.max_pending_per_caller;
  Shares pending(of_pending);
  // A caller that has as many as are kept makes room itself, by dropping its
  // own.
  Shares kept({.max = options_.max_kept, .reserve = options_.max_kept / 4});
  Shares bytes(WithReserveWithin(options_.max_bytes));
  for (const auto& [id, entry] : entries_) {
    kept.Acquire(entry.caller.name);
    bytes.Acquire(entry.caller.name, TextBytes(entry.shown));
    if (entry.shown.state() != v1::APPROVAL_STATE_PENDING) continue;
    pending.Acquire(entry.caller.name);
    if (entry.fingerprint == subject.fingerprint) {
      needed.set_approval_id(id);
      *needed.mutable_expire_time() = entry.shown.expire_time();
      needed.set_self_approval(entry.shown.self_approval());
      return needed;
    }
  }
  const std::string& caller = subject.caller.name;
  const uint64_t program = subject.shown.code().size();
  if (pending.RoomFor(caller) != Shares::Room::kYes ||
      program > options_.max_bytes ||
      bytes.RoomFor(caller, program) != Shares::Room::kYes ||
      (kept.RoomFor(caller) != Shares::Room::kYes && !DropEnded(caller))) {
    return TooManyApprovals(caller, pending.held(), pending.held_by(caller));
  }
  Entry entry = {subject.fingerprint, subject.caller,
                 clock_() + absl::ToChronoNanoseconds(subject.expires_after),
                 subject.shown};
  const std::string id = NodeId("appr-");
  const absl::Time now = os::WallNow();
  v1::Approval& shown = entry.shown;
  // When the files' texts don't fit, the approver is asked without them, not
  // left out.
  const uint64_t texts = TextBytes(shown);
  if (texts > options_.max_bytes ||
      bytes.RoomFor(caller, texts) != Shares::Room::kYes) {
    ForgetInputTexts(shown);
  }
  shown.set_approval_id(id);
  shown.set_state(v1::APPROVAL_STATE_PENDING);
  shown.set_caller(subject.caller.name);
  *shown.mutable_create_time() = ToProto(now);
  *shown.mutable_expire_time() = ToProto(now + subject.expires_after);
  absl::Status noted = Record("approval_asked", shown);
  if (!noted.ok()) return noted;
  needed.set_approval_id(id);
  *needed.mutable_expire_time() = shown.expire_time();
  needed.set_self_approval(shown.self_approval());
  entries_.emplace(id, std::move(entry));
  return needed;
}

bool ApprovalTable::DropEnded(const std::string& caller) {
  const auto ended = std::ranges::find_if(entries_, [&](const auto& entry) {
    return entry.second.caller.name == caller && !IsOpen(entry.second.shown);
  });
  if (ended == entries_.end()) return false;
  entries_.erase(ended);
  return true;
}

void ApprovalTable::Sweep() {
  const MonotonicTime now = clock_();
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (IsOpen(entry.shown) && now >= entry.expires) {
      entry.shown.set_state(v1::APPROVAL_STATE_EXPIRED);
      ForgetTexts(entry.shown);
    }
    const bool gone =
        now >= entry.expires + absl::ToChronoNanoseconds(kRemembered);
    it = gone ? entries_.erase(it) : std::next(it);
  }
}

absl::StatusOr<ApprovalTable::Entry*> ApprovalTable::Find(
    const Identity& caller, const std::string& approval_id) {
  Sweep();
  const auto it = entries_.find(approval_id);
  if (it == entries_.end() || !(it->second.caller == caller ||
                                MayAnswerFor(caller, it->second.caller))) {
    return ApprovalNotFound(approval_id);
  }
  return &it->second;
}

absl::StatusOr<ApprovalTable::Entry*> ApprovalTable::FindUsable(
    const std::string& approval_id, const Identity& caller,
    const std::string& fingerprint) {
  Sweep();
  const auto it = entries_.find(approval_id);
  // To everybody else the approval isn't there, not even to approvers: it is
  // this caller's run.
  if (it == entries_.end() || !(it->second.caller == caller)) {
    return ApprovalNotFound(approval_id);
  }
  const v1::Approval& shown = it->second.shown;
  if (it->second.fingerprint != fingerprint) {
    return ApprovalUnusable(
        "APPROVAL_MISMATCH",
        absl::StrCat("approval ", approval_id,
                     " is for another run: code, files, arguments, limits, "
                     "profile and caller have to be the same"));
  }
  switch (shown.state()) {
    case v1::APPROVAL_STATE_APPROVED:
      return &it->second;
    case v1::APPROVAL_STATE_PENDING:
      return ApprovalUnusable(
          "APPROVAL_PENDING",
          absl::StrCat("nobody has answered approval ", approval_id, " yet"));
    case v1::APPROVAL_STATE_DENIED:
      return ApprovalDenied(WithComment(
          absl::StrCat(shown.approver(), " denied approval ", approval_id),
          shown));
    case v1::APPROVAL_STATE_USED:
      return ApprovalUnusable(
          "APPROVAL_USED", absl::StrCat("approval ", approval_id,
                                        " is used up: it is good for one run"));
    default:
      return ApprovalUnusable(
          "APPROVAL_EXPIRED",
          absl::StrCat("approval ", approval_id,
                       " has expired; run the program again to ask for "
                       "another"));
  }
}

absl::Status ApprovalTable::Check(const std::string& approval_id,
                                  const Identity& caller,
                                  const std::string& fingerprint) {
  absl::MutexLock lock(&mutex_);
  return FindUsable(approval_id, caller, fingerprint).status();
}

absl::StatusOr<v1::Approval> ApprovalTable::Use(
    const std::string& approval_id, const Identity& caller,
    const std::string& fingerprint) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<Entry*> entry = FindUsable(approval_id, caller, fingerprint);
  if (!entry.ok()) return entry.status();
  return Answer(**entry, v1::APPROVAL_STATE_USED, (*entry)->shown,
                "approval_used");
}

std::optional<ApprovedBy> ApprovalTable::ApprovedForSession(
    const std::string& session_id, const std::string& rule) const {
  absl::MutexLock lock(&mutex_);
  const auto rules = session_rules_.find(session_id);
  if (rules == session_rules_.end()) return std::nullopt;
  const auto approved = rules->second.find(rule);
  if (approved == rules->second.end()) return std::nullopt;
  return approved->second;
}

v1::ListApprovalsResponse ApprovalTable::List(
    const Identity& caller, const v1::ListApprovalsRequest& request) {
  const auto wanted = [&](const Entry& entry) {
    if (!(entry.caller == caller) && !MayAnswerFor(caller, entry.caller)) {
      return false;
    }
    if (request.states().empty()) {
      return entry.shown.state() == v1::APPROVAL_STATE_PENDING;
    }
    return std::ranges::count(request.states(), entry.shown.state()) > 0;
  };
  absl::MutexLock lock(&mutex_);
  Sweep();
  std::vector<const Entry*> found;
  for (const auto& [id, entry] : entries_) {
    if (wanted(entry)) found.push_back(&entry);
  }
  std::ranges::sort(found, {}, [](const Entry* entry) {
    const auto& time = entry->shown.create_time();
    return std::make_pair(time.seconds(), time.nanos());
  });
  v1::ListApprovalsResponse response;
  for (const Entry* entry : found) {
    *response.add_approvals() = WithoutText(entry->shown);
  }
  return response;
}

absl::StatusOr<v1::Approval> ApprovalTable::Get(
    const Identity& caller, const std::string& approval_id) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<Entry*> entry = Find(caller, approval_id);
  if (!entry.ok()) return entry.status();
  return (*entry)->shown;
}

absl::StatusOr<v1::Approval> ApprovalTable::Answer(Entry& entry,
                                                   v1::ApprovalState state,
                                                   v1::Approval answered,
                                                   const char* event) {
  answered.set_state(state);
  // Nobody has to read them any more.
  if (state != v1::APPROVAL_STATE_APPROVED) ForgetTexts(answered);
  // ORDER: the answer is recorded before it has any effect.
  if (absl::Status noted = Record(event, answered); !noted.ok()) return noted;
  entry.shown = std::move(answered);
  return WithoutText(entry.shown);
}

absl::StatusOr<v1::Approval> ApprovalTable::Approve(
    const Identity& caller, const v1::ApproveRequest& request) {
  absl::Status fits = CheckComment(request.comment());
  if (!fits.ok()) return fits;
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<Entry*> found = Find(caller, request.approval_id());
  if (!found.ok()) return found.status();
  Entry& entry = **found;
  if (entry.caller == caller && !entry.shown.self_approval()) {
    return NotAnApprover(absl::StrCat(
        "profile ", Quoted(entry.shown.profile()),
        " doesn't let callers approve their own runs; another approver has "
        "to"));
  }
  if (entry.shown.state() != v1::APPROVAL_STATE_PENDING) {
    return ApprovalAnswered(entry.shown.approval_id(),
                            StateWords(entry.shown.state()));
  }
  if (request.for_session() && entry.shown.session_id().empty()) {
    return InvalidRequest(
        {{"for_session", "is for runs in a session, which this one isn't"}});
  }
  absl::StatusOr<v1::Approval> answer = Answer(
      entry, v1::APPROVAL_STATE_APPROVED,
      AnsweredBy(caller, request.comment(), entry.shown), "approval_given");
  if (answer.ok() && request.for_session()) {
    if (session_rules_.size() >= kMaxSessions) session_rules_.clear();
    auto& rules = session_rules_[entry.shown.session_id()];
    for (const v1::Finding& finding : entry.shown.findings()) {
      // A program that could not be inspected may be a different one each time.
      if (finding.severity() == v1::SEVERITY_REQUIRE_APPROVAL &&
          finding.rule_id() != policy::kAnalysisFailed &&
          finding.rule_id() != policy::kSyntaxErrorFound) {
        rules[finding.rule_id()] = {entry.shown.approval_id(), caller.name,
                                    true};
      }
    }
  }
  return answer;
}

absl::StatusOr<v1::Approval> ApprovalTable::Deny(
    const Identity& caller, const v1::DenyRequest& request) {
  absl::Status fits = CheckComment(request.comment());
  if (!fits.ok()) return fits;
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<Entry*> found = Find(caller, request.approval_id());
  if (!found.ok()) return found.status();
  Entry& entry = **found;
  // An approval that was given but not used yet can still be taken back.
  if (!IsOpen(entry.shown)) {
    return ApprovalAnswered(entry.shown.approval_id(),
                            StateWords(entry.shown.state()));
  }
  return Answer(entry, v1::APPROVAL_STATE_DENIED,
                AnsweredBy(caller, request.comment(), entry.shown),
                "approval_denied");
}

}  // namespace sandglass::server
