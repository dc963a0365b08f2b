#include "server/libraries/library_install.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/libraries/library_lock.h"
#include "policy/libraries/library_words.h"
#include "sandbox/jail/jail_event.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/file_code.h"
#include "sandbox/yard/java_key_store.h"
#include "server/base/strings.h"
#include "server/job/jail_network.h"
#include "server/job/job_builder.h"
#include "server/job/run_id.h"

namespace sandglass::server {
namespace {

constexpr char kScript[] = "install.sh";
constexpr char kCertificates[] = "registry-ca.pem";
constexpr char kJavaStore[] = "registry-ca.jks";
constexpr char kArchive[] = "layer.tar";
// Hard links become files of their own, since in a layer no file has two names.
// Times don't matter; they are all set to one, because those with a fraction
// would take another header each. The variables are the names under which each
// tool looks for the file with the certificates that it trusts; Java's script
// uses the store beside it.
constexpr char kCommand[] =
    "if [ -f registry-ca.pem ]; then"
    "  trusted=$PWD/registry-ca.pem;"
    "  export SSL_CERT_FILE=$trusted CURL_CA_BUNDLE=$trusted"
    "    PIP_CERT=$trusted NPM_CONFIG_CAFILE=$trusted;"
    "fi;"
    "mkdir layer && /bin/sh ./install.sh \"$@\" && "
    "exec tar --hard-dereference --format=pax --mtime=@1000000000 -cf "
    "layer.tar -C layer .";
constexpr size_t kLongestLine = 4096;
// So many lines of its output are kept, to tell why it failed.
constexpr size_t kMaxLastLines = 400;

// Collects an install's output and the archive that it made.
class InstallListener : public RunListener {
 public:
  InstallListener(policy::Ecosystem ecosystem,
                  const LayerBuilds::Progress& progress)
      : ecosystem_(ecosystem), progress_(progress) {}

  void OnOutput(Stream stream, std::string_view data, uint64_t,
                absl::Duration) override {
    std::string& line = stream == Stream::kStdout ? out_ : err_;
    for (const char c : data) {
      if (c != '\n' && c != '\r') {
        if (line.size() < kLongestLine) line += c;
        continue;
      }
      HandleLine(line);
    }
  }
  bool OnFile(const sandbox::FileEvent& file) override {
    if (file.path != kArchive || !file.file.valid()) return false;
    archive_.reset(::fcntl(file.file.get(), F_DUPFD_CLOEXEC, 0));
    return archive_.valid();
  }

  const os::Fd& archive() const { return archive_; }
  // Says why it failed, in the installer's own words.
  std::string Words(int exit_code) {
    HandleLine(out_);
    HandleLine(err_);
    return policy::LibraryFailureWords(ecosystem_, exit_code,
                                       absl::StrJoin(last_, "\n"));
  }

 private:
  void HandleLine(std::string& line) {
    if (progress_ && policy::IsLibraryProgress(ecosystem_, line)) {
      progress_(policy::CleanInstallerLine(line));
    }
    last_.push_back(std::exchange(line, std::string()));
    if (last_.size() > kMaxLastLines) last_.pop_front();
  }

  const policy::Ecosystem ecosystem_;
  const LayerBuilds::Progress& progress_;
  std::string out_, err_;
  std::deque<std::string> last_;
  os::Fd archive_;
};

Job MakeInstallJob(const LibraryInstaller& installer,
                   const policy::LibrarySet& set) {
  Job job;
  job.run_id = NewRunId();
  job.template_name = installer.profile.run_template();
  job.has_network = true;
  job.limits = installer.profile.limits;
  job.source_file = kScript;
  job.code = installer.recipe.script;
  for (policy::LockFile& file : policy::LockFiles(set)) {
    job.files.push_back({std::move(file.path), std::move(file.text), false});
  }
  if (!installer.certificates.empty()) {
    job.files.push_back({kCertificates, installer.certificates, false});
    if (set.ecosystem() == policy::Ecosystem::kJava) {
      job.files.push_back({kJavaStore,
                           sandbox::MakeJavaKeyStore(installer.certificates),
                           false});
    }
  }
  job.argv = {"/bin/sh", "-c", kCommand, "install"};
  const std::vector<std::string> libraries = set.ToArguments();
  job.argv.insert(job.argv.end(), libraries.begin(), libraries.end());
  job.env = BaseEnvironment();
  Overlay(NetworkEnvironment(installer.profile), job.env);
  Overlay({{"REGISTRY", installer.registry}}, job.env);
  Overlay(installer.recipe.env, job.env);
  job.fetch = {kArchive};
  job.max_collected_bytes = job.limits.workspace_bytes;
  return job;
}

absl::Status TooLarge(const LayerBounds& bounds) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the libraries are larger than a layer may be (",
                   bounds.max_bytes, " bytes, ", bounds.max_files, " files)"));
}

