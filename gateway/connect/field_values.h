#ifndef SANDGLASS_GATEWAY_CONNECT_FIELD_VALUES_H_
#define SANDGLASS_GATEWAY_CONNECT_FIELD_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

// Values of JSON as values of a message's fields, by protobuf's JSON mapping.
namespace sandglass::gateway {

// Whether JSON has the message as a string: a Timestamp or a Duration.
bool IsTime(const google::protobuf::Descriptor& type);

// What one value of the field has to be, for messages: "a whole number from 0
// to 4294967295".
std::string ExpectedOf(const google::protobuf::FieldDescriptor& field);

// A number of JSON: whole ones that 64 bits hold as they are, others as double.
using JsonNumber = std::variant<int64_t, uint64_t, double>;

// Each of these sets the field, or adds to it where it is repeated. False when
// the value isn't one of the field's, which is then as it was: of another type,
// out of its range, a name that its enum doesn't have, no base64, no time.
bool PutNumber(google::protobuf::Message& message,
               const google::protobuf::FieldDescriptor& field,
               JsonNumber number);
bool PutBool(google::protobuf::Message& message,
             const google::protobuf::FieldDescriptor& field, bool value);
// `text` is UTF-8. Also takes numbers of integer fields, as protobuf writes
// those of 64 bits.
bool PutString(google::protobuf::Message& message,
               const google::protobuf::FieldDescriptor& field,
               std::string text);
// The key of a map's entry, which is a string whatever its type.
bool PutKey(google::protobuf::Message& entry,
            const google::protobuf::FieldDescriptor& key, std::string text);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_FIELD_VALUES_H_
