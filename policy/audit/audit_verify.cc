#include "policy/audit/audit_verify.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sandglass::policy {
namespace {

using Kind = AuditFinding::Kind;

// A crash leaves at most one line, and a second crash right after it a part of
// another.
constexpr size_t kMaxTornBytes = 2 * kMaxAuditLineBytes;
// In a file that was made to have more gaps, we only say "inserted" where it
// should be "moved".
constexpr size_t kMaxGaps = 100'000;

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Returns true if `seq` was missing, and removes it from `missing`.
bool RemoveMissing(uint64_t seq, std::map<uint64_t, uint64_t>& missing) {
  auto gap = missing.upper_bound(seq);
  if (gap == missing.begin()) return false;
  --gap;
  const auto [first, last] = *gap;
  if (seq > last) return false;
  missing.erase(gap);
  if (first < seq) missing[first] = seq - 1;
  if (seq < last) missing[seq + 1] = last;
  return true;
}

std::string Lines(uint64_t first, uint64_t last) {
  return first == last
             ? absl::StrCat("line ", first, " of the log is")
             : absl::StrCat("lines ", first, " to ", last, " of the log are");
}

}  // namespace

void AuditVerifier::BeginFile(const std::string& name) {
  file_ = name;
  line_ = 0;
  first_of_file_ = true;
}

void AuditVerifier::Add(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const absl::string_view piece = bytes.substr(0, newline);
    if (!too_long_ && partial_.size() + piece.size() >= kMaxAuditLineBytes) {
      too_long_ = true;
      CondemnFragments();
      AddFindingAt(Kind::kTampering, file_, line_ + 1,
                   "is longer than any line of an audit log");
      partial_.clear();
    }
    if (newline == absl::string_view::npos) {
      if (!too_long_) partial_.append(piece.data(), piece.size());
      return;
    }
    bytes.remove_prefix(newline + 1);
    if (too_long_) {
      too_long_ = false;
      ++line_;
    } else if (partial_.empty()) {
      CheckLine(piece, End::kNewline);
    } else {
      partial_.append(piece.data(), piece.size());
      CheckLine(std::exchange(partial_, std::string()), End::kNewline);
    }
  }
}

void AuditVerifier::EndFile() {
  if (!partial_.empty()) {
    CheckLine(std::exchange(partial_, std::string()), End::kNone);
  }
  too_long_ = false;
  CondemnFragments();
}

void AuditVerifier::CheckLine(absl::string_view line, End end) {
  ++line_;
  const std::optional<AuditLine> parts = ReadAuditLine(line);
  if (parts) {
    CheckWholeLine(line, *parts);
    if (end == End::kNone) AddFinding(Kind::kNote, "has no newline at its end");
  } else if (end == End::kNewline) {
    CheckFragment(line);
  } else {
    CondemnFragments();
    AddFinding(
        Kind::kTampering,
        "the file ends within this line, which is cut off (a daemon that is "
        "writing right now ends it in a moment; one that crashed does when it "
        "starts again)");
  }
}

void AuditVerifier::CheckFragment(absl::string_view line) {
  if (torn_.size() + line.size() > kMaxTornBytes) CondemnFragments();
  if (!torn_lines_.empty()) torn_.push_back('\n');
  torn_.append(line.data(), line.size());
  torn_lines_.push_back(line_);
}

void AuditVerifier::CondemnFragments() {
  for (const uint64_t line : torn_lines_) {
    AddFindingAt(Kind::kTampering, file_, line,
                 "is no line of an audit log: altered, inserted or cut off");
  }
  torn_lines_.clear();
  torn_.clear();
}

bool AuditVerifier::IsRecovery(const AuditLine& parts) const {
  if (torn_lines_.empty() || parts.event != "recovered") return false;
  if (report_.first_seq != 0 &&
      (parts.seq != report_.head.seq + 1 || parts.prev != report_.head.hash)) {
    return false;
  }
  const std::string body = RecoveredBody(torn_);
  return absl::StartsWith(parts.body, body) &&
         (parts.body.size() == body.size() || parts.body[body.size()] == ',');
}

