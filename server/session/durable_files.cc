#include "server/session/durable_files.h"

#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/archive/tar.h"
#include "sandbox/wire/jail_layout.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using internal::StoredEntry;
using sandbox::FileAgent;
using sandbox::FileType;

using sandbox::kWorkspace;

void SetMtime(absl::Time mtime, StoredEntry& entry) {
  const int64_t nanos = absl::ToUnixNanos(mtime);
  entry.set_mtime_ns(nanos);
  if (absl::FromUnixNanos(nanos) == mtime) return;
  const struct timespec whole = absl::ToTimespec(mtime);
  entry.set_far_mtime_s(whole.tv_sec);
  entry.set_far_mtime_part_ns(static_cast<uint32_t>(whole.tv_nsec));
}

struct timespec MtimeOf(const StoredEntry& entry) {
  if (!entry.has_far_mtime_s()) {
    return absl::ToTimespec(absl::FromUnixNanos(entry.mtime_ns()));
  }
  return {.tv_sec = entry.far_mtime_s(),
          .tv_nsec = static_cast<int64_t>(entry.far_mtime_part_ns())};
}

sandbox::TarMember MemberOf(const StoredEntry& entry) {
  sandbox::TarMember member;
  member.path = entry.path();
  member.mode = entry.mode();
  member.mtime = MtimeOf(entry);
  switch (static_cast<FileType>(entry.type())) {
    case FileType::kDirectory:
      member.type = sandbox::TarType::kDirectory;
      break;
    case FileType::kSymlink:
      member.type = sandbox::TarType::kSymlink;
      member.link = entry.link_target();
      break;
    default:
      member.type = sandbox::TarType::kFile;
      member.size = entry.size();
  }
  return member;
}

// Why Restore or Save ended, as an error for the one who was to have the files.
absl::Status Failed(sandbox::FileResult result) {
  return sandbox::StatusOfFile(result, kWorkspace);
}

void RecordMissing(const std::string& path, std::string why,
                   SessionCopy::Missing& missing) {
  ++missing.count;
  if (missing.first.size() < sandbox::kMaxMissing) {
    missing.first.emplace_back(path, std::move(why));
  }
}

}  // namespace

absl::Status DurableFiles::Lost(const StoredEntry& entry,
                                const std::function<absl::Status()>& go_on,
                                Checked& checked) const {
  if (static_cast<FileType>(entry.type()) != FileType::kRegular) {
    return absl::OkStatus();
  }
  const std::pair<uint64_t, uint32_t> content(entry.blob(), entry.crc());
  if (const auto found = checked.find(content); found != checked.end()) {
    return found->second;
  }
  absl::Status status =
      copy_->Read(entry, [&go_on](absl::string_view) { return go_on(); });
  if (entry.size() > 0) checked.emplace(content, status);
  return status;
}

void DurableFiles::Forget() {
  tracker_ = sandbox::FileTracker();
  agent_.reset();
  all_due_ = true;
}

absl::StatusOr<bool> DurableFiles::Empty() const {
  const absl::StatusOr<SessionCopy::Files> files = copy_->Load();
  if (!files.ok()) return files.status();
  return files->empty();
}

absl::Status DurableFiles::Restore(const std::shared_ptr<FileAgent>& agent,
                                   const sandbox::FileLimits& limits) {
  const absl::Time end = limits.Deadline();
  Forget();
  const absl::StatusOr<SessionCopy::Files> files = copy_->Load();
  if (!files.ok()) return files.status();
  absl::Status done = Upload(*agent, *files, limits, end, nullptr);
  SessionCopy::Missing missing;
  if (!done.ok() && !absl::IsCancelled(done) && !absl::IsUnavailable(done) &&
      !absl::IsDeadlineExceeded(done)) {
    // One file, or a few, keep all others from being restored, so leave them
    // out.
    done = Upload(*agent, *files, limits, end, &missing);
  }
  if (!done.ok()) return done;
  copy_->SetMissing(std::move(missing));
  return Track(agent, /*tell_first=*/false, limits.Until(end));
}

