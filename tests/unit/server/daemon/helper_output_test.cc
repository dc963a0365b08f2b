// The log's format before the configuration is read, and of what other
// processes write.
#include "server/daemon/helper_output.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/daemon/early_log.h"
#include "server/daemon/reload_record.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

TEST(HelperOutput, EachLineIsAnEventAndOneThatRepeatsIsCounted) {
  ::testing::internal::CaptureStderr();
  {
    auto output = HelperOutput::Create();
    ASSERT_TRUE(output.ok()) << output.status();
    (*output)->Divert();
    // An interpreter that can't start is tried again and again.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    const int status = std::system(
        "for i in $(seq 25); do echo 'Traceback (most recent call last):' >&2;"
        "echo \"  File \\\"x.py\\\", line 1\" >&2; done; printf last >&2");
    (*output)->EndDiversion();
    EXPECT_EQ(status, 0);
    (*output)->Start();
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(log, "warning helper_output "), 5U) << log;
  EXPECT_EQ(Count(log, "text=\"Traceback (most recent call last):\"\n"), 1U);
  EXPECT_EQ(Count(log, "times=10\n"), 2U) << log;
  EXPECT_THAT(log, AllOf(HasSubstr(R"(text="  File \"x.py\", line 1")"),
                         HasSubstr("text=last\n"), Not(HasSubstr("\nTrace"))));
}

TEST(EarlyLog, TheFormatIsThatOfTheFileAsFarAsItCanBeRead) {
  TempDir dir;
  const auto format = [&](const std::string& text) {
    testing::WriteFile(dir.path() + "/config", text);
    return FindLogFormat(dir.path() + "/config");
  };
  EXPECT_EQ(format(R"({"log": {"format": "json"}})"), LogFormat::kJson);
  EXPECT_EQ(format(R"({"nosuch": 1, "log": {"level": 7, "format": "json"}})"),
            LogFormat::kJson);
  EXPECT_EQ(format(R"({"log": {"format" : "json"}, )"), LogFormat::kJson);
  for (const char* text :
       {"", "[]", "{}", R"({"log": 7})", R"({"log": ["format"]})",
        R"({"log": {"format": ["json"]}})", R"({"log": {"format": "text"}})",
        R"({"log": {/* "format": "json" */}})"}) {
    EXPECT_EQ(format(text), LogFormat::kText) << text;
  }
  EXPECT_EQ(FindLogFormat(""), LogFormat::kText);
}

TEST(ReloadRecord, TellsWhichReloadEndedHow) {
  TempDir dir;
  EXPECT_FALSE(ReloadRecord::Read(dir.path()).ok());
  auto record = ReloadRecord::Make(dir.path());
  ASSERT_TRUE(record.ok()) << record.status();
  const auto read = [&] {
    const auto state = ReloadRecord::Read(dir.path());
    EXPECT_TRUE(state.ok()) << state.status();
    return state.value_or(ReloadRecord::State{});
  };
  EXPECT_EQ(read().pid, ::getpid());
  record->Begin();
  EXPECT_EQ(read().begun, 1U);
  EXPECT_EQ(read().ended, 0U);
  record->End(absl::InvalidArgumentError(std::string(10000, 'x')));
  EXPECT_EQ(read().ended, 1U);
  EXPECT_EQ(read().error, std::string(4031, 'x'));
  record->Begin();
  record->End(absl::OkStatus());
  EXPECT_EQ(read().ended, 2U);
  EXPECT_EQ(read().error, "");
}

// A daemon that starts finds the file of an earlier one, whose pid may be that
// of any process by now.
TEST(ReloadRecord, IsNobodysOnceItsDaemonHasEnded) {
  TempDir dir;
  {
    auto record = ReloadRecord::Make(dir.path());
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(ReloadRecord::Read(dir.path()).ok());
  }
  EXPECT_TRUE(absl::IsUnavailable(ReloadRecord::Read(dir.path()).status()));
  auto next = ReloadRecord::Make(dir.path());
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(ReloadRecord::Read(dir.path()).ok());
}

}  // namespace
}  // namespace sandglass::server
