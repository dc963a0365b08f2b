#ifndef SANDGLASS_SANDBOX_YARD_TEMPLATE_LEDGER_H_
#define SANDGLASS_SANDBOX_YARD_TEMPLATE_LEDGER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/jail_template.h"

namespace sandglass::sandbox {

// A file in memory with the jail templates that came after the yards' start.
// Root writes to it and spawners read it. Nothing is ever removed from it: what
// was promised to a run must still hold when its jail is asked for. The server
// has neither end of it.
class TemplateLedger {
 public:
  // The bound keeps the ledger from growing for ever; Append fails beyond it.
  static constexpr size_t kMaxTemplates = 4096;

  static absl::StatusOr<TemplateLedger> Create();

  // A descriptor for spawners: it can only be read, and can't be opened anew
  // for anything else.
  absl::StatusOr<os::Fd> ReadingEnd() const;

  const os::Fd& file() const { return file_; }

  // Adds those templates whose names are new, either all of them or none.
  // RESOURCE_EXHAUSTED: there would be more than kMaxTemplates.
  absl::Status Append(const std::vector<JailTemplate>& templates);

 private:
  explicit TemplateLedger(os::Fd file) : file_(std::move(file)) {}

  os::Fd file_;
  size_t size_ = 0;
  std::vector<std::string> names_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_TEMPLATE_LEDGER_H_