void DurableFiles::LogMissing() const {
  const SessionCopy::Missing missing = copy_->missing();
  if (missing.count == 0) return;
  std::string list;
  for (const auto& [path, why] : missing.first) {
    absl::StrAppend(&list, list.empty() ? "" : "; ", Quoted(path, 256), ": ",
                    why);
  }
  Log(LogLevel::kWarning, "durable_files_missing",
      {{"session_id", copy_->session_id()},
       {"count", absl::StrCat(missing.count)},
       {"files", list}});
}

absl::Status DurableFiles::Upload(FileAgent& agent,
                                  const SessionCopy::Files& files,
                                  const sandbox::FileLimits& limits,
                                  absl::Time end,
                                  SessionCopy::Missing* missing) const {
  constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max() >> 1;
  sandbox::FileAnswer<sandbox::TreeUpload> upload = agent.BeginUnpack(
      kWorkspace, FileAgent::Parents::kMustExist, kAnySize,
      std::numeric_limits<uint32_t>::max(), limits.Until(end),
      missing == nullptr ? FileAgent::Members::kAll
                         : FileAgent::Members::kThoseThatCanBe);
  if (!upload.ok()) return Failed(upload.result);
  sandbox::FileResult sent;
  // Holes take no room, so a file with holes can be endless; hence the time is
  // checked.
  const auto go_on = [&] {
    sent = limits.Check(end);
    return sent.ok() ? absl::OkStatus() : absl::AbortedError("");
  };
  const auto send = [&](absl::string_view data) {
    if (absl::Status over = go_on(); !over.ok()) return over;
    sent = upload.value.Append(data, limits.Until(end));
    return sent.ok() ? absl::OkStatus() : absl::AbortedError("");
  };
  std::map<uint64_t, std::string> first_names;
  Checked checked;
  absl::Status failure;
  uint64_t sent_entries = 0;
  for (const auto& [path, entry] : files) {
    // Check this before the file's header is sent, since all of its bytes have
    // to follow that.
    if (missing != nullptr) {
      const absl::Status lost = Lost(entry, go_on, checked);
      if (!sent.ok() || absl::IsUnavailable(lost)) {
        failure = lost;
        break;
      }
      if (!lost.ok()) {
        RecordMissing(path, std::string(lost.message()), *missing);
        continue;
      }
    }
    ++sent_entries;
    sandbox::TarMember member = MemberOf(entry);
    const bool regular = member.type == sandbox::TarType::kFile;
    const auto [first, added] =
        regular && entry.blob() != 0
            ? first_names.try_emplace(entry.blob(), path)
            : std::pair(first_names.end(), true);
    if (!added) {
      member.type = sandbox::TarType::kHardLink;
      member.link = first->second;
      member.size = 0;
    }
    failure = send(sandbox::TarHeader(member));
    if (failure.ok() && regular && added) {
      failure = copy_->Read(entry, send);
      if (failure.ok()) {
        failure = send(std::string(sandbox::TarPadding(entry.size()), '\0'));
      }
    }
    if (!failure.ok()) break;
  }
  if (failure.ok()) failure = send(sandbox::TarEnd());
  // How the upload ends says why the agent took no more.
  if (!failure.ok() && sent.code != sandbox::FileCode::kIncomplete) {
    // This one must be over before another begins, and what it left half done
    // is tidied up.
    (void)upload.value.Finish(limits.Until(end));
    return sent.ok() ? failure : Failed(sent);
  }
  const sandbox::FileAnswer<sandbox::TreeCount> count =
      upload.value.Finish(limits.Until(end));
  if (!count.ok()) return Failed(count.result);
  if (count.value.entries + count.value.missing_count != sent_entries) {
    return absl::InternalError(absl::StrCat(count.value.entries, " of ",
                                            sent_entries, " files came back"));
  }
  if (missing == nullptr) return absl::OkStatus();
  for (const sandbox::MissingMember& member : count.value.missing) {
    const sandbox::FileResult why = member.why;
    RecordMissing(member.path,
                  why.error != 0 ? ErrorText(why.error)
                                 : std::string(sandbox::FileCodeName(why.code)),
                  *missing);
  }
  missing->count += count.value.missing_count - count.value.missing.size();
  return absl::OkStatus();
}

