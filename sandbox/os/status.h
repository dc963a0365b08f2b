#ifndef SANDGLASS_SANDBOX_OS_STATUS_H_
#define SANDGLASS_SANDBOX_OS_STATUS_H_

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sandglass::os {

// The text of an errno value. Safe in threads, which strerror(3) is not by its
// standard.
inline std::string ErrorText(int error) {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : absl::StrCat("error ", error);
}

// The status of a failed system call: "what: strerror". `error` defaults to
// errno, so call it first thing after the failure.
template <typename... Parts>
absl::Status ErrnoStatus(const Parts&... what) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what...));
}

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_STATUS_H_
