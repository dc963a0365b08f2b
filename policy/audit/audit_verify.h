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

// Something that is not as a log should be, or a fact worth knowing.
struct AuditFinding {
  enum class Kind { kNote, kTampering };
  Kind kind = Kind::kNote;
  std::string file;   // as given to BeginFile; empty: the log as a whole
  uint64_t line = 0;  // of the file, from 1; 0: the file as a whole
  std::string what;   // plain words, printable ASCII
};

struct AuditReport {
  static constexpr size_t kMostFindings = 1000;

  uint64_t lines = 0;      // that have a line's form
  uint64_t first_seq = 0;  // 0: there is none
  std::string first_time;
  std::string last_time;
  AuditHead head;  // of the last line that has its place in the chain
  // In their order, at most kMostFindings of them; all are counted.
  std::vector<AuditFinding> findings;
  uint64_t notes = 0;
  uint64_t tampering = 0;
};

// Looks whether a log is as it was written: finds lines that were altered,
// removed, moved, inserted or cut off, wrong sequence numbers, and files under
// other names. What it can't find by itself is that the last lines are missing
// as a whole, or that all was written anew from some line on: for that it takes
// a head which was kept elsewhere.
//
// Files come in the order of their sequence numbers and may be of any size;
// what is held of them is one line. Their content may be anything. A log may
// begin with any number, since the oldest files may have been deleted; that is
// a note. So is what a crash left of a line, when the line after it is
// "recovered" and names the size and SHA-256 of those bytes.
class AuditVerifier {
 public:
  // `line` is without its newline and has a line's form.
  using Visit =
      std::function<void(absl::string_view line, const AuditLine& parts)>;

  // With `exported` the log must have that line. `visit` sees each line.
  explicit AuditVerifier(std::optional<AuditHead> exported = std::nullopt,
                         Visit visit = nullptr)
      : exported_(std::move(exported)), visit_(std::move(visit)) {}

  // Each file in three steps; Add as often as there are pieces. `name` may be a
  // path. A name of AuditFileName's form must say the file's first line.
  void BeginFile(const std::string& name);
  void Add(absl::string_view bytes);
  void EndFile();

  // Call once, last.
  AuditReport Finish();

 private:
  enum class End { kNewline, kNone };
  void TakeLine(absl::string_view line, End end);
  void TakeFragment(absl::string_view line);
  void TakeWhole(absl::string_view line, const AuditLine& parts);
  void CheckFirstOfFile(const AuditLine& parts);
  // False when the line does not have this place in the chain.
  bool CheckPlace(const AuditLine& parts);
  void CheckExported(const AuditLine& parts);
  bool IsRecovery(const AuditLine& parts) const;
  // What was no line and is explained by nothing.
  void CondemnFragments();
  void CheckHead();
  void Say(AuditFinding::Kind kind, std::string what);
  void SayAt(AuditFinding::Kind kind, std::string file, uint64_t line,
             std::string what);

  const std::optional<AuditHead> exported_;
  const Visit visit_;
  AuditReport report_;

  std::string file_;
  uint64_t line_ = 0;
  bool first_of_file_ = false;
  std::string partial_;    // the beginning of a line
  bool too_long_ = false;  // and the rest of it is passed over

  // Lines one after another that have no line's form, joined by newlines.
  std::string torn_;
  std::vector<uint64_t> torn_lines_;

  // Gaps: first and last number that is missing.
  std::map<uint64_t, uint64_t> missing_;
  bool found_exported_ = false;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_AUDIT_AUDIT_VERIFY_H_
