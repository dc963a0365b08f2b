// The processes that unpack what installs left: what they make of archives, and
// how they end. unpack_walls_test.cc has what they can't do.
#include "server/libraries/unpack_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/archive/tar.h"
#include "sandbox/os/files.h"
#include "server/layers/layer_builds.h"
#include "server/libraries/unpack_process.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using sandbox::FileCode;
using sandbox::TarType;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uid_t kUid = 54321;
constexpr gid_t kGid = 54322;
constexpr absl::Duration kSoon = absl::Milliseconds(100);
constexpr absl::Duration kSettle = absl::Seconds(20);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string Member(TarType type, const std::string& path,
                   const std::string& text_or_link = "", mode_t mode = 0755) {
  sandbox::TarMember member;
  member.type = type;
  member.path = path;
  member.mode = mode;
  if (type == TarType::kFile) {
    member.size = text_or_link.size();
  } else {
    member.link = text_or_link;
  }
  std::string text = sandbox::TarHeader(member);
  if (type == TarType::kFile) {
    text += text_or_link;
    text.append(sandbox::TarPadding(text_or_link.size()), '\0');
  }
  return text;
}

bool Eventually(const std::function<bool()>& predicate) {
  const absl::Time end = absl::Now() + kSettle;
  while (!predicate()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

class UnpackHelperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(directory_.path(), fs::perms(0755));
    for (const std::string& path : {trees(), tree()}) {
      ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
      ASSERT_EQ(::chown(path.c_str(), kUid, kGid), 0);
    }
    testing::WriteFile(outside(), "mine");
    ASSERT_EQ(::chown(outside().c_str(), kUid, kGid), 0);
    auto helper = UnpackHelper::Start(trees(), kUid, kGid);
    ASSERT_TRUE(helper.ok()) << helper.status();
    helper_ = *std::move(helper);
  }

  std::string trees() const { return directory_.Path("trees"); }
  std::string tree() const { return trees() + "/tree"; }
  // A file of the helper's user that lies beside the trees.
  std::string outside() const { return directory_.Path("outside"); }

  static os::Fd Archive(const std::string& text) {
    absl::StatusOr<os::Fd> file = os::MakeMemfd("tar", text);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  // A file of 1 TiB, all of it a hole, which takes minutes to unpack and no
  // memory or disk.
  static os::Fd EndlessArchive() {
    constexpr uint64_t kSize = uint64_t{1} << 40;
    sandbox::TarMember member;
    member.path = "endless";
    member.mode = 0644;
    member.size = kSize;
    const std::string text =
        Member(TarType::kFile, "first", "one") + sandbox::TarHeader(member);
    os::Fd file(::memfd_create("tar", MFD_CLOEXEC));
    EXPECT_EQ(::write(file.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    EXPECT_EQ(
        ::ftruncate(file.get(), static_cast<off_t>(text.size() + kSize + 1024)),
        0);
    return file;
  }

  absl::StatusOr<sandbox::FileResult> Unpack(const os::Fd& archive,
                                             const UnpackLimits& limits = {}) {
    const os::Fd top(
        ::open(tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return helper_->Unpack(archive, top, limits, cancel_);
  }
  FileCode CodeOf(const std::string& text, const UnpackLimits& limits = {}) {
    const auto result = Unpack(Archive(text), limits);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->code : FileCode::kFailed;
  }
  static UnpackLimits Endless() {
    UnpackLimits limits;
    limits.bounds.max_bytes = uint64_t{1} << 41;
    return limits;
  }

  std::vector<pid_t> Workers() const {
    const std::string text = testing::ReadFile(absl::StrCat(
        "/proc/", helper_->pid(), "/task/", helper_->pid(), "/children"));
    std::vector<pid_t> pids;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find(' ', at);
      pid_t pid = 0;
      if (end == std::string::npos ||
          !absl::SimpleAtoi(text.substr(at, end - at), &pid)) {
        break;
      }
      pids.push_back(pid);
      at = end + 1;
    }
    return pids;
  }
  // The one that is at work, behind its walls.
  pid_t Worker() const {
    pid_t found = 0;
    EXPECT_TRUE(Eventually([&] {
      const std::vector<pid_t> all = Workers();
      found = all.empty() ? 0 : all.front();
      return found != 0 && fs::exists(tree() + "/endless");
    }));
    return found;
  }

  const testing::TempDir directory_;
  std::unique_ptr<UnpackHelper> helper_;
  CancelToken cancel_;
};

TEST_F(UnpackHelperTest, UnpacksAsTheServersUser) {
  ASSERT_EQ(
      CodeOf(Member(TarType::kDirectory, "./", "") +
             Member(TarType::kDirectory, "./pkg", "", 0755) +
             Member(TarType::kFile, "./pkg/__init__.py", "x = 1\n", 0644) +
             Member(TarType::kFile, "./bin/tool", "#!\n", 0755) +
             Member(TarType::kSymlink, "./pkg/link", "__init__.py") +
             Member(TarType::kHardLink, "./pkg/tool", "./bin/tool") +
             Member(TarType::kOther, "./fifo") + sandbox::TarEnd()),
      FileCode::kOk);
  EXPECT_EQ(testing::ReadFile(tree() + "/pkg/link"), "x = 1\n");
  struct stat info = {};
  ASSERT_EQ(::stat((tree() + "/pkg/tool").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_EQ(info.st_uid, kUid);
  EXPECT_EQ(info.st_gid, kGid);
  ASSERT_EQ(::stat((tree() + "/pkg").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kUid);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_FALSE(fs::exists(fs::symlink_status(tree() + "/fifo")));
  EXPECT_TRUE(Workers().empty());
}

TEST_F(UnpackHelperTest, TellsWhatIsWrongWithAnArchive) {
  EXPECT_EQ(CodeOf(std::string(4096, 'x')), FileCode::kBadArchive);
  EXPECT_EQ(CodeOf(""), FileCode::kIncomplete);
  const std::string file = Member(TarType::kFile, "a", std::string(2000, 'x'));
  EXPECT_EQ(CodeOf(file.substr(0, 1000)), FileCode::kIncomplete);
  UnpackLimits small;
  small.bounds = {.max_bytes = 1999, .max_files = 10};
  EXPECT_EQ(CodeOf(file + sandbox::TarEnd(), small), FileCode::kTooLarge);
  small.bounds = {.max_bytes = 2000, .max_files = 1};
  EXPECT_EQ(CodeOf(file + sandbox::TarEnd(), small), FileCode::kOk);
  EXPECT_EQ(CodeOf(file + Member(TarType::kDirectory, "b") + sandbox::TarEnd(),
                   small),
            FileCode::kTooLarge);
  // What a header says that comes before a member is bounded, too.
  std::string huge = Member(TarType::kFile, "x", std::string(2 << 20, 'x'));
  huge[156] = 'x';
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(huge[i]);
  }
  char digits[8] = {};
  snprintf(digits, sizeof(digits), "%06o", static_cast<unsigned>(sum));
  huge.replace(148, 7, digits, 7);
  EXPECT_EQ(CodeOf(huge), FileCode::kBadArchive);
}

TEST_F(UnpackHelperTest, LetsNothingLeadOut) {
  const std::string end = sandbox::TarEnd();
  EXPECT_EQ(CodeOf(Member(TarType::kFile, outside(), "theirs") + end),
            FileCode::kBadArchive);
  EXPECT_EQ(CodeOf(Member(TarType::kFile, "../../outside", "theirs") + end),
            FileCode::kBadArchive);
  EXPECT_EQ(CodeOf(Member(TarType::kSymlink, "up", directory_.path()) +
                   Member(TarType::kFile, "up/outside", "theirs") + end),
            FileCode::kBadArchive);
  EXPECT_EQ(CodeOf(Member(TarType::kSymlink, "over", outside()) +
                   Member(TarType::kFile, "over", "theirs") + end),
            FileCode::kOk);
  EXPECT_EQ(CodeOf(Member(TarType::kHardLink, "same", "up/outside") + end),
            FileCode::kBadArchive);
  EXPECT_EQ(testing::ReadFile(outside()), "mine");
  EXPECT_EQ(testing::ReadFile(tree() + "/over"), "theirs");
  EXPECT_EQ(fs::hard_link_count(outside()), 1U);
}

TEST_F(UnpackHelperTest, EndsOneThatTakesTooLong) {
  UnpackLimits limits = Endless();
  limits.time = kSoon;
  const auto result = Unpack(EndlessArchive(), limits);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.status().message(), "unpacking takes longer than 100ms");
  EXPECT_TRUE(Workers().empty());
  EXPECT_EQ(CodeOf(sandbox::TarEnd()), FileCode::kOk);
}

TEST_F(UnpackHelperTest, EndsOneThatNobodyWantsAnyMore) {
  std::thread other([this] {
    (void)Worker();
    cancel_.Cancel(policy::KillReason::kCancelled);
  });
  const auto result = Unpack(EndlessArchive(), Endless());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(Workers().empty());
  other.join();
}

TEST_F(UnpackHelperTest, EndsOneThatTakesTooMuchMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime takes more";
  UnpackLimits limits;
  limits.memory_bytes = 1 << 20;
  const auto result = Unpack(Archive(sandbox::TarEnd()), limits);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
  // Of abort(3), which may send itself no signal and runs into one.
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("by signal"));
  EXPECT_EQ(CodeOf(sandbox::TarEnd()), FileCode::kOk);
}

TEST_F(UnpackHelperTest, TellsOfOneThatIsKilledAndItsTreeIsRemoved) {
  auto store = LayerStore::Open(directory_.Path("layers"), kUid, kGid, {});
  ASSERT_TRUE(store.ok()) << store.status();
  // Below the directory that the helper may write to.
  helper_ = *UnpackHelper::Start(directory_.Path("layers"), kUid, kGid);
  LayerBuilds builds(**store);
  std::string place;
  const auto built = builds.GetOrBuild(
      {policy::Ecosystem::kPython, "six", "", "python 3.11", "index"},
      [&](const LayerStore::Staging& staging, const LayerBuilds::Progress&,
          CancelToken& cancel) -> absl::Status {
        place = staging.path();
        EXPECT_EQ(::chown(place.c_str(), kUid, kGid), 0);
        const os::Fd top(
            ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        std::thread killer([&] {
          EXPECT_TRUE(Eventually([&] { return fs::exists(place + "/first"); }));
          for (const pid_t pid : Workers()) ::kill(pid, SIGKILL);
        });
        const auto result =
            helper_->Unpack(EndlessArchive(), top, Endless(), cancel);
        killer.join();
        EXPECT_TRUE(fs::exists(place + "/first"));
        return result.status();
      },
      {}, cancel_);
  EXPECT_EQ(built.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(built.status().message(),
            "the process that unpacks it was ended by signal 9");
  EXPECT_FALSE(fs::exists(place));
  EXPECT_THAT(std::vector<fs::path>(
                  fs::directory_iterator(directory_.Path("layers")), {}),
              IsEmpty());
}

TEST_F(UnpackHelperTest, IsNotWaitedForIfItHangs) {
  ASSERT_EQ(::kill(helper_->pid(), SIGSTOP), 0);
  UnpackLimits limits;
  limits.time = kSoon;
  const auto result = Unpack(Archive(sandbox::TarEnd()), limits);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("its process can't be ended"));
  ASSERT_EQ(::kill(helper_->pid(), SIGCONT), 0);
  EXPECT_EQ(CodeOf(sandbox::TarEnd()), FileCode::kOk);
}

TEST_F(UnpackHelperTest, EndsWithAllThatItMade) {
  std::thread other([this] {
    const pid_t worker = Worker();
    ::kill(helper_->pid(), SIGKILL);
    // One that has ended and isn't reaped yet has no command line.
    EXPECT_TRUE(Eventually([&] {
      const std::string command =
          testing::ReadFile(absl::StrCat("/proc/", worker, "/cmdline"));
      return command.empty() || command == "<missing>";
    }));
  });
  const auto result = Unpack(EndlessArchive(), Endless());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
  other.join();
  struct pollfd end = {helper_->end(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 10'000), 1);
  EXPECT_EQ(Unpack(Archive(sandbox::TarEnd())).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(UnpackHelperTest, WaitsOutAShortageOfProcesses) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NPROC, &before), 0);
  // How many processes the helper's user may have when the helper makes one;
  // it's that user who may say so.
  const auto allow = [&](rlim_t processes) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{.rlim_cur = processes, .rlim_max = before.rlim_max};
      const bool set =
          ::setresgid(kGid, kGid, kGid) == 0 &&
          ::setresuid(kUid, kUid, kUid) == 0 &&
          ::prlimit(helper_->pid(), RLIMIT_NPROC, &limit, nullptr) == 0;
      ::_exit(set ? 0 : errno);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  };
  allow(0);
  std::thread other([&] {
    absl::SleepFor(kSoon);
    allow(before.rlim_cur);
  });
  const absl::Time start = absl::Now();
  EXPECT_EQ(CodeOf(sandbox::TarEnd()), FileCode::kOk);
  EXPECT_GE(absl::Now() - start, kSoon);
  other.join();
}

TEST_F(UnpackHelperTest, ManyWorkAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(CodeOf(Member(TarType::kFile, absl::StrCat("f", i), "x") +
                       sandbox::TarEnd()),
                FileCode::kOk);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(tree()), {}), 8);
}

TEST_F(UnpackHelperTest, HasNoRights) {
  const auto status_of = [](pid_t pid) {
    return testing::ReadFile(absl::StrCat("/proc/", pid, "/status"));
  };
  const auto no_rights = AllOf(HasSubstr("Uid:\t54321\t54321\t54321\t54321\n"),
                               HasSubstr("Gid:\t54322\t54322\t54322\t54322\n"),
                               HasSubstr("CapEff:\t0000000000000000"),
                               HasSubstr("CapBnd:\t0000000000000000"),
                               HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status_of(helper_->pid()), no_rights);
  std::thread other([&] {
    const pid_t worker = Worker();
    EXPECT_THAT(status_of(worker), no_rights);
    if (!kSanitized) {
      EXPECT_THAT(status_of(worker), HasSubstr("Seccomp:\t2\n"));
    }
    std::vector<std::string> files;
    for (const auto& file :
         fs::directory_iterator(absl::StrCat("/proc/", worker, "/fd"))) {
      std::error_code error;
      files.push_back(fs::read_symlink(file.path(), error).string());
    }
    // The second directory is the one in which the file is made.
    EXPECT_THAT(files, ::testing::UnorderedElementsAre(
                           "/dev/null", "/dev/null", "/dev/null",
                           HasSubstr("memfd:tar"), HasSubstr("pipe:"), tree(),
                           tree(), tree() + "/endless"));
    cancel_.Cancel(policy::KillReason::kCancelled);
  });
  EXPECT_EQ(Unpack(EndlessArchive(), Endless()).status().code(),
            absl::StatusCode::kCancelled);
  other.join();
}

TEST_F(UnpackHelperTest, StartsOnlyFromAProgramThatKnowsIt) {
  EXPECT_EQ(
      UnpackHelper::Start(trees(), kUid, kGid, "/bin/true").status().code(),
      absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      UnpackHelper::Start(trees(), kUid, kGid, "/no/such").status().code(),
      absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sandglass::server

int main(int argc, char** argv) {
  // As sandglassd does.
  if (sandglass::server::IsUnpacker(argc, argv)) {
    return sandglass::server::ServeUnpacker();
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
