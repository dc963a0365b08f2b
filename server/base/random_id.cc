#include "server/base/random_id.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/random.h"

namespace sandglass::server {

std::string RandomId(absl::string_view prefix, size_t bytes) {
  std::string random(bytes, '\0');
  while (!os::FillRandom(random.data(), random.size())) {
  }
  return absl::StrCat(prefix, absl::BytesToHexString(random));
}

}  // namespace sandglass::server
