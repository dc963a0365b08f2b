// The process that reads the policy again, and what it tells spawners by.
#include "server/live_policy/policy_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/wire/template_book.h"
#include "sandbox/yard/template_ledger.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Ledger : public ::testing::Test {
 protected:
  static sandbox::JailTemplate Named(const std::string& name) {
    sandbox::JailTemplate made;
    made.name = name;
    made.maximum.memory_bytes = 12345;
    made.seccomp.push_back({6, 0, 0, 7});
    return made;
  }
};

TEST_F(Ledger, WhatRootWritesASpawnerFinds) {
  absl::StatusOr<sandbox::TemplateLedger> ledger =
      sandbox::TemplateLedger::Create();
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  internal::SpawnerConfig config;
  config.add_templates()->set_name("first");
  sandbox::TemplateBook book(config, *ledger->ReadingEnd());
  EXPECT_NE(book.Find("first"), nullptr);
  EXPECT_EQ(book.Find("second"), nullptr);
  ASSERT_TRUE(ledger->Append({Named("second"), Named("third")}).ok());
  const internal::Template* second = book.Find("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->maximum().memory_bytes(), 12345u);
  EXPECT_EQ(second->seccomp().size(), sizeof(sock_filter));
  ASSERT_TRUE(ledger->Append({Named("second"), Named("fourth")}).ok());
  EXPECT_NE(book.Find("fourth"), nullptr);
  // What was found stays where it was.
  EXPECT_EQ(book.Find("second"), second);
}

TEST_F(Ledger, ARecordThatIsOnlyPartlyThereComesLater) {
  const testing::TempDir directory;
  const std::string path = directory.Path("ledger");
  internal::Template made;
  made.set_name("late");
  const std::string record = made.SerializeAsString();
  const auto size = static_cast<uint32_t>(record.size());
  const std::string whole =
      std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + record;
  testing::WriteFile(path, whole.substr(0, whole.size() - 1));
  sandbox::TemplateBook book(internal::SpawnerConfig(),
                             os::Fd(::open(path.c_str(), O_RDONLY)));
  EXPECT_EQ(book.Find("late"), nullptr);
  testing::WriteFile(path, whole);
  EXPECT_NE(book.Find("late"), nullptr);
}

TEST_F(Ledger, TheLedgerIsBounded) {
  absl::StatusOr<sandbox::TemplateLedger> ledger =
      sandbox::TemplateLedger::Create();
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  std::vector<sandbox::JailTemplate> many;
  for (size_t i = 0; i < sandbox::TemplateLedger::kMaxTemplates; ++i) {
    many.push_back(Named(absl::StrCat("t", i)));
  }
  ASSERT_TRUE(ledger->Append(many).ok());
  EXPECT_EQ(ledger->Append({Named("more")}).code(),
            absl::StatusCode::kResourceExhausted);
  // Those that are known take no room.
  EXPECT_TRUE(ledger->Append(many).ok());
}

TEST_F(Ledger, ReadersCantWriteTheLedger) {
  absl::StatusOr<sandbox::TemplateLedger> ledger =
      sandbox::TemplateLedger::Create();
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  const absl::StatusOr<os::Fd> end = ledger->ReadingEnd();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_LT(::write(end->get(), "x", 1), 0);
  EXPECT_EQ(errno, EBADF);
  struct stat info = {};
  ASSERT_EQ(::fstat(end->get(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0400u);
}

class PolicyReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(directory_.path(), fs::perms(0755));
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy(),
             fs::copy_options::recursive);
  }
  std::string policy() const { return directory_.Path("policy"); }
  void WriteProfile(const std::string& name, const std::string& rest) {
    testing::WriteFile(absl::StrCat(policy(), "/profiles/", name, ".json"),
                       absl::StrCat(R"({"description": "d")", rest, "}"));
  }
  PolicySet Load() {
    absl::StatusOr<PolicySet> set = PolicySet::Load(policy());
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }
  void Start() {
    in_force_ = std::make_unique<PolicySet>(Load());
    absl::StatusOr<sandbox::TemplateLedger> ledger =
        sandbox::TemplateLedger::Create();
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    book_ = std::make_unique<sandbox::TemplateBook>(internal::SpawnerConfig(),
                                                    *ledger->ReadingEnd());
    auto reader = PolicyReader::Start(policy(), *in_force_, *std::move(ledger),
                                      54321, 54322);
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
  }
  absl::StatusOr<std::vector<std::string>> Read() {
    return reader_->Read(absl::Seconds(30));
  }

  const testing::TempDir directory_;
  std::unique_ptr<PolicySet> in_force_;
  std::unique_ptr<sandbox::TemplateBook> book_;
  std::unique_ptr<PolicyReader> reader_;
};

TEST_F(PolicyReaderTest, TellsOfTheTemplatesThatThereAreNow) {
  Start();
  WriteProfile("mine", "");
  const auto names = Read();
  ASSERT_TRUE(names.ok()) << names.status();
  const PolicySet now = Load();
  const std::string mine = now.FindProfile("mine")->jail_template;
  EXPECT_THAT(*names, ::testing::Contains(mine));
  EXPECT_EQ(names->size(), now.profiles().size());
  EXPECT_NE(book_->Find(mine), nullptr);
}

TEST_F(PolicyReaderTest, ReportsAnInvalidPolicyAndGoesOn) {
  Start();
  WriteProfile("mine", R"(, "limitz": {})");
  const auto names = Read();
  EXPECT_EQ(names.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(names.status().message()),
              HasSubstr("mine.json: /limitz: unknown key"));
  EXPECT_EQ(book_->Find("mine"), nullptr);
  WriteProfile("mine", "");
  EXPECT_TRUE(Read().ok());
}

TEST_F(PolicyReaderTest, TheReaderHasNoRights) {
  Start();
  ASSERT_TRUE(Read().ok());
  const std::string status =
      testing::ReadFile(absl::StrCat("/proc/", reader_->pid(), "/status"));
  EXPECT_THAT(status, HasSubstr("Uid:\t54321\t54321\t54321\t54321\n"));
  EXPECT_THAT(status, HasSubstr("Gid:\t54322\t54322\t54322\t54322\n"));
  EXPECT_THAT(status, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
}

TEST_F(PolicyReaderTest, ReadsTheDirectoryThatHasTheNameNow) {
  Start();
  fs::copy(policy(), directory_.Path("next"), fs::copy_options::recursive);
  fs::rename(policy(), directory_.Path("before"));
  fs::rename(directory_.Path("next"), policy());
  WriteProfile("mine", "");
  const auto names = Read();
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->size(), in_force_->profiles().size() + 1);
}

TEST_F(PolicyReaderTest, AReaderThatHangsOrDiesIsNotWaitedFor) {
  Start();
  ASSERT_EQ(::kill(reader_->pid(), SIGSTOP), 0);
  EXPECT_EQ(reader_->Read(absl::Milliseconds(50)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(reader_->Beat(absl::Milliseconds(50)).code(),
            absl::StatusCode::kDeadlineExceeded);
  // Its late answer is for nobody: what is wrong by now is seen.
  WriteProfile("mine", R"(, "no-such": 1)");
  ASSERT_EQ(::kill(reader_->pid(), SIGCONT), 0);
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(reader_->Beat(absl::Seconds(30)).ok());
  ASSERT_EQ(::kill(reader_->pid(), SIGKILL), 0);
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(reader_->Beat(absl::Seconds(30)).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sandglass::server