void AuditVerifier::CheckWholeLine(absl::string_view line,
                                   const AuditLine& parts) {
  const std::string hash = HashOfAuditLine(line);
  const bool intact = hash == parts.hash;
  if (intact && IsRecovery(parts)) {
    AddFindingAt(
        Kind::kNote, file_, torn_lines_.front(),
        absl::StrCat("is what a crash left of a line (", torn_.size(),
                     " bytes); line ", parts.seq, " of the log says so"));
    torn_lines_.clear();
    torn_.clear();
  }
  CondemnFragments();
  ++report_.lines;
  if (first_of_file_) CheckFirstOfFile(parts);
  first_of_file_ = false;
  if (!intact) {
    AddFinding(
        Kind::kTampering,
        absl::StrCat("line ", parts.seq,
                     " of the log was altered: the hash of its bytes is ", hash,
                     ", not ", parts.hash));
  } else {
    CheckExported(parts);
  }
  const bool next = report_.first_seq == 0 || parts.seq == report_.head.seq + 1;
  // In an altered line nothing is certain, but the next line contains its hash.
  if (intact ? CheckPlace(parts) : next) {
    if (report_.first_seq == 0) {
      report_.first_seq = parts.seq;
      report_.first_time = std::string(parts.time);
    }
    report_.head = {parts.seq, std::string(parts.hash)};
    report_.last_time = std::string(parts.time);
  }
  if (visit_) visit_(line, parts);
}

void AuditVerifier::CheckFirstOfFile(const AuditLine& parts) {
  const std::optional<uint64_t> named = ParseAuditFileName(BaseName(file_));
  if (named && *named != parts.seq) {
    AddFinding(Kind::kTampering,
               absl::StrCat("by its name the file begins with line ", *named,
                            " of the log; it begins with ", parts.seq));
  }
}

bool AuditVerifier::CheckPlace(const AuditLine& parts) {
  const AuditHead& head = report_.head;
  if (report_.first_seq == 0) {
    if (parts.seq > 1) {
      AddFinding(Kind::kNote,
                 absl::StrCat("the log begins with its line ", parts.seq,
                              "; what came before is not here"));
    } else if (parts.prev != AuditHead().hash) {
      AddFinding(Kind::kTampering,
                 "line 1 of the log names a line before it; there is none");
    }
    return true;
  }
  if (parts.seq == head.seq + 1) {
    if (parts.prev != head.hash) {
      AddFinding(Kind::kTampering,
                 absl::StrCat("line ", parts.seq, " of the log follows a line ",
                              head.seq, " with the hash ", parts.prev,
                              ", not the one before it, which has ", head.hash,
                              ": one of them was replaced or inserted"));
    }
    return true;
  }
  if (parts.seq > head.seq) {
    AddFinding(Kind::kTampering,
               absl::StrCat(Lines(head.seq + 1, parts.seq - 1),
                            " missing before line ", parts.seq));
    if (missing_.size() < kMaxGaps) missing_[head.seq + 1] = parts.seq - 1;
    return true;
  }
  AddFinding(Kind::kTampering,
             absl::StrCat("line ", parts.seq, " of the log stands after line ",
                          head.seq, ": it was ",
                          RemoveMissing(parts.seq, missing_)
                              ? "moved"
                              : "inserted or repeated"));
  return false;
}

void AuditVerifier::CheckExported(const AuditLine& parts) {
  if (!exported_ || parts.seq != exported_->seq) return;
  if (parts.hash == exported_->hash) {
    found_exported_ = true;
    return;
  }
  AddFinding(
      Kind::kTampering,
      absl::StrCat("line ", parts.seq,
                   " of the log is another than the exported one: its hash is ",
                   parts.hash, ", not ", exported_->hash,
                   ": the log was written anew"));
}

void AuditVerifier::CheckHead() {
  if (!exported_ || found_exported_) return;
  const uint64_t seq = exported_->seq;
  std::string what;
  if (seq == 0) {
    // The exported head is from before the first line.
    if (report_.first_seq <= 1) return;
    what = absl::StrCat("the log begins with line ", report_.first_seq,
                        "; its first lines are missing");
  } else if (report_.head.seq < seq) {
    what = absl::StrCat("the log ends with line ", report_.head.seq,
                        "; it had a line ", seq,
                        " when the head was exported: the end was cut off");
  } else {
    what = absl::StrCat("line ", seq,
                        " of the log, the exported one, is not here with the "
                        "exported hash");
  }
  AddFindingAt(Kind::kTampering, "", 0, std::move(what));
}

AuditReport AuditVerifier::Finish() {
  CheckHead();
  return std::move(report_);
}

void AuditVerifier::AddFinding(Kind kind, std::string what) {
  AddFindingAt(kind, file_, line_, std::move(what));
}

void AuditVerifier::AddFindingAt(Kind kind, std::string file, uint64_t line,
                                 std::string what) {
  ++(kind == Kind::kNote ? report_.notes : report_.tampering);
  if (report_.findings.size() >= AuditReport::kMaxFindings) return;
  report_.findings.push_back({kind, std::move(file), line, std::move(what)});
}

}  // namespace sandglass::policy