// Used when the archive isn't as expected: libraries run code of their own
// while they are built, in the same jail in which their files are put together.
absl::Status ArchiveChanged() {
  return absl::FailedPreconditionError(absl::StrCat(
      "the libraries could not be installed: what their build left as ",
      kArchive,
      " is no archive of the installed files. A library of the set "
      "has replaced or changed it; leave out the one that does"));
}

absl::Status UnpackError(const sandbox::FileResult& result,
                         const LayerBounds& bounds) {
  using sandbox::FileCode;
  if (result.code == FileCode::kTooLarge) return TooLarge(bounds);
  if (result.error == ENOSPC || result.error == EDQUOT) {
    return absl::ResourceExhaustedError("the disk with the libraries is full");
  }
  // EXDEV: Landlock's first version lets no hard link lead into another
  // directory. The archive of an install has none at all.
  if (result.error == 0 || result.error == EXDEV ||
      result.code == FileCode::kBadArchive) {
    return ArchiveChanged();
  }
  return absl::InternalError(absl::StrCat(
      "what was installed can't be unpacked: ", os::ErrorText(result.error)));
}

absl::Status Unpack(const ArchiveUnpacker& unpacker, const os::Fd& archive,
                    const std::string& tree, const LayerBounds& bounds,
                    CancelToken& cancel) {
  const os::Fd top(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return os::ErrnoStatus("open ", tree);
  const absl::StatusOr<sandbox::FileResult> result =
      unpacker.Unpack(archive, top, {.bounds = bounds}, cancel);
  if (result.ok()) {
    return result->ok() ? absl::OkStatus() : UnpackError(*result, bounds);
  }
  const absl::string_view words = result.status().message();
  switch (result.status().code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return absl::FailedPreconditionError(
          absl::StrCat("the libraries could not be installed: ", words));
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
      return absl::InternalError(
          absl::StrCat("what was installed can't be unpacked: ", words));
    case absl::StatusCode::kResourceExhausted:
      // Not RESOURCE_EXHAUSTED, which says that the libraries are too large.
      return absl::UnavailableError(words);
    default:
      return result.status();
  }
}

}  // namespace

absl::Status InstallLibraries(const LibraryInstaller& installer,
                              const policy::LibrarySet& set, JobRunner& runner,
                              const ArchiveUnpacker& unpacker,
                              const std::string& tree,
                              const LayerBuilds::Progress& progress,
                              CancelToken& cancel) {
  InstallListener listener(set.ecosystem(), progress);
  const absl::StatusOr<JobResult> result =
      runner.Run(MakeInstallJob(installer, set), cancel, &listener);
  if (!result.ok()) return result.status();
  const policy::Verdict& verdict = result->verdict;
  if (verdict.outcome == policy::Outcome::kCancelled ||
      verdict.outcome == policy::Outcome::kShutdown) {
    return absl::CancelledError("the install was cancelled");
  }
  // The jail's disk has room for the largest layer and its archive.
  if (verdict.outcome == policy::Outcome::kDiskLimit) {
    return TooLarge(installer.bounds);
  }
  if (verdict.outcome != policy::Outcome::kOk) {
    const std::string words =
        listener.Words(verdict.exit_code.value_or(128 + SIGKILL));
    // A tool that cleans up leaves no full disk behind, so its words are
    // searched, too.
    if (absl::StrContains(words, "No space left on device") ||
        absl::StrContains(words, "ENOSPC")) {
      return TooLarge(installer.bounds);
    }
    std::string message = absl::StrCat(
        "the libraries could not be installed: ",
        verdict.outcome == policy::Outcome::kNonzeroExit ? "the installer said"
                                                         : verdict.explanation,
        ":\n", words);
    if (result->network) {
      for (const sandbox::NetworkRefusal& refusal : result->network->refusals) {
        absl::StrAppend(
            &message, "\nnetwork: ", policy::CleanInstallerLine(refusal.words));
      }
    }
    return absl::FailedPreconditionError(message);
  }
  if (!listener.archive().valid()) return ArchiveChanged();
  return Unpack(unpacker, listener.archive(), tree, installer.bounds, cancel);
}

}  // namespace sandglass::server
