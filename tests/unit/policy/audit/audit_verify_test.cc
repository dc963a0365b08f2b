#include "policy/audit/audit_verify.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;  // with their newlines
using Kind = AuditFinding::Kind;

std::string MakeLine(AuditHead& head, const std::string& name) {
  const auto body = AuditBody("run", {{"run_id", name}});
  return MakeAuditLine(body.value(),
                       absl::UnixEpoch() + absl::Seconds(head.seq), head);
}

// A log of `count` lines.
Lines MakeLog(size_t count, AuditHead* end = nullptr) {
  AuditHead head;
  Lines lines;
  for (size_t i = 1; i <= count; ++i) {
    lines.push_back(MakeLine(head, absl::StrCat("run-", i)));
  }
  if (end != nullptr) *end = head;
  return lines;
}

std::string Joined(const Lines& lines) { return absl::StrJoin(lines, ""); }

std::string WithoutNewline(std::string line) {
  line.pop_back();
  return line;
}

// The head that a line makes.
AuditHead HeadOf(const std::string& line) {
  const std::string bare = WithoutNewline(line);
  const auto parts = ReadAuditLine(bare);
  return {parts->seq, std::string(parts->hash)};
}

AuditReport Verify(const std::string& text,
                   std::optional<AuditHead> exported = std::nullopt,
                   size_t piece = std::string::npos) {
  AuditVerifier verifier(std::move(exported));
  verifier.BeginFile("log");
  for (size_t at = 0; at < text.size(); at += std::min(piece, text.size())) {
    verifier.Add(absl::string_view(text).substr(at, piece));
  }
  verifier.EndFile();
  return verifier.Finish();
}

// "tampering log:3: …" for each finding.
Lines Found(const AuditReport& report) {
  Lines found;
  for (const AuditFinding& finding : report.findings) {
    found.push_back(
        absl::StrCat(finding.kind == Kind::kNote ? "note " : "tampering ",
                     finding.file, ":", finding.line, ": ", finding.what));
  }
  return found;
}

TEST(AuditVerify, AGoodLogIsGoodInPiecesOfAnySize) {
  AuditHead end;
  const std::string text = Joined(MakeLog(5, &end));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{100}, text.size()}) {
    const AuditReport report = Verify(text, end, piece);
    EXPECT_THAT(Found(report), IsEmpty());
    EXPECT_EQ(report.lines, 5u);
    EXPECT_EQ(report.first_seq, 1u);
    EXPECT_EQ(report.head, end);
    EXPECT_EQ(report.first_time, "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(report.last_time, "1970-01-01T00:00:04.000000Z");
    EXPECT_EQ(report.tampering, 0u);
  }
}

TEST(AuditVerify, AnEmptyLogIsGood) {
  const AuditReport report = Verify("");
  EXPECT_THAT(Found(report), IsEmpty());
  EXPECT_EQ(report.lines, 0u);
  EXPECT_EQ(report.head, AuditHead());
  EXPECT_EQ(Verify("", AuditHead()).tampering, 0u);
}

TEST(AuditVerify, EveryAlteredByteIsFound) {
  const Lines lines = MakeLog(3);
  const std::string text = Joined(lines);
  const size_t begin = lines[0].size();
  for (size_t i = 0; i < lines[1].size(); ++i) {
    for (const char other : {'0', 'x', '\n', '\0', '\xff'}) {
      std::string altered = text;
      if (altered[begin + i] == other) continue;
      altered[begin + i] = other;
      EXPECT_GT(Verify(altered).tampering, 0u) << i << " " << int{other};
    }
  }
}

TEST(AuditVerify, AnAlteredLineIsNamed) {
  Lines lines = MakeLog(4);
  lines[1].replace(lines[1].find("run-2"), 5, "run-9");
  EXPECT_THAT(Found(Verify(Joined(lines))),
              ElementsAre(AllOf(HasSubstr("tampering log:2: line 2 of the log "
                                          "was altered"))));
}

TEST(AuditVerify, AnAlteredLineWithANewSumDoesNotFit) {
  Lines lines = MakeLog(4);
  AuditHead head = HeadOf(lines[0]);
  lines[1] = MakeLine(head, "another");
  EXPECT_THAT(
      Found(Verify(Joined(lines))),
      ElementsAre(HasSubstr("tampering log:3: line 3 of the log follows "
                            "a line 2 with the hash")));
}

TEST(AuditVerify, ARemovedLineIsMissing) {
  Lines lines = MakeLog(6);
  lines.erase(lines.begin() + 2, lines.begin() + 4);
  EXPECT_THAT(Found(Verify(Joined(lines))),
              ElementsAre(HasSubstr("tampering log:3: lines 3 to 4 of the log "
                                    "are missing before line 5")));
  lines = MakeLog(3);
  lines.erase(lines.begin() + 1);
  EXPECT_THAT(
      Found(Verify(Joined(lines))),
      ElementsAre(HasSubstr("line 2 of the log is missing before line 3")));
}

