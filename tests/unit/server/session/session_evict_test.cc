// Sessions that give way when their caller has as many as it may.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "server/session/session_table.h"
#include "tests/unit/server/installed_gate.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

// A host in which nothing runs.
class QuietHost final : public SessionHost {
 public:
  absl::StatusOr<JobResult> RunCell(const Job&, CancelToken&,
                                    RunListener*) override {
    return absl::UnimplementedError("nothing runs here");
  }
  bool Interrupt(const std::string&) override { return false; }
  void EndKernel(const std::string&, const std::string&) override {}
  absl::StatusOr<SharedAgent> Files(CancelToken&) override {
    return absl::UnimplementedError("there are no files here");
  }
  void ForgetFiles(const sandbox::FileAgent&) override {}
  absl::Status Freeze(bool) override { return absl::OkStatus(); }
  void End() override {}
  std::vector<v1::KernelInfo> Kernels() const override { return {}; }
  absl::StatusOr<SharedArchive> Fork(CancelToken&) override {
    return SharedArchive();
  }
  uint64_t MemoryBytes() const override { return 0; }
  std::string Death() const override { return ""; }
};

class SessionEvictTest : public ::testing::Test {
 protected:
  enum class Kind { kEvictable, kKept };
  absl::StatusOr<v1::CreateSessionResponse> Make(Kind kind, uint32_t uid = 1) {
    v1::CreateSessionRequest request;
    request.set_language("sh");
    request.set_evictable(kind == Kind::kEvictable);
    return table_.Create(User(uid), request);
  }
  std::string Create(Kind kind, uint32_t uid = 1) {
    const auto made = Make(kind, uid);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!made.ok()) return "";
    EXPECT_EQ(made->session().evictable(), kind == Kind::kEvictable);
    return made->session().session_id();
  }
  absl::Status Find(const std::string& id) {
    return table_.Find(User(1), id).status();
  }

  // From now on.
  void SetCeilings(const policy::TenantCeilings& ceilings) {
    PolicySet policy = TestPolicy();
    policy.SetTenants(
        policy::TenantTable({{.name = kLocalTenant, .ceilings = ceilings}}));
    policy_.Set(std::make_shared<const PolicySet>(std::move(policy)));
  }

  LivePolicy policy_{TestPolicy()};
  SessionTable table_{policy_,
                      {.max_sessions = 4, .max_per_caller = 3},
                      [this](const SessionSpec&, const SessionOrigin&) {
                        on_make_();
                        return std::make_unique<QuietHost>();
                      },
                      kInstalled};
  // Called when a session has passed all checks and is being made.
  std::function<void()> on_make_ = [] {};
};

TEST_F(SessionEvictTest, TheOneThatWasLongestNotUsedGivesWay) {
  const std::string first = Create(Kind::kEvictable);
  const std::string second = Create(Kind::kEvictable);
  const std::string kept = Create(Kind::kKept);
  (*table_.Find(User(1), first))->Touch();
  const std::string next = Create(Kind::kKept);
  EXPECT_THAT(std::string(Find(second).message()),
              HasSubstr("it was evictable"));
  for (const std::string& id : {first, kept, next}) {
    EXPECT_TRUE(Find(id).ok()) << id;
  }
  EXPECT_EQ(table_.size(), 3u);
}

// Of all its callers together, whoever of them has them.
TEST_F(SessionEvictTest, ATenantHasNoMoreThanItsCeilings) {
  SetCeilings({.sessions = 2});
  const std::string first = Create(Kind::kEvictable, 1);
  Create(Kind::kKept, 2);
  const absl::Status count = Make(Kind::kKept, 3).status();
  EXPECT_EQ(ErrorReason(count), "TENANT_CEILING");
  EXPECT_THAT(std::string(count.message()),
              HasSubstr("tenant local has 2 of at most 2 (ceilings.sessions"));
  EXPECT_TRUE(Make(Kind::kKept, 1).ok()) << "one of its own gave way";
  EXPECT_FALSE(Find(first).ok());

  // Each may take 256 MiB.
  SetCeilings({.session_memory_bytes = uint64_t{700} << 20});
  EXPECT_THAT(std::string(Make(Kind::kKept, 3).status().message()),
              HasSubstr("(ceilings.session_memory in its file)"));
  SetCeilings({.session_memory_bytes = uint64_t{768} << 20});
  EXPECT_TRUE(Make(Kind::kKept, 3).ok());
}

// Each may come to hold its limit of 256 MiB.
TEST_F(SessionEvictTest, TheirMemoryLimitsAddUpToNoMoreThanThereIs) {
  const auto make = [&](SessionTable& table, Kind kind, uint32_t uid) {
    v1::CreateSessionRequest request;
    request.set_language("sh");
    request.set_evictable(kind == Kind::kEvictable);
    return table.Create(User(uid), request).status();
  };
  SessionTable table{policy_,
                     {.memory_bytes = uint64_t{1024} << 20},
                     [](const SessionSpec&, const SessionOrigin&) {
                       return std::make_unique<QuietHost>();
                     },
                     kInstalled};
  EXPECT_TRUE(make(table, Kind::kEvictable, 1).ok());
  EXPECT_TRUE(make(table, Kind::kKept, 1).ok());
  EXPECT_TRUE(make(table, Kind::kKept, 1).ok());
  EXPECT_TRUE(make(table, Kind::kKept, 1).ok()) << "one of its own gave way";
  EXPECT_EQ(table.size(), 3u);
  // The last quarter is for those that have less.
  EXPECT_EQ(ErrorReason(make(table, Kind::kKept, 1)), "SESSION_MEMORY_FULL");
  EXPECT_TRUE(make(table, Kind::kKept, 2).ok());
  const absl::Status full = make(table, Kind::kKept, 2);
  EXPECT_EQ(ErrorReason(full), "SESSION_MEMORY_FULL");
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("they add up to 1 GiB, those of uid:2 to 256 MiB"));
  EXPECT_EQ(table.size(), 4u);
}

