#ifndef SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_
#define SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The templates by which a yard's jails can be made: those that the yard
// started with, and those that root has appended to the ledger since
// (sandbox/yard/template_ledger.h).
class TemplateBook {
 public:
  // Without a ledger (an invalid descriptor) there are only those of `config`.
  TemplateBook(const internal::SpawnerConfig& config, os::Fd ledger);

  // nullptr when there is no template of that name. The pointer is valid as
  // long as the book lives.
  const internal::Template* Find(const std::string& name);

 private:
  // Reads the records that were appended since the last call. A record that is
  // only partly there is left for a later call.
  void ReadOn();

  void Add(internal::Template added);

  const bool caps_disks_;  // whether the host can cap disk I/O
  std::map<std::string, internal::Template> templates_;
  os::Fd ledger_;
  off_t read_ = 0;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_TEMPLATE_BOOK_H_
