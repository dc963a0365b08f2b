// How long a restoring takes, and what it reads, with an agent that a test
// plays.
#include "server/session/durable_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "internal/files.pb.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/files/file_types.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/files.h"
#include "sandbox/os/seqpacket.h"
#include "server/session/session_store.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using internal::FileRequest;
using sandbox::FileAgent;
using sandbox::FileCode;
using testing::ReadFile;
using testing::TempDir;

constexpr uint64_t kPlenty = uint64_t{1} << 40;
constexpr uint32_t kMaxEntries = 1000;

class DurableFilesTest : public ::testing::Test {
 protected:
  DurableFilesTest() {
    // As the daemon does.
    ::signal(SIGPIPE, SIG_IGN);
    absl::StatusOr<std::unique_ptr<SessionStore>> store = SessionStore::Open(
        root_.Path("sessions"), ::geteuid(), ::getegid(), kPlenty);
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    internal::StoredSession record;
    record.set_session_id("ses-00000000000000aa");
    record.set_caller("uid:7");
    absl::StatusOr<std::shared_ptr<SessionCopy>> copy =
        store_->Create(record, nullptr);
    EXPECT_TRUE(copy.ok()) << copy.status();
    copy_ = *std::move(copy);
    absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
    EXPECT_TRUE(ends.ok());
    agent_ = std::make_shared<FileAgent>(std::move(ends->first));
    end_ = std::move(ends->second);
    files_.emplace(copy_, kMaxEntries, kPlenty);
  }
  ~DurableFilesTest() override {
    if (thread_.joinable()) thread_.join();
  }

  // Saves one file, which has so many names, of so many bytes.
  void Save(int names, uint64_t size) {
    absl::StatusOr<os::Fd> content = os::MakeMemfd("content", "begin");
    ASSERT_TRUE(content.ok());
    ASSERT_EQ(::ftruncate(content->get(), static_cast<off_t>(size)), 0);
    constexpr uint64_t kInode = 5;
    CopyChange change(*copy_);
    for (int i = 0; i < names; ++i) {
      internal::StoredEntry entry;
      entry.set_path(absl::StrCat("f", i));
      entry.set_type(static_cast<uint32_t>(sandbox::FileType::kRegular));
      entry.set_mode(0644);
      ASSERT_TRUE(change.PutFile(entry, *content, kInode, "").ok());
    }
    ASSERT_TRUE(change.Commit().ok());
  }

  // The agent's next request, with what came along.
  std::pair<FileRequest, std::vector<os::Fd>> Take() {
    std::pair<FileRequest, std::vector<os::Fd>> taken;
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(end_.get(), os::Wait::kYes);
    EXPECT_TRUE(packet.ok() && taken.first.ParseFromString(packet->data));
    if (packet.ok()) taken.second = std::move(packet->fds);
    return taken;
  }
  void Say(const internal::FileReply& reply) {
    EXPECT_TRUE(os::SendPacket(end_.get(), reply.SerializeAsString(), {},
                               os::Wait::kYes)
                    .ok());
  }
  // As an agent that one file is in the way of all others.
  void RefuseAll() {
    const auto [request, archive] = Take();
    internal::FileReply reply;
    reply.set_id(request.id());
    reply.set_last(true);
    reply.set_code(static_cast<int>(FileCode::kPermissionDenied));
    Say(reply);
  }

  absl::Status Restore(const sandbox::FileLimits& limits) {
    return files_->Restore(agent_, limits);
  }
  // What this process has read so far.
  static uint64_t BytesRead() {
    const std::string io = ReadFile("/proc/self/io");
    uint64_t bytes = 0;
    constexpr size_t kWord = sizeof("rchar: ") - 1;
    EXPECT_TRUE(
        absl::SimpleAtoi(io.substr(kWord, io.find('\n') - kWord), &bytes))
        << io;
    return bytes;
  }

  const TempDir root_;
  std::unique_ptr<SessionStore> store_;
  std::shared_ptr<SessionCopy> copy_;
  os::Fd end_;
  std::shared_ptr<FileAgent> agent_;
  std::optional<DurableFiles> files_;
  std::thread thread_;
};

TEST_F(DurableFilesTest, TheTimeOfARestoringIsForAllOfIt) {
  Save(1, 4 << 20);
  // Nobody takes what is sent, nor answers.
  constexpr absl::Duration kTime = absl::Seconds(1);
  const absl::Time begun = os::SteadyNow();
  const absl::Status done = Restore({.timeout = kTime});
  const absl::Duration took = os::SteadyNow() - begun;
  EXPECT_TRUE(absl::IsDeadlineExceeded(done)) << done;
  EXPECT_GE(took, kTime);
  EXPECT_LT(took, 2 * kTime) << "each of two waits had all of it";
}

TEST_F(DurableFilesTest, AContentOfManyNamesIsCheckedOnce) {
  constexpr int kNames = 64;
  constexpr uint64_t kSize = 4 << 20;
  Save(kNames, kSize);
  thread_ = std::thread([this] {
    RefuseAll();
    auto [request, archive] = Take();
    std::string piece(1 << 20, '\0');
    while (::read(archive.at(0).get(), piece.data(), piece.size()) > 0) {
    }
    internal::FileReply unpacked;
    unpacked.set_id(request.id());
    unpacked.set_last(true);
    unpacked.set_count(kNames);
    Say(unpacked);
    internal::FileReply looked;
    looked.set_id(Take().first.id());
    looked.set_scan_done(true);
    Say(looked);
  });
  const uint64_t before = BytesRead();
  const absl::Status done = Restore({.timeout = absl::Seconds(30)});
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(copy_->missing().count, 0u);
  EXPECT_LT(BytesRead() - before, kNames / 4 * kSize);
}

TEST_F(DurableFilesTest, ACheckEndsWithItsCall) {
  constexpr uint64_t kSize = 512 << 20;
  Save(1, kSize);
  const os::Fd cancel(::eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([&] {
    RefuseAll();
    const auto second = Take();
    const uint64_t one = 1;
    EXPECT_EQ(::write(cancel.get(), &one, sizeof(one)),
              static_cast<ssize_t>(sizeof(one)));
  });
  const uint64_t before = BytesRead();
  const absl::Status done =
      Restore({.timeout = absl::Seconds(30), .cancel_fd = cancel.get()});
  thread_.join();
  EXPECT_TRUE(absl::IsCancelled(done)) << done;
  EXPECT_LT(BytesRead() - before, kSize / 2);
}

}  // namespace
}  // namespace sandglass::server