TEST(AuditVerify, AMovedLineIsFound) {
  Lines lines = MakeLog(5);
  std::swap(lines[2], lines[3]);
  EXPECT_THAT(Found(Verify(Joined(lines))),
              ElementsAre(HasSubstr("line 3 of the log is missing"),
                          HasSubstr("tampering log:4: line 3 of the log stands "
                                    "after line 4: it was moved")));
}

TEST(AuditVerify, AnInsertedOrRepeatedLineIsFound) {
  Lines lines = MakeLog(3);
  lines.insert(lines.begin() + 2, lines[0]);
  EXPECT_THAT(Found(Verify(Joined(lines))),
              ElementsAre(HasSubstr("tampering log:3: line 1 of the log stands "
                                    "after line 2: it was inserted or "
                                    "repeated")));
  // One that was made to fit what comes before it.
  lines = MakeLog(3);
  AuditHead head = HeadOf(lines[1]);
  lines.insert(lines.begin() + 2, MakeLine(head, "forged"));
  EXPECT_EQ(Verify(Joined(lines)).tampering, 1u);
  lines = MakeLog(3);
  lines.insert(lines.begin() + 1, "{}\n");
  lines.insert(lines.begin() + 1, "\n");
  EXPECT_THAT(
      Found(Verify(Joined(lines))),
      ElementsAre(HasSubstr("tampering log:2: is no line of an audit log"),
                  HasSubstr("tampering log:3: is no line of an audit log")));
}

TEST(AuditVerify, ALineThatIsCutOffIsFound) {
  const Lines lines = MakeLog(3);
  const std::string text = Joined(lines);
  const size_t last = lines[0].size() + lines[1].size();
  for (size_t size = last + 1; size < text.size() - 1; ++size) {
    const AuditReport report = Verify(text.substr(0, size));
    EXPECT_THAT(Found(report),
                ElementsAre(HasSubstr("tampering log:3: the file ends within "
                                      "this line")))
        << size;
    EXPECT_EQ(report.head.seq, 2u);
  }
  // Nothing of the line itself is missing.
  EXPECT_THAT(Found(Verify(text.substr(0, text.size() - 1))),
              ElementsAre(HasSubstr("note log:3: has no newline")));
}

TEST(AuditVerify, TheBeginningMayBeGoneButNotTakenForTheFirst) {
  Lines lines = MakeLog(4);
  lines.erase(lines.begin(), lines.begin() + 2);
  const AuditReport report = Verify(Joined(lines));
  EXPECT_THAT(Found(report),
              ElementsAre(HasSubstr("note log:1: the log begins with its line "
                                    "3")));
  EXPECT_EQ(report.first_seq, 3u);
  AuditHead head{0, AuditHash("x")};
  EXPECT_THAT(Found(Verify(MakeLine(head, "a"))),
              ElementsAre(HasSubstr("line 1 of the log names a line before")));
}

TEST(AuditVerify, AnExportedHeadFindsACutEndAndALogMadeAnew) {
  AuditHead end;
  const Lines lines = MakeLog(5, &end);
  const AuditHead third = HeadOf(lines[2]);
  EXPECT_EQ(Verify(Joined(lines), third).tampering, 0u);
  EXPECT_THAT(
      Found(Verify(Joined({lines[0], lines[1], lines[2]}), end)),
      ElementsAre(HasSubstr("tampering :0: the log ends with line 3; it "
                            "had a line 5")));
  EXPECT_THAT(Found(Verify("", end)),
              ElementsAre(HasSubstr("the log ends with line 0")));
  AuditHead head;
  std::string anew;
  for (int i = 0; i < 6; ++i) anew += MakeLine(head, "other");
  EXPECT_EQ(Verify(anew).tampering, 0u);
  EXPECT_THAT(Found(Verify(anew, end)),
              ElementsAre(HasSubstr("tampering log:5: line 5 of the log is "
                                    "another than the exported one"),
                          HasSubstr("not here with the exported hash")));
  // Its file was deleted.
  EXPECT_THAT(Found(Verify(Joined({lines[3], lines[4]}), third)),
              ElementsAre(HasSubstr("note"), HasSubstr("not here")));
  EXPECT_THAT(Found(Verify(Joined({lines[3], lines[4]}), AuditHead())),
              ElementsAre(HasSubstr("note"), HasSubstr("first lines are "
                                                       "missing")));
}

