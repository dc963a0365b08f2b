#ifndef SANDGLASS_CLIENT_BASE_UNITS_H_
#define SANDGLASS_CLIENT_BASE_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace sandglass::client {

// Reads "5s", "500ms", "1m30s", "1.5h" or plain seconds ("5", "0.5"). From 1 ms
// to 30 days; INVALID_ARGUMENT for anything else. Fractions of a nanosecond,
// which messages can't represent, are cut off.
absl::StatusOr<absl::Duration> ParseTimeSpan(absl::string_view text);

// Reads "1048576", "512K", "256M", "1.5G", "256MiB" (in upper or lower case;
// units are powers of 1024). From 1 byte to 1 PiB. "MB" and the like are
// refused, since they are ambiguous. Fractions of a byte are cut off.
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);

// A time for people: "0.42 ms", "12.3 ms", "5.00 s", "125 s".
std::string FormatTimeSpan(absl::Duration duration);

// For times that people wait for, without fractions of a second: "2h5m".
std::string FormatLongTime(absl::Duration duration);

// A size for people: "512 B", "1.5 MiB", "256 MiB".
std::string FormatByteSize(uint64_t bytes);

absl::Duration FromProto(const google::protobuf::Duration& duration);
absl::Time FromProto(const google::protobuf::Timestamp& time);
google::protobuf::Duration ToProto(absl::Duration duration);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_UNITS_H_