TEST_F(SessionEvictTest, NoneIsMadeWhileTheMachineLacksMemory) {
  table_.SetSpareMemory(-1);
  EXPECT_TRUE(Make(Kind::kKept).ok()) << "the pool may give it yet";
  table_.SetSpareMemory(-1);
  EXPECT_EQ(ErrorReason(Make(Kind::kKept).status()), "MACHINE_LACKS_MEMORY");
  table_.SetSpareMemory(0);
  EXPECT_TRUE(Make(Kind::kKept).ok());
}

TEST_F(SessionEvictTest, WhatIsInUseStays) {
  const std::string used = Create(Kind::kEvictable);
  Create(Kind::kKept);
  Create(Kind::kKept);
  std::optional<SessionUse> use =
      *SessionUse::Begin(*table_.Find(User(1), used), [] {});
  EXPECT_EQ(Make(Kind::kEvictable).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Find(used).ok());
  use.reset();
  EXPECT_TRUE(Make(Kind::kEvictable).ok());
  EXPECT_FALSE(Find(used).ok());
}

TEST_F(SessionEvictTest, OneThatComesIntoUseAtTheLastMomentStays) {
  const std::string idle = Create(Kind::kEvictable);
  Create(Kind::kKept);
  Create(Kind::kKept);
  const SharedSession session = *table_.Find(User(1), idle);
  std::optional<SessionUse> use;
  on_make_ = [&] { use.emplace(*SessionUse::Begin(session, [] {})); };
  const absl::Status full = Make(Kind::kKept).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_TRUE(session->Lives().ok()) << session->Lives();
  EXPECT_TRUE(Find(idle).ok());
  EXPECT_EQ(table_.size(), 3u);
}

TEST_F(SessionEvictTest, OneThatIsClosedCanNotBeUsedBeforeItsEnd) {
  const std::string id = Create(Kind::kEvictable);
  const SharedSession session = *table_.Find(User(1), id);
  ASSERT_TRUE(session->CloseIfIdle({"SESSION_EVICTED", "it gave way"}));
  const absl::Status use = SessionUse::Begin(session, [] {}).status();
  EXPECT_THAT(std::string(use.message()), HasSubstr("it gave way"));
  EXPECT_FALSE(session->CloseIfIdle({"SESSION_EVICTED", "again"}));
}

TEST_F(SessionEvictTest, SeveralGiveWayToAForkOrNone) {
  const std::string parent = Create(Kind::kKept);
  const std::string first = Create(Kind::kEvictable);
  const std::string second = Create(Kind::kEvictable);
  v1::ForkSessionRequest request;
  request.set_session_id(parent);
  for (int i = 0; i < 3; ++i) request.add_children();
  const auto fork = [&] {
    return table_.Fork(User(1), request, std::make_shared<CancelToken>());
  };
  EXPECT_EQ(fork().status().code(), absl::StatusCode::kResourceExhausted);
  for (const std::string& id : {first, second}) {
    EXPECT_TRUE(Find(id).ok()) << id;
  }
  request.mutable_children()->RemoveLast();
  const auto forked = fork();
  ASSERT_TRUE(forked.ok()) << forked.status();
  EXPECT_EQ(forked->sessions_size(), 2);
  for (const std::string& id : {first, second}) {
    EXPECT_THAT(std::string(Find(id).message()), HasSubstr("it was evictable"));
  }
  EXPECT_TRUE(Find(parent).ok());
  EXPECT_EQ(table_.size(), 3u);
}

TEST_F(SessionEvictTest, NobodysGivesWayToAnothers) {
  for (int i = 0; i < 3; ++i) Create(Kind::kEvictable);
  Create(Kind::kKept, 2);
  const absl::Status full = Make(Kind::kKept, 2).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("\"sessions.max\""));
  EXPECT_EQ(table_.size(), 4u);
  // Its own does, also where the bound is the one for all.
  EXPECT_TRUE(Make(Kind::kKept, 1).ok());
}

TEST_F(SessionEvictTest, OneThatIsFoundByItsLabelsMakesNoRoom) {
  v1::GetOrCreateSessionRequest request;
  request.mutable_create()->set_language("sh");
  request.mutable_create()->set_evictable(true);
  (*request.mutable_create()->mutable_labels())["thread"] = "7";
  const auto made = table_.GetOrCreate(User(1), request);
  ASSERT_TRUE(made.ok()) << made.status();
  Create(Kind::kEvictable);
  Create(Kind::kEvictable);
  EXPECT_FALSE(table_.GetOrCreate(User(1), request)->created());
  EXPECT_EQ(table_.size(), 3u);
}

}  // namespace
}  // namespace sandglass::server
