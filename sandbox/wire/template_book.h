#ifndef SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_
#define SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The templates that jails of a yard can be made by: those it began with, and
// those that root has written to the ledger since
// (sandbox/yard/template_ledger.h).
class TemplateBook {
 public:
  // Without a ledger (an invalid descriptor) there are only the former.
  TemplateBook(const internal::SpawnerConfig& config, os::Fd ledger);

  // nullptr: there is none of that name. Good for as long as the book.
  const internal::Template* Find(const std::string& name);

 private:
  // Reads what was added since; a record that is only partly there comes
  // another time.
  void ReadOn();

  void Add(internal::Template added);

  const bool caps_disks_;  // the host can
  std::map<std::string, internal::Template> templates_;
  os::Fd ledger_;
  off_t read_ = 0;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_
