// The daemon's side against agents that the code took over.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "internal/files.pb.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/files.h"
#include "sandbox/os/seqpacket.h"
#include "tests/support/temp_dir.h"

namespace sandglass::sandbox {
namespace {

using Links = FileAgent::Links;

constexpr int kCancelled = static_cast<int>(FileCode::kCancelled);

class HostileAgentTest : public ::testing::Test {
 protected:
  HostileAgentTest() {
    absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
    EXPECT_TRUE(ends.ok());
    agent_ = std::make_unique<FileAgent>(std::move(ends->first));
    end_ = std::move(ends->second);
  }
  ~HostileAgentTest() override {
    if (thread_.joinable()) thread_.join();
  }

  // The request that comes next; empty when the daemon hung up.
  internal::FileRequest Take() {
    internal::FileRequest request;
    const auto packet = os::ReceivePacket(end_.get(), os::Wait::kYes);
    const bool understood =
        packet.ok() && request.ParseFromString(packet->data);
    EXPECT_EQ(understood, packet.ok());
    return request;
  }
  bool Say(const internal::FileReply& reply, const std::vector<int>& fds = {}) {
    return os::SendPacket(end_.get(), reply.SerializeAsString(), fds,
                          os::Wait::kYes)
        .ok();
  }
  // Answers the first request so.
  void Answer(const std::function<void(uint64_t id)>& answer) {
    thread_ = std::thread([this, answer] { answer(Take().id()); });
  }
  static internal::FileReply Last(uint64_t id) {
    internal::FileReply reply;
    reply.set_id(id);
    reply.set_last(true);
    return reply;
  }
  FileCode CodeOfOpen() { return agent_->Open("/f", limits_).result.code; }
  FileCode CodeOfStat() {
    return agent_->Stat("/f", Links::kFollow, limits_).result.code;
  }
  FileCode CodeOfList() {
    return agent_->List("/", "", 3, limits_).result.code;
  }

