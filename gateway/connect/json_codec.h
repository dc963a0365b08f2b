#ifndef SANDGLASS_GATEWAY_CONNECT_JSON_CODEC_H_
#define SANDGLASS_GATEWAY_CONNECT_JSON_CODEC_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sandglass::gateway {

// What a request's JSON may have at most.
struct JsonBounds {
  size_t bytes = size_t{16} << 20;
  // Objects and lists inside each other, the outermost included.
  size_t depth = 32;
  // Values of all kinds. A value of two bytes may take a hundred in memory.
  size_t values = 100'000;
};

// Reads a request by protobuf's JSON mapping, strictly. INVALID_ARGUMENT with
// the place in the JSON and what was expected there, as a BadRequest too, for
//   - anything that isn't JSON (RFC 8259): other quotes, comments, a comma too
//     many, text behind the end, strings that aren't UTF-8, half of a surrogate
//     pair, NUL, also as "\u0000";
//   - more than `bounds` allow;
//   - a name that is given twice, also in its two spellings ("wallTime",
//     "wall_time"), two members of one oneof, and a name that the message
//     doesn't have, at any depth (docs/decisions/0060);
//   - a value of another type, a number that doesn't fit, base64, times and
//     names of enums that are none.
// null is as if the name weren't there. `type` has to be one of protobuf's
// generated pool. Time and memory are proportional to the text, and the stack
// doesn't grow with its depth.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> ReadJson(
    std::string_view json, const google::protobuf::Descriptor& type,
    const JsonBounds& bounds = {});

// Writes an answer, which came as a serialized message of `type`, in protobuf's
// JSON mapping: lowerCamelCase names, defaults left out, 64 bits as strings,
// bytes as base64. INTERNAL where the bytes are no such message.
//
// With `texts`, bytes that are UTF-8 are there as text, too, in fields that the
// schema has for them (Output.text, OutputFile.text, MimeData.text). They are
// only set where the request asks for them by the header "sandglass-text: 1" or
// the parameter "text=1" of its query. A client that knows this schema could
// always read them; but one that was generated from an earlier one and refuses
// names that it doesn't know, as Connect's clients do unless told otherwise,
// would fail on every answer, and every answer would be twice as long for those
// who decode base64 anyway.
absl::StatusOr<std::string> WriteJson(std::string_view message,
                                      const google::protobuf::Descriptor& type,
                                      bool texts);

// An empty message of a type of the generated pool.
std::unique_ptr<google::protobuf::Message> NewMessage(
    const google::protobuf::Descriptor& type);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_JSON_CODEC_H_
