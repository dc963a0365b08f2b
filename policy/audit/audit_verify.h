#ifndef SANDGLASS_POLICY_AUDIT_AUDIT_VERIFY_H_
#define SANDGLASS_POLICY_AUDIT_AUDIT_VERIFY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "policy/audit/audit_chain.h"

namespace sandglass::policy {

// Something in a log that isn't as it should be, or a fact worth knowing.
struct AuditFinding {
  enum class Kind { kNote, kTampering };
  Kind kind = Kind::kNote;
  std::string file;   // as given to BeginFile; empty: the whole log
  uint64_t line = 0;  // in the file, from 1; 0: the whole file
  std::string what;   // plain words, printable ASCII
};

struct AuditReport {
  static constexpr size_t kMaxFindings = 1000;

  uint64_t lines = 0;      // lines of the right form
  uint64_t first_seq = 0;  // 0: there is none
  std::string first_time;
  std::string last_time;
  AuditHead head;  // of the last line that is in its place in the chain
  // In their order, at most kMaxFindings; the counts below include all.
  std::vector<AuditFinding> findings;
  uint64_t notes = 0;
  uint64_t tampering = 0;
};

// Checks that a log is as it was written: it finds lines that were altered,
// removed, moved, inserted or cut off, wrong sequence numbers, and files under
// other names. By itself it can't find that the last lines are missing as a
// whole, or that everything was rewritten from some line on: for that it needs
// a head that was kept elsewhere.
//
// Files are passed in the order of their sequence numbers and may be of any
// size; at most one line is held in memory. Their content may be anything. A
// log may begin with any number, since the oldest files may have been deleted;
// that is only a note. So is an incomplete line after a crash, if the line
// after it is "recovered" and has the size and SHA-256 of the left-over bytes.
class AuditVerifier {
 public:
  // `line` has no newline and is of a line's form.
  using Visit =
      std::function<void(absl::string_view line, const AuditLine& parts)>;

  // With `exported`, the log must contain that line. `visit` is called for each
  // line.
  explicit AuditVerifier(std::optional<AuditHead> exported = std::nullopt,
                         Visit visit = nullptr)
      : exported_(std::move(exported)), visit_(std::move(visit)) {}

  // Each file takes three steps; call Add for each piece of it. `name` may be a
  // path. If it is of AuditFileName's form, it must state the file's first
  // line.
  void BeginFile(const std::string& name);
  void Add(absl::string_view bytes);
  void EndFile();

  // Call once, last.
  AuditReport Finish();

 private:
  enum class End { kNewline, kNone };
  void CheckLine(absl::string_view line, End end);
  void CheckFragment(absl::string_view line);
  void CheckWholeLine(absl::string_view line, const AuditLine& parts);
  void CheckFirstOfFile(const AuditLine& parts);
  // Returns false when the line isn't in its place in the chain.
  bool CheckPlace(const AuditLine& parts);
  void CheckExported(const AuditLine& parts);
  bool IsRecovery(const AuditLine& parts) const;
  // Reports the fragments that weren't lines and that nothing explains.
  void CondemnFragments();
  void CheckHead();
  void AddFinding(AuditFinding::Kind kind, std::string what);
  void AddFindingAt(AuditFinding::Kind kind, std::string file, uint64_t line,
                    std::string what);

  const std::optional<AuditHead> exported_;
  const Visit visit_;
  AuditReport report_;

  std::string file_;
  uint64_t line_ = 0;
  bool first_of_file_ = false;
  std::string partial_;    // the beginning of an incomplete line
  bool too_long_ = false;  // its rest is then skipped

  // Consecutive lines that aren't of a line's form, joined by newlines.
  std::string torn_;
  std::vector<uint64_t> torn_lines_;

  // Gaps: the first and the last missing number of each.
  std::map<uint64_t, uint64_t> missing_;
  bool found_exported_ = false;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_AUDIT_AUDIT_VERIFY_H_
