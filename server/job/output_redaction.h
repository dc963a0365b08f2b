#ifndef SANDGLASS_SERVER_JOB_OUTPUT_REDACTION_H_
#define SANDGLASS_SERVER_JOB_OUTPUT_REDACTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policy/redaction/redaction.h"
#include "server/job/job.h"

namespace sandglass::server {

// Counts a stream of a program's and redacts it, where the profile wants that.
class OutputRedaction {
 public:
  // Null: nothing is redacted.
  explicit OutputRedaction(std::shared_ptr<const policy::Redactor> redactor);

  // What of the output may be told, valid until the next call or as long as
  // `data`. The rest waits while it may be the beginning of a match.
  std::string_view Take(std::string_view data);
  // What waited, now that no more comes; valid until the next call.
  std::string_view Rest();

  // What the program wrote.
  uint64_t taken_bytes() const { return taken_; }
  policy::RedactionCounts counts() const;

 private:
  std::optional<policy::StreamRedactor> redactor_;
  std::string told_;
  uint64_t taken_ = 0;
};

// Each as a text of its own. `counts` gets what was replaced. A null redactor
// leaves all as it is.
void RedactText(const policy::Redactor* redactor, std::string& text,
                policy::RedactionCounts& counts);
// What of it is text or JSON; images stay.
void RedactRich(const policy::Redactor* redactor, RichOutput& output,
                policy::RedactionCounts& counts);
void RedactError(const policy::Redactor* redactor, ErrorWords& error,
                 policy::RedactionCounts& counts);
// What was kept of a stream that was not redacted, or by other rules.
void RedactStream(const policy::Redactor* redactor, StreamResult& stream,
                  policy::RedactionCounts& counts);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_OUTPUT_REDACTION_H_
