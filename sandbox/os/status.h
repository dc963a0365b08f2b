#ifndef SANDGLASS_SANDBOX_OS_STATUS_H_
#define SANDGLASS_SANDBOX_OS_STATUS_H_

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sandglass::os {

// The status of a failed system call: "what: strerror". `error` defaults to
// errno, so call it first thing after the failure.
template <typename... Parts>
absl::Status ErrnoStatus(const Parts&... what) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what...));
}

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_STATUS_H_