  const FileLimits limits_ = {.timeout = absl::Seconds(20)};
  std::unique_ptr<FileAgent> agent_;
  os::Fd end_;
  std::thread thread_;
};

TEST_F(HostileAgentTest, AnotherIdIsTheEnd) {
  Answer([this](uint64_t id) { Say(Last(id + 1)); });
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
  EXPECT_FALSE(agent_->alive());
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, BytesWithoutSenseAreTheEnd) {
  Answer([this](uint64_t) {
    (void)os::SendPacket(end_.get(), "\xff\xff\xff", {}, os::Wait::kYes);
  });
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, AnAgentThatHangsUpIsGone) {
  Answer([this](uint64_t) { ::shutdown(end_.get(), SHUT_RDWR); });
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentGone);
}

TEST_F(HostileAgentTest, CodesThatThereAreNotAreTheEnd) {
  Answer([this](uint64_t id) {
    internal::FileReply reply = Last(id);
    reply.set_code(static_cast<int>(FileCode::kTimedOut));
    Say(reply);
  });
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, ADescriptorThatNobodyAskedForIsTheEnd) {
  Answer([this](uint64_t id) { Say(Last(id), {0}); });
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
}

// Each could hold up whoever reads it, or is more than the code may see.
TEST_F(HostileAgentTest, OnlyRegularFilesToReadAreTaken) {
  sandglass::testing::TempDir dir;
  sandglass::testing::WriteFile(dir.Path("f"), "");
  int pipe[2], sockets[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const os::Fd kept[] = {os::Fd(pipe[1]), os::Fd(sockets[1])};
  std::vector<os::Fd> bad;
  bad.emplace_back(pipe[0]);
  bad.emplace_back(sockets[0]);
  bad.emplace_back(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  bad.emplace_back(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  bad.emplace_back(::open(dir.path().c_str(), O_RDONLY | O_CLOEXEC));
  bad.emplace_back(::open(dir.Path("f").c_str(), O_RDWR | O_CLOEXEC));
  bad.emplace_back(::open(dir.Path("f").c_str(), O_PATH | O_CLOEXEC));
  for (const os::Fd& fd : bad) {
    ASSERT_TRUE(fd.valid());
    auto ends = os::SeqPacketPair();
    agent_ = std::make_unique<FileAgent>(std::move(ends->first));
    end_ = std::move(ends->second);
    Answer([&](uint64_t id) { Say(Last(id), {fd.get()}); });
    EXPECT_EQ(CodeOfOpen(), FileCode::kAgentBroken) << &fd - bad.data();
    thread_.join();
  }
  const os::Fd good(::open(dir.Path("f").c_str(), O_RDONLY | O_CLOEXEC));
  for (const size_t count : {0u, 2u}) {
    auto ends = os::SeqPacketPair();
    agent_ = std::make_unique<FileAgent>(std::move(ends->first));
    end_ = std::move(ends->second);
    Answer([&](uint64_t id) {
      Say(Last(id), std::vector<int>(count, good.get()));
    });
    EXPECT_EQ(CodeOfOpen(), FileCode::kAgentBroken) << count;
    thread_.join();
  }
}

TEST_F(HostileAgentTest, NamesThatAreNoneAreTheEnd) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\0b", 3), std::string(256, 'n')}) {
    auto ends = os::SeqPacketPair();
    agent_ = std::make_unique<FileAgent>(std::move(ends->first));
    end_ = std::move(ends->second);
    Answer([&](uint64_t id) {
      internal::FileReply reply = Last(id);
      reply.add_entries()->set_name(name);
      Say(reply);
    });
    EXPECT_EQ(CodeOfList(), FileCode::kAgentBroken) << name;
    thread_.join();
  }
}

TEST_F(HostileAgentTest, MoreThanWasAskedForIsTheEnd) {
  Answer([this](uint64_t id) {
    internal::FileReply reply;
    reply.set_id(id);
    reply.add_entries()->set_name("a");
    while (Say(reply)) {
    }
  });
  EXPECT_EQ(CodeOfList(), FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, RepliesThatDoNotWaitAreTheEnd) {
  Answer([this](uint64_t id) {
    internal::FileReply reply;
    reply.set_id(id);
    reply.set_scan_done(true);
    Say(reply);  // the first look
    for (int i = 0; i < kFileWindow + 1; ++i) Say(reply);
  });
  auto tracker = agent_->Track("/", {}, limits_);
  thread_.join();
  // Somebody's call reads them; the first that can't be right ends all.
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
  EXPECT_EQ(tracker.value.Next(limits_, [](FileChanged) {}).result.code,
            FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, ASilentAgentCostsOnlyTime) {
  const FileLimits brief = {.timeout = absl::Milliseconds(20)};
  EXPECT_EQ(agent_->Stat("/f", Links::kFollow, brief).result.code,
            FileCode::kTimedOut);
  EXPECT_TRUE(agent_->alive());
  // The word that comes late is for nobody.
  const uint64_t id = Take().id();
  EXPECT_EQ(Take().operation_case(), internal::FileRequest::kCancel);
  internal::FileReply late = Last(id);
  late.set_code(kCancelled);
  Say(late);
  Answer([this](uint64_t next) { Say(Last(next)); });
  EXPECT_EQ(CodeOfStat(), FileCode::kOk);
  // It can be said once only.
  Say(late);
  EXPECT_EQ(CodeOfStat(), FileCode::kAgentBroken);
}

TEST_F(HostileAgentTest, AnAgentThatNeverAnswersIsGivenUp) {
  const FileLimits brief = {.timeout = absl::Milliseconds(1)};
  std::thread reader([this] {
    while (Take().operation_case() != 0) {
    }
  });
  FileCode code = FileCode::kTimedOut;
  for (int i = 0; i < 1000 && code == FileCode::kTimedOut; ++i) {
    code = agent_->Stat("/f", Links::kFollow, brief).result.code;
  }
  EXPECT_EQ(code, FileCode::kAgentGone);
  reader.join();
}

// Nobody takes what is sent: the call still ends in time.
TEST_F(HostileAgentTest, AnAgentThatDoesNotReadHoldsUpNobody) {
  const FileLimits brief = {.timeout = absl::Milliseconds(20)};
  const std::string content(100'000, 'c');
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(agent_->Write("/f", content, {}, brief).result.code,
              FileCode::kTimedOut);
  }
}

}  // namespace
}  // namespace sandglass::sandbox
