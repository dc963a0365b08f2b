#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/languages/languages.h"

// What LanguageProbe does to prepare languages.
namespace sandglass::server {
namespace {

constexpr uint32_t kMaxPreparedFiles = 10'000;
constexpr absl::Duration kPreparingRetry = absl::Seconds(2);

// The name of its directory in the store.
std::string PlaceOf(const policy::Language& language) {
  const std::string& path = language.prepared_dir;
  return path.substr(path.rfind('/') + 1);
}

// Puts what a preparing jail hands out into the store.
class DraftFiller : public RunListener {
 public:
  explicit DraftFiller(PreparedStore::Draft& draft) : draft_(draft) {}
  bool OnFile(const sandbox::FileEvent& file) override {
    if (file.problem != sandbox::FileProblem::kNone) {
      missing_.insert(file.path);
    } else if (status_.ok()) {
      status_ = draft_.Add(file.path, file.file);
    }
    return true;
  }
  const absl::Status& status() const { return status_; }
  // The patterns that nothing matched.
  const std::set<std::string>& missing() const { return missing_; }

 private:
  PreparedStore::Draft& draft_;
  absl::Status status_;
  std::set<std::string> missing_;
};

// Where in the order of preparations it stands: those that take next to no time
// come first, then those without which languages can't be used, then those that
// only make languages faster.
constexpr int kLastTurn = 2;
int TurnOf(const policy::Preparation& preparation) {
  if (preparation.quick) return 0;
  return preparation.optional ? kLastTurn : 1;
}

}  // namespace

bool LanguageProbe::Preparing(const policy::Language& language) const {
  return language.prepare && CheckInstalled(language).ok() &&
         absl::IsUnavailable(Prepared(language));
}

absl::Status LanguageProbe::Prepared(const policy::Language& language) const {
  if (!language.prepare) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  const auto it = prepared_.find(KeyOf(language));
  if (it != prepared_.end()) return it->second;
  if (planned_ && planned_->count(KeyOf(language)) == 0) {
    return LanguageUnavailable(
        absl::StrCat(language.name,
                     " was installed after the server's start, which prepares "
                     "it; restart the server"));
  }
  return LanguagePreparing(language.name, kPreparingRetry);
}

void LanguageProbe::AdoptStored() {
  if (!store_) return;
  for (const policy::Language* language : languages_.InAllImages()) {
    if (language->prepare && CheckInstalled(*language).ok() &&
        store_->Has(PlaceOf(*language))) {
      absl::MutexLock lock(&mutex_);
      prepared_[KeyOf(*language)] = absl::OkStatus();
    }
  }
}

void LanguageProbe::PrepareAll() {
  std::vector<const policy::Language*> all;
  for (const policy::Language* language : languages_.InAllImages()) {
    if (!CheckInstalled(*language).ok()) continue;
    if (language->prepare) {
      all.push_back(language);
    } else if (ready_) {
      ready_(*language);
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    planned_.emplace();
    for (const policy::Language* language : all) {
      planned_->insert(KeyOf(*language));
    }
  }
  std::ranges::stable_sort(all, {}, [](const policy::Language* language) {
    return TurnOf(*language->prepare);
  });
  // What only makes a language faster takes no processor from what somebody
  // may be waiting for.
  const auto optional =
      std::ranges::find_if(all, [](const policy::Language* language) {
        return TurnOf(*language->prepare) == kLastTurn;
      });
  const absl::Span<const policy::Language* const> span(all);
  const size_t needed = static_cast<size_t>(optional - all.begin());
  PrepareTwoAtATime(span.subspan(0, needed));
  PrepareTwoAtATime(span.subspan(needed));
}

void LanguageProbe::PrepareTwoAtATime(
    absl::Span<const policy::Language* const> languages) {
  std::atomic<size_t> next = 0;
  const auto prepare_next = [&] {
    while (!cancel_.reason().has_value()) {
      const size_t mine = next++;
      if (mine >= languages.size()) return;
      Prepare(*languages[mine]);
    }
  };
  std::thread second(prepare_next);
  prepare_next();
  second.join();
}

void LanguageProbe::Prepare(const policy::Language& language) {
  absl::Status status = MakePrepared(language);
  if (!status.ok()) {
    Log(LogLevel::kWarning, "language_not_prepared",
        {{"lang", KeyOf(language)}, {"error", std::string(status.message())}});
    status = LanguageUnavailable(absl::StrCat(
        language.name, " could not be prepared: ", status.message()));
  }
  const bool usable = status.ok();
  {
    absl::MutexLock lock(&mutex_);
    prepared_[KeyOf(language)] = std::move(status);
  }
  if (usable && ready_) ready_(language);
}

absl::Status LanguageProbe::MakePrepared(const policy::Language& language) {
  if (!store_) {
    return absl::FailedPreconditionError(
        "there is no place to keep it; see \"cache_dir\"");
  }
  const std::string name = PlaceOf(language);
  if (store_->Has(name)) return absl::OkStatus();
  const MonotonicTime began = Now();
  Log(LogLevel::kInfo, "preparing", {{"lang", KeyOf(language)}, {"as", name}});
  absl::StatusOr<PreparedStore::Draft> draft = store_->Begin(name, cancel_);
  if (absl::IsAlreadyExists(draft.status())) return absl::OkStatus();
  if (!draft.ok()) return draft.status();
  if (absl::Status filled = FillDraft(language, *draft); !filled.ok()) {
    store_->Remove(name);
    return filled;
  }
  Log(LogLevel::kInfo, "prepared",
      {{"lang", KeyOf(language)},
       {"ms", absl::ToInt64Milliseconds(Since(began))}});
  return absl::OkStatus();
}

absl::Status LanguageProbe::FillDraft(const policy::Language& language,
                                      PreparedStore::Draft& draft) {
  const policy::Preparation& prepare = *language.prepare;
  // A single command needn't make all kinds of artifacts, but each kind must be
  // made by some command.
  std::set<std::string> missing(prepare.artifacts.begin(),
                                prepare.artifacts.end());
  for (const policy::Command& command : prepare.commands) {
    Job job = MakeToolJob(language, *policy_.Get()->ToolProfile(language),
                          prepare.limits, command, prepare.env);
    for (const auto& [file, content] : prepare.files) {
      job.files.push_back({file, content, false});
    }
    job.fetch = prepare.artifacts;
    job.max_collected_files = kMaxPreparedFiles;
    DraftFiller filler(draft);
    const absl::StatusOr<JobResult> result = RunTool(job, &filler);
    if (!result.ok()) return result.status();
    if (!filler.status().ok()) return filler.status();
    if (result->files_left_out) {
      return absl::OutOfRangeError(
          absl::StrCat("it has more than ", kMaxPreparedFiles, " files"));
    }
    std::erase_if(missing, [&](const std::string& pattern) {
      return filler.missing().count(pattern) == 0;
    });
  }
  if (!missing.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no command made ", Quoted(*missing.begin())));
  }
  return draft.Complete();
}

void LanguageProbe::RemoveUnused() {
  if (!store_) return;
  std::set<std::string> in_use;
  for (const policy::Language* language : languages_.InAllImages()) {
    if (language->prepare) in_use.insert(PlaceOf(*language));
  }
  store_->RemoveOld(in_use);
}

}  // namespace sandglass::server
