#ifndef SANDGLASS_SANDBOX_OS_STATUS_H_
#define SANDGLASS_SANDBOX_OS_STATUS_H_

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sandglass::os {

// The text for an errno value. Safe to call from several threads, which the
// standard doesn't promise of strerror(3).
inline std::string ErrorText(int error) {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : absl::StrCat("error ", error);
}

// The status of a failed system call: `what`, then the error's text. It reads
// errno, so call it right after the failure.
template <typename... Parts>
absl::Status ErrnoStatus(const Parts&... what) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what...));
}

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_STATUS_H_