absl::Status DurableFiles::Track(const std::shared_ptr<FileAgent>& agent,
                                 bool tell_first,
                                 const sandbox::FileLimits& limits) {
  Forget();
  sandbox::FileAnswer<sandbox::FileTracker> tracker =
      agent->Track(kWorkspace,
                   {.with_files = true,
                    .max_entries = max_entries_,
                    .for_copy = true,
                    .tell_first = tell_first},
                   limits);
  if (!tracker.ok()) return Failed(tracker.result);
  agent_ = agent;
  tracker_ = std::move(tracker.value);
  all_due_ = tell_first;
  return absl::OkStatus();
}

absl::Status DurableFiles::Handle(sandbox::FileChanged change,
                                  CopyChange& to) const {
  const sandbox::FileFacts& facts = change.facts;
  if (change.type == sandbox::ChangeType::kRemoved) {
    to.Remove(facts.name);
    return absl::OkStatus();
  }
  if (change.type == sandbox::ChangeType::kRenamed) to.Remove(change.old_path);
  StoredEntry entry;
  entry.set_path(facts.name);
  entry.set_type(static_cast<uint32_t>(facts.type));
  entry.set_mode(facts.mode);
  SetMtime(facts.mtime, entry);
  switch (facts.type) {
    case FileType::kDirectory:
      return to.Put(std::move(entry));
    case FileType::kSymlink:
      // The link was gone before it could be read.
      if (facts.link_target.empty()) return absl::OkStatus();
      entry.set_link_target(facts.link_target);
      return to.Put(std::move(entry));
    case FileType::kRegular:
      if (!change.file.valid()) return absl::OkStatus();
      return to.PutFile(std::move(entry), change.file, facts.inode,
                        change.old_path);
    case FileType::kOther:
      // Something that no copy can have has taken the place of what was there.
      to.Remove(facts.name);
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status DurableFiles::Save(const std::shared_ptr<FileAgent>& agent,
                                const sandbox::FileLimits& limits) {
  const absl::Time end = limits.Deadline();
  if (agent != agent_) {
    if (absl::Status tracked = Track(agent, /*tell_first=*/true, limits);
        !tracked.ok()) {
      return tracked;
    }
  }
  const bool all = all_due_;
  // A file that harmless code renames meanwhile is there twice.
  CopyChange change(*copy_, 2 * workspace_bytes_);
  // This comes before anything is taken, so that no file stays only because it
  // was there before. Files that are missing in the jail stay in the copy,
  // since another jail may get them again.
  if (all && copy_->missing().count == 0) change.BeginAnew();
  absl::Status failure;
  const sandbox::FileAnswer<bool> looked =
      tracker_.Next(limits.Until(end), [&](sandbox::FileChanged told) {
        if (failure.ok()) failure = Handle(std::move(told), change);
      });
  if (failure.ok() && !looked.ok()) failure = Failed(looked.result);
  absl::Status incomplete =
      looked.value ? absl::FailedPreconditionError(
                         "some of its files can't be read or have too long a "
                         "path, or there are too many")
                   : absl::OkStatus();
  // Not everything could be looked at, so files that seem to be gone may still
  // be there.
  if (failure.ok() && all) failure = incomplete;
  if (failure.ok()) failure = change.Commit();
  if (!failure.ok()) {
    // What the agent reported this time isn't reported again, so begin anew.
    Forget();
    return failure;
  }
  all_due_ = false;
  return incomplete;
}

}  // namespace sandglass::server
