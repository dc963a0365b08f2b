// A profile's cap of disk I/O slows what really comes from the disk, and the
// daemon says where it can't.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kReadBytes = 3 << 20;
// 3 MiB take three seconds at the cap, and a fraction of one without.
constexpr double kSlowSeconds = 1.5;

constexpr char kSlow[] = R"({
  "description": "d",
  "disk_io": {"read_bytes_per_second": "1MiB", "reads_per_second": 1000}
})";

// A large file of the image that nobody has mapped: an archive for linkers.
std::string LargeFile() {
  std::error_code error;
  for (const auto& entry :
       fs::recursive_directory_iterator("/usr/lib", error)) {
    if (entry.path().extension() == ".a" && entry.is_regular_file(error) &&
        entry.file_size(error) > 2 * kReadBytes) {
      return entry.path().string();
    }
  }
  return "";
}

class DiskCap : public OwnDaemonTest {
 protected:
  void SetUp() override {
    policy_ = MakeTestDirectory();
    fs::copy(
        SANDGLASS_SOURCE_DIR "/policy/data", policy_,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::ofstream(absl::StrCat(policy_, "/profiles/slow.json")) << kSlow;
    file_ = LargeFile();
    ASSERT_NE(file_, "") << "no large file to read";
    StartDaemon({.extra_arguments = {"--policy-dir", policy_}});
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    fs::remove_all(policy_);
  }

  v1::GetServerInfoResponse Info() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info;
  }
  v1::IsolationLayer Layer() {
    const v1::GetServerInfoResponse info = Info();
    for (const v1::IsolationLayer& layer : info.isolation()) {
      if (layer.name() == "disk-io-cap") return layer;
    }
    ADD_FAILURE() << "no such layer";
    return {};
  }
  bool InForce() { return Layer().state() == v1::LAYER_STATE_IN_FORCE; }

  // Seconds that a program takes to read what isn't in memory. With a variable
  // that acts at an interpreter's start none that has started is used.
  double SecondsToRead(const std::string& profile, bool fresh = false) {
    const int file = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(file);
    v1::RunCodeRequest request = Python(absl::StrCat(
        "import os, time\nf = os.open('", file_, "', os.O_RDONLY)\n",
        "t = time.monotonic()\nn = 0\nwhile n < ", kReadBytes,
        ": n += len(os.read(f, 65536))\nprint(time.monotonic() - t)\n"));
    request.set_profile(profile);
    if (fresh) (*request.mutable_env())["PYTHONHASHSEED"] = "1";
    const RunResult result = client().Run(request);
    EXPECT_THAT(result.status, IsOk());
    EXPECT_EQ(result.response.outcome(), v1::OUTCOME_OK)
        << result.response.ShortDebugString();
    double seconds = 0;
    EXPECT_TRUE(absl::SimpleAtod(result.response.stdout().data(), &seconds));
    return seconds;
  }
  // What `sandglass policy check` prints.
  std::vector<std::string> Meaning() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::CheckProfileRequest request;
    request.set_name("slow");
    request.set_text(kSlow);
    v1::CheckProfileResponse response;
    EXPECT_THAT(client().policy().CheckProfile(&context, request, &response),
                IsOk());
    return {response.meaning().begin(), response.meaning().end()};
  }

  std::string policy_;
  std::string file_;
};

TEST_F(DiskCap, SlowsReadsFromTheDiskAndNothingElse) {
  // Spares that were made before anybody asked for a cap do for these.
  EXPECT_LT(SecondsToRead("default"), kSlowSeconds);
  EXPECT_LT(SecondsToRead("default", true), kSlowSeconds);
  for (const bool fresh : {false, true, false, true}) {
    SCOPED_TRACE(fresh);
    EXPECT_EQ(SecondsToRead("slow", fresh) > kSlowSeconds, InForce());
    // Neither does a cap stay with what is made ahead.
    EXPECT_LT(SecondsToRead("default", fresh), kSlowSeconds);
  }
  StopDaemon();  // with all groups gone
}

TEST_F(DiskCap, IsToldWhereItIsInForceAndWhereNot) {
  const std::string detail = Layer().detail();
  EXPECT_FALSE(Layer().required());
  EXPECT_THAT(Meaning(), Contains(HasSubstr("reads 1 MiB/s and 1000 ")));
  if (InForce()) {
    EXPECT_THAT(detail, HasSubstr("disks "));
    EXPECT_THAT(Meaning(), Not(Contains(HasSubstr("Not in force"))));
  } else {
    EXPECT_THAT(Meaning(),
                Contains(HasSubstr("Not in force on this host: " + detail)));
    EXPECT_THAT(daemon().LogTail(1000), HasSubstr("disk_cap_not_in_force"));
  }
  const v1::GetServerInfoResponse info = Info();
  for (const v1::ProfileInfo& profile : info.profiles()) {
    EXPECT_EQ(profile.has_disk_io(), profile.name() == "slow");
    if (!profile.has_disk_io()) continue;
    EXPECT_EQ(profile.disk_io().read_bytes_per_second(), 1u << 20);
    EXPECT_EQ(profile.disk_io().reads_per_second(), 1000u);
    EXPECT_EQ(profile.disk_io().write_bytes_per_second(), 0u);
  }
}

class WithoutDiskCap : public OwnDaemonTest {};

TEST_F(WithoutDiskCap, NothingIsSpentOnOne) {
  StartDaemon();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(client().Run(Bash("exit 0")), OutcomeIs(v1::OUTCOME_OK));
  daemon().Remember();
  EXPECT_THAT(daemon().groups(), Each(Not(HasSubstr("blkio"))));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
