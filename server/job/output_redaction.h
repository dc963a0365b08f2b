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

// Counts the bytes of one of a program's streams and redacts it, if the profile
// wants that.
class OutputRedaction {
 public:
  // With a null redactor nothing is redacted.
  explicit OutputRedaction(std::shared_ptr<const policy::Redactor> redactor);

  // Returns the part of the output that may be passed on, valid until the next
  // call or as long as `data`. The rest waits while it may be the beginning of
  // a match.
  std::string_view Feed(std::string_view data);
  // Returns what waited, when no more output comes; valid until the next call.
  std::string_view Rest();

  // How many bytes the program wrote.
  uint64_t taken_bytes() const { return taken_; }
  policy::RedactionCounts counts() const;

 private:
  std::optional<policy::StreamRedactor> redactor_;
  std::string told_;
  uint64_t taken_ = 0;
};

// Each of these redacts each text in its argument as one of its own, and adds
// what was replaced to `counts`. With a null redactor everything stays as it
// is.

// Redacts the data that is text or JSON; images stay.
void RedactRich(const policy::Redactor* redactor, RichOutput& output,
                policy::RedactionCounts& counts);
void RedactError(const policy::Redactor* redactor, ErrorWords& error,
                 policy::RedactionCounts& counts);
// Redacts what was kept of a stream that was not redacted yet, or only by other
// rules.
void RedactStream(const policy::Redactor* redactor, StreamResult& stream,
                  policy::RedactionCounts& counts);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_OUTPUT_REDACTION_H_