TEST(AuditVerify, WhatACrashLeftIsANoteWhenTheNextLineNamesIt) {
  const Lines lines = MakeLog(2);
  for (const std::string& torn :
       {std::string("{\"seq\":3,\"ti"), std::string("{"),
        std::string("{\"seq\":3,\"ti\n{\"seq\":3,\"time\":")}) {
    AuditHead head = HeadOf(lines[1]);
    const std::string recovered =
        MakeAuditLine(RecoveredBody(torn), absl::UnixEpoch(), head);
    const std::string next = MakeLine(head, "next");
    const AuditReport report =
        Verify(absl::StrCat(Joined(lines), torn, "\n", recovered, next));
    EXPECT_THAT(Found(report),
                ElementsAre(HasSubstr(absl::StrCat(
                    "note log:3: is what a crash left of a line (", torn.size(),
                    " bytes); line 3 of the log says so"))));
    EXPECT_EQ(report.head, head);
    // Other bytes, or none.
    EXPECT_GT(Verify(absl::StrCat(Joined(lines), torn, "x\n", recovered, next))
                  .tampering,
              0u);
    EXPECT_EQ(Verify(absl::StrCat(Joined(lines), recovered, next)).tampering,
              0u);
    // Not right after it, and not by another event.
    EXPECT_GT(Verify(absl::StrCat(Joined(lines), recovered, torn, "\n", next))
                  .tampering,
              0u);
    AuditHead other = HeadOf(lines[1]);
    EXPECT_GT(
        Verify(absl::StrCat(Joined(lines), torn, "\n", MakeLine(other, "run")))
            .tampering,
        0u);
    // Of a line that doesn't follow.
    AuditHead stray{7, AuditHash("x")};
    EXPECT_GT(
        Verify(Joined(lines) + torn + "\n" +
               MakeAuditLine(RecoveredBody(torn), absl::UnixEpoch(), stray))
            .tampering,
        0u);
  }
}

TEST(AuditVerify, AnAlteredLineIsNoTornOne) {
  Lines lines = MakeLog(3);
  std::string altered = lines[2];
  altered.replace(altered.find("run-3"), 5, "run-9");
  AuditHead head = HeadOf(lines[1]);
  const std::string recovered = MakeAuditLine(
      RecoveredBody(WithoutNewline(altered)), absl::UnixEpoch(), head);
  EXPECT_GT(Verify(lines[0] + lines[1] + altered + recovered).tampering, 0u);
}

TEST(AuditVerify, TheChainGoesThroughFiles) {
  const Lines lines = MakeLog(5);
  const auto verify =
      [&](const std::vector<std::pair<std::string, std::string>>& files) {
        AuditVerifier verifier;
        for (const auto& [name, text] : files) {
          verifier.BeginFile(name);
          verifier.Add(text);
          verifier.EndFile();
        }
        return verifier.Finish();
      };
  const std::string first = "d/" + AuditFileName(1);
  const std::string third = "d/" + AuditFileName(3);
  const std::string fifth = "d/" + AuditFileName(5);
  EXPECT_THAT(Found(verify({{first, lines[0] + lines[1]},
                            {third, lines[2] + lines[3]},
                            {fifth, lines[4]},
                            {"d/" + AuditFileName(6), ""}})),
              IsEmpty());
  EXPECT_THAT(Found(verify({{first, lines[0] + lines[1]}, {fifth, lines[4]}})),
              ElementsAre(HasSubstr(
                  "tampering d/audit-0000000005.jsonl:1: lines 3 to 4 "
                  "of the log are missing")));
  EXPECT_THAT(
      Found(verify({{third, lines[0] + lines[1]}})),
      ElementsAre(HasSubstr("by its name the file begins with line 3")));
  // A line does not go on in the next file.
  const std::string half = lines[1].substr(0, 50);
  EXPECT_GT(verify({{first, lines[0] + half}, {third, lines[1].substr(50)}})
                .tampering,
            0u);
}

TEST(AuditVerify, OtherFilesAreNoLog) {
  EXPECT_GT(Verify(std::string(1000, '\0')).tampering, 0u);
  EXPECT_GT(Verify("PNG\r\n\x1a\n\n\n").tampering, 0u);
  const AuditReport many = Verify(std::string(100'000, '\n'));
  EXPECT_EQ(many.tampering, 100'000u);
  EXPECT_EQ(many.findings.size(), AuditReport::kMaxFindings);
}

TEST(AuditVerify, ALineWithoutEndTakesNoMemoryAndTheNextIsRead) {
  const Lines lines = MakeLog(2);
  AuditVerifier verifier;
  verifier.BeginFile("log");
  verifier.Add(lines[0]);
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) verifier.Add(piece);
  verifier.Add("\n" + lines[1]);
  verifier.EndFile();
  const AuditReport report = verifier.Finish();
  EXPECT_THAT(Found(report),
              ElementsAre(HasSubstr("tampering log:2: is longer than any")));
  EXPECT_EQ(report.lines, 2u);
}

TEST(AuditVerify, ShowsTheLinesToAVisitor) {
  const Lines lines = MakeLog(3);
  Lines seen;
  AuditVerifier verifier(std::nullopt,
                         [&](absl::string_view line, const AuditLine& parts) {
                           EXPECT_EQ(parts.seq, seen.size() + 1);
                           seen.push_back(absl::StrCat(line, "\n"));
                         });
  verifier.BeginFile("log");
  verifier.Add(Joined(lines) + "junk\n");
  verifier.EndFile();
  EXPECT_EQ(verifier.Finish().tampering, 1u);
  EXPECT_EQ(seen, lines);
}

}  // namespace
}  // namespace sandglass::policy
