// What an install says of how its archive was unpacked; the jail and the
// process that unpacks are scripted.
#include "server/libraries/library_install.h"

#include <cerrno>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/jail/jail_event.h"
#include "sandbox/os/files.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;

// Answers in a process's place.
class ScriptedUnpacker final : public ArchiveUnpacker {
 public:
  explicit ScriptedUnpacker(absl::StatusOr<sandbox::FileResult> answer)
      : answer_(std::move(answer)) {}
  absl::StatusOr<sandbox::FileResult> Unpack(const os::Fd& archive,
                                             const os::Fd& tree,
                                             const UnpackLimits& limits,
                                             CancelToken&) const override {
    ++calls_;
    EXPECT_TRUE(archive.valid());
    EXPECT_TRUE(tree.valid());
    EXPECT_EQ(limits.bounds.max_files, 7U);
    return answer_;
  }
  int calls() const { return calls_; }

 private:
  const absl::StatusOr<sandbox::FileResult> answer_;
  mutable int calls_ = 0;
};

class LibraryInstallTest : public ::testing::Test {
 protected:
  // Installs, with an archive of this text; none for the empty text.
  absl::Status Install(const absl::StatusOr<sandbox::FileResult>& unpacked,
                       const std::string& archive = "archive") {
    ScriptedRunner runner(
        [&](const Job& job, CancelToken&,
            RunListener* listener) -> absl::StatusOr<JobResult> {
          listener->OnStarted(job);
          sandbox::FileEvent file;
          file.path = "layer.tar";
          if (!archive.empty()) file.file = *os::MakeMemfd("tar", archive);
          listener->OnFile(file);
          return OkResult(job, "");
        });
    const auto set =
        policy::LibrarySet::Parse(policy::Ecosystem::kPython, {"six"});
    EXPECT_TRUE(set.ok()) << set.status();
    const ScriptedUnpacker unpacker(unpacked);
    LibraryInstaller installer;
    installer.bounds = {.max_bytes = 100, .max_files = 7};
    CancelToken cancel;
    absl::Status done = InstallLibraries(installer, *set, runner, unpacker,
                                         tree_.path(), {}, cancel);
    unpacked_ += unpacker.calls();
    return done;
  }
  // The status without its words.
  absl::StatusCode CodeOf(const absl::StatusOr<sandbox::FileResult>& unpacked) {
    return Install(unpacked).code();
  }

  const testing::TempDir tree_;
  int unpacked_ = 0;
};

TEST_F(LibraryInstallTest, SaysWhatTheArchiveWas) {
  EXPECT_TRUE(Install(sandbox::FileResult{}).ok());
  EXPECT_EQ(CodeOf(sandbox::FileResult{FileCode::kTooLarge, 0}),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(sandbox::FileResult{FileCode::kNoSpace, ENOSPC}),
            absl::StatusCode::kResourceExhausted);
  for (const sandbox::FileResult& bad :
       {sandbox::FileResult{FileCode::kBadArchive, ELOOP},
        sandbox::FileResult{FileCode::kIncomplete, 0},
        sandbox::FileResult{FileCode::kCrossDevice, EXDEV}}) {
    const absl::Status status = Install(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("is no archive of the installed files"));
  }
  EXPECT_EQ(CodeOf(sandbox::FileResult{FileCode::kFailed, EIO}),
            absl::StatusCode::kInternal);
}

TEST_F(LibraryInstallTest, SaysWhatBecameOfTheProcess) {
  const std::pair<absl::Status, absl::StatusCode> ends[] = {
      {absl::DeadlineExceededError("words"),
       absl::StatusCode::kFailedPrecondition},
      {absl::AbortedError("words"), absl::StatusCode::kInternal},
      {absl::InternalError("words"), absl::StatusCode::kInternal},
      {absl::ResourceExhaustedError("words"), absl::StatusCode::kUnavailable},
      {absl::UnavailableError("words"), absl::StatusCode::kUnavailable},
      {absl::CancelledError("words"), absl::StatusCode::kCancelled}};
  for (const auto& [end, code] : ends) {
    const absl::Status status = Install(end);
    EXPECT_EQ(status.code(), code) << end;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("words"));
  }
}

TEST_F(LibraryInstallTest, UnpacksNothingWhereThereIsNoArchive) {
  EXPECT_EQ(Install(sandbox::FileResult{}, "").code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(unpacked_, 0);
}

}  // namespace
}  // namespace sandglass::server
