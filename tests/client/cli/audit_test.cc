// `sandglass audit` through the binary, without a daemon.
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_chain.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;
using policy::AuditFileName;
using policy::AuditHead;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

class CliAuditTest : public ::testing::Test {
 protected:
  CliAuditTest() {
    std::string first = Line("start", {{"version", "0.1.0"}});
    first += Line("run", {{"run_id", "run-1"},
                          {"caller", "uid:1000"},
                          {"lang", "python"},
                          {"labels", {{"task", "7"}}},
                          {"outcome", "OK"},
                          {"exit_code", 0},
                          {"usage", {{"wall_us", 12'300}}}});
    third_ = head_.seq + 1;
    WriteFile(At(1), first);
    std::string second = Line("run", {{"run_id", "run-2"},
                                      {"caller", "uid:1001"},
                                      {"lang", "bash"},
                                      {"outcome", "SIGNALED"},
                                      {"signal", "SIGSEGV"}});
    second += Line("run", {{"run_id", "run-3"},
                           {"caller", "uid:1000"},
                           {"lang", "bash"},
                           {"error", "UNAVAILABLE"},
                           {"reason", "SHUTTING_DOWN"}});
    WriteFile(At(third_), second);
  }

  // A line an hour after the one before it, from 2025-01-31 00:00 UTC on.
  std::string Line(const std::string& event, const Json& fields) {
    return policy::MakeAuditLine(
        policy::AuditBody(event, fields).value(),
        absl::FromUnixSeconds(1'738'281'600) + absl::Hours(head_.seq), head_);
  }
  std::string At(uint64_t seq) const { return dir_.Path(AuditFileName(seq)); }
  SubprocessResult Audit(std::vector<std::string> args) const {
    args.insert(args.begin(), "audit");
    return RunProcess({.args = std::move(args), .env = {"TZ=UTC"}});
  }
  void Replace(const std::string& path, const std::string& old,
               const std::string& with) const {
    std::string text = ReadFile(path);
    text.replace(text.find(old), old.size(), with);
    WriteFile(path, text);
  }

  TempDir dir_;
  AuditHead head_;
  uint64_t third_ = 0;
};

TEST_F(CliAuditTest, VerifiesAGoodLog) {
  const SubprocessResult result = Audit({"verify", dir_.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            absl::StrCat("4 lines in 2 files: 1 to 4, "
                         "2025-01-31T00:00:00.000000Z to "
                         "2025-01-31T03:00:00.000000Z\nhead ",
                         FormatAuditHead(head_), "\nas it was written\n"));
  EXPECT_THAT(result.err, IsEmpty());
  // Files, in whatever order.
  EXPECT_EQ(Audit({"verify", At(third_), At(1)}).out, result.out);
  EXPECT_EQ(Audit({"verify", dir_.path(), "--head", FormatAuditHead(head_)})
                .exit_code,
            0);
}

TEST_F(CliAuditTest, FindsTampering) {
  Replace(At(1), "\"outcome\":\"OK\"", "\"outcome\":\"no\"");
  const SubprocessResult result = Audit({"verify", dir_.path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("TAMPERING: "),
                    HasSubstr(AuditFileName(1) + ":2: line 2 of the log was "
                                                 "altered"),
                    HasSubstr("NOT as it was written: 1 place\n")));
  fs::remove(At(1));
  const SubprocessResult shorter = Audit({"verify", dir_.path()});
  EXPECT_EQ(shorter.exit_code, 0);
  EXPECT_THAT(shorter.out, HasSubstr("note: "));
}

TEST_F(CliAuditTest, SaysTheSameAsJson) {
  auto json = nlohmann::json::parse(
      Audit({"verify", dir_.path(), "--json"}).out, nullptr, false);
  EXPECT_EQ(json["as_written"], true);
  EXPECT_EQ(json["lines"], 4);
  EXPECT_EQ(json["head"],
            (nlohmann::json{{"seq", head_.seq}, {"hash", head_.hash}}));
  EXPECT_EQ(nlohmann::json::parse(Audit({"head", dir_.path(), "--json"}).out),
            json["head"]);
  Replace(At(1), "\"outcome\":\"OK\"", "\"outcome\":\"no\"");
  const SubprocessResult result = Audit({"verify", dir_.path(), "--json"});
  EXPECT_EQ(result.exit_code, 1);
  json = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["as_written"], false);
  EXPECT_EQ(json["findings"][0]["kind"], "tampering");
  EXPECT_EQ(json["findings"][0]["line"], 2);
}

TEST_F(CliAuditTest, AHeadShowsWhatWasCutOff) {
  const std::string head = Audit({"head", dir_.path()}).out;
  EXPECT_EQ(head, FormatAuditHead(head_) + "\n");
  EXPECT_EQ(Audit({"head", At(third_)}).out, head);
  const std::string exported = head.substr(0, head.size() - 1);
  fs::remove(At(third_));
  EXPECT_EQ(Audit({"verify", dir_.path()}).exit_code, 0);
  const SubprocessResult cut =
      Audit({"verify", dir_.path(), "--head", exported});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.out, HasSubstr("the end was cut off"));
  fs::remove(At(1));
  EXPECT_EQ(Audit({"verify", dir_.path(), "--head", exported}).exit_code, 1);
}

TEST_F(CliAuditTest, TheHeadOfAFileThatWasJustBegunIsThatOfTheOneBefore) {
  WriteFile(At(head_.seq + 1), "");
  EXPECT_EQ(Audit({"head", dir_.path()}).out, FormatAuditHead(head_) + "\n");
  WriteFile(At(head_.seq + 1), "{\"seq\":");
  const SubprocessResult torn = Audit({"head", dir_.path()});
  EXPECT_EQ(torn.exit_code, 1);
  EXPECT_THAT(torn.out, IsEmpty());
  EXPECT_THAT(torn.err, HasSubstr("sandglass audit verify"));
}

TEST_F(CliAuditTest, WhatCantBeReadExitsWith2) {
  const TempDir empty;
  for (const char* command : {"verify", "head", "show"}) {
    EXPECT_EQ(Audit({command, dir_.Path("none")}).exit_code, 2) << command;
    EXPECT_EQ(Audit({command, empty.path()}).exit_code, 2) << command;
    EXPECT_EQ(Audit({command, "/dev/null"}).exit_code, 2) << command;
  }
  EXPECT_EQ(Audit({"verify", dir_.path(), At(1)}).exit_code, 2);
  EXPECT_EQ(Audit({"verify"}).exit_code, 2);
  ASSERT_EQ(::mkfifo(dir_.Path("fifo").c_str(), 0600), 0);
  const SubprocessResult fifo = Audit({"verify", dir_.Path("fifo")});
  EXPECT_EQ(fifo.exit_code, 2);
  EXPECT_THAT(fifo.err, HasSubstr("no regular file"));
  const SubprocessResult name = Audit({"verify", "/no/\x1b[2J"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("\\x1b[2J"));
}

TEST_F(CliAuditTest, ShowsATable) {
  const SubprocessResult result = Audit({"show", dir_.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("SEQ  TIME"));
  EXPECT_THAT(result.out,
              HasSubstr("2    2025-01-31T01:00:00.000000Z  run    uid:1000  "
                        "python    OK           0        12.3 ms  run-1  "
                        "task=7\n"));
  EXPECT_THAT(result.out, HasSubstr("SIGSEGV"));
  EXPECT_THAT(result.out, HasSubstr("SHUTTING_DOWN"));
  EXPECT_THAT(result.out, HasSubstr("0.1.0"));
}

TEST_F(CliAuditTest, ShowsCommandsSessionsAndConsent) {
  WriteFile(At(head_.seq + 1),
            Line("session_created",
                 {{"session_id", "ses-1"}, {"caller", "uid:1000"}}) +
                Line("exec", {{"exec_id", "exec-1"},
                              {"caller", "uid:1000"},
                              {"session_id", "ses-1"},
                              {"outcome", "NONZERO_EXIT"},
                              {"exit_code", 3},
                              {"usage", {{"wall_us", 12'300}}}}) +
                Line("session_ended", {{"session_id", "ses-1"},
                                       {"caller", "uid:1000"},
                                       {"reason", "SESSION_DELETED"},
                                       {"by", "uid:0"}}) +
                Line("approval_given",
                     {{"approval_id", "appr-1"}, {"approver", "uid:0"}}) +
                Line("policy", {{"added", {"gate", "slim"}},
                                {"changed", Json::array()},
                                {"removed", {"old"}}}));
  const SubprocessResult session =
      Audit({"show", dir_.path(), "--session", "ses-1"});
  EXPECT_THAT(session.out,
              AllOf(HasSubstr("session_created  uid:1000"),
                    HasSubstr("NONZERO_EXIT  3     12.3 ms  exec-1  ses-1\n"),
                    HasSubstr("ses-1 by=uid:0 SESSION_DELETED\n"),
                    Not(HasSubstr("run-1"))));
  EXPECT_THAT(Audit({"show", dir_.path(), "--run", "exec-1"}).out,
              AllOf(HasSubstr("exec-1"), Not(HasSubstr("session_ended"))));
  EXPECT_THAT(Audit({"show", dir_.path(), "--event", "approval_given"}).out,
              HasSubstr("appr-1 approver=uid:0\n"));
  EXPECT_THAT(Audit({"show", dir_.path(), "--event", "policy"}).out,
              HasSubstr("added=gate added=slim removed=old\n"));
}

TEST_F(CliAuditTest, ShowsWhatIsAskedFor) {
  const auto runs = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"show", dir_.path(), "--json"});
    const SubprocessResult result = Audit(std::move(flags));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::string ids;
    for (size_t at = 0; at < result.out.size();) {
      const size_t end = result.out.find('\n', at);
      const Json entry = Json::parse(result.out.substr(at, end - at));
      absl::StrAppend(&ids, entry["seq"].get<int>(), " ");
      at = end + 1;
    }
    return ids;
  };
  EXPECT_EQ(runs({}), "1 2 3 4 ");
  EXPECT_EQ(runs({"--event", "run"}), "2 3 4 ");
  EXPECT_EQ(runs({"--event", "start"}), "1 ");
  EXPECT_EQ(runs({"--caller", "uid:1000"}), "2 4 ");
  EXPECT_EQ(runs({"--lang", "bash"}), "3 4 ");
  EXPECT_EQ(runs({"--outcome", "signaled"}), "3 ");
  EXPECT_EQ(runs({"--outcome", "unavailable"}), "4 ");
  EXPECT_EQ(runs({"--run", "run-1"}), "2 ");
  EXPECT_EQ(runs({"--last", "2"}), "3 4 ");
  EXPECT_EQ(runs({"--last", "1", "--lang", "python"}), "2 ");
  EXPECT_EQ(runs({"--since", "2025-01-31 01:00"}), "2 3 4 ");
  EXPECT_EQ(runs({"--until", "2025-01-31T01:00:00Z"}), "1 ");
  EXPECT_EQ(runs({"--since", "2025-01-31T00:30:00Z", "--until",
                  "2025-01-31T02:00:00Z"}),
            "2 ");
  EXPECT_EQ(runs({"--since", "1h"}), "");
  EXPECT_EQ(runs({"--caller", "uid:1", "--lang", "bash"}), "");
}

TEST_F(CliAuditTest, SaysWhatTheTableLeavesOut) {
  std::string more;
  const uint64_t first = head_.seq + 1;
  for (int i = 0; i < 150; ++i) more += Line("run", {{"run_id", "many"}});
  WriteFile(At(first), more);
  const SubprocessResult result = Audit({"show", dir_.path()});
  EXPECT_THAT(result.err, HasSubstr("54 earlier lines are not shown"));
  EXPECT_THAT(result.out, Not(HasSubstr("run-1")));
  const SubprocessResult all = Audit({"show", dir_.path(), "--last", "1000"});
  EXPECT_THAT(all.err, IsEmpty());
  EXPECT_THAT(all.out, HasSubstr("run-1"));
}

TEST_F(CliAuditTest, TheFilesContentIsHarmless) {
  // Escapes that JSON undoes, values of other types, no JSON, raw bytes.
  std::string hostile =
      Line("run", {{"run_id", "\x1b[2J\n\xc2\x9b"},
                   {"caller", 7},
                   {"lang", {{"a", Json::array()}}},
                   {"outcome", nullptr},
                   {"usage", {{"wall_us", "x"}}},
                   {"labels", {{"a", 1}, {"b", "\xe2\x80\xae"}}},
                   {"reason", std::string(500, 'r')}});
  const auto raw = [&](const std::string& body) {
    return policy::MakeAuditLine(body, absl::UnixEpoch(), head_);
  };
  hostile += raw("\"event\":\"run\",not json");
  hostile += raw("\"event\":\"run\",\"x\":\"\x1b[2J\"");
  hostile += raw("\"event\":\"run\",\"deep\":" + std::string(1 << 20, '['));
  hostile += raw("\"event\":\"run\",\"deep\":" + std::string(1 << 20, '[') +
                 std::string(1 << 20, ']'));
  hostile += raw("\"event\":\"run\",\"usage\":{\"wall_us\":1e999}");
  WriteFile(At(5), hostile);
  for (const bool json : {false, true}) {
    std::vector<std::string> args = {"show", dir_.path()};
    if (json) args.push_back("--json");
    const SubprocessResult result = Audit(args);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("are no JSON and are not shown"));
    EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(result.out, Not(HasSubstr("\xc2\x9b")));
    EXPECT_THAT(result.out, Not(HasSubstr("\xe2\x80\xae")));
  }
  WriteFile(At(5),
            std::string("\x1b[2J\n\0\xff", 7) + std::string(9 << 20, 'x'));
  const SubprocessResult junk = Audit({"verify", dir_.path()});
  EXPECT_EQ(junk.exit_code, 1);
  EXPECT_THAT(junk.out, Not(HasSubstr("\x1b")));
  const SubprocessResult shown = Audit({"show", dir_.path()});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_THAT(shown.out, HasSubstr("run-3"));
  EXPECT_THAT(shown.err, HasSubstr("not as it was written"));
}

}  // namespace
}  // namespace sandglass::client
