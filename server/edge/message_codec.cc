#include "server/edge/message_codec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/base/version.h"
#include "server/edge/refused_message.h"

namespace sandglass::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// No message of the API is nested more deeply.
constexpr int kMaxDepth = 8;

// Walks through the raw fields of a message of `type` and notes strings that
// are not UTF-8. Returns false when the bytes are no protobuf at all.
bool FindBadStrings(const std::string& bytes, const Descriptor& type,
                    const std::string& prefix, int depth,
                    std::vector<policy::FieldViolation>& violations) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& raw = fields.field(i);
    const FieldDescriptor* field = type.FindFieldByNumber(raw.number());
    if (field == nullptr || raw.type() != UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    if (violations.size() >= kMaxViolations) return true;
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      if (!IsValidUtf8(raw.length_delimited())) {
        violations.push_back({path, "is not valid UTF-8"});
      }
    } else if (field->type() == FieldDescriptor::TYPE_MESSAGE &&
               depth < kMaxDepth) {
      if (!FindBadStrings(raw.length_delimited(), *field->message_type(),
                          absl::StrCat(path, "."), depth + 1, violations)) {
        return false;
      }
    }
  }
  return true;
}

// A field that this version doesn't know may bound what the program may do, so
// dropping it would do more than was asked for.
void NoteUnknownFields(const google::protobuf::Message& message,
                       const std::string& prefix,
                       std::vector<policy::FieldViolation>& violations) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (violations.size() >= kMaxViolations) return;
    violations.push_back(
        {absl::StrCat(prefix, unknown.field(i).number()),
         absl::StrCat("is no field that this daemon (version ", kVersion,
                      ") knows of a ", message.GetDescriptor()->name(),
                      "; leave it out, or update the daemon")});
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    const std::string path = absl::StrCat(prefix, field->name());
    if (!field->is_repeated()) {
      NoteUnknownFields(reflection.GetMessage(message, field), path + ".",
                        violations);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      NoteUnknownFields(reflection.GetRepeatedMessage(message, field, i),
                        absl::StrCat(path, "[", i, "]."), violations);
    }
  }
}

// The error for a message that was refused while it was received; OK when it
// wasn't refused.
absl::Status WhyRefused(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  if (!bytes.DumpToSingleSlice(&slice).ok()) return absl::OkStatus();
  std::array<uint8_t, RefusedMessage::kBytes> flat{};
  std::copy(slice.begin(), slice.end(), flat.begin());
  const auto refused = RefusedMessage::Decode(flat);
  if (!refused.has_value()) return absl::OkStatus();
  return refused->max > 0 ? MessageTooLarge(refused->length, refused->max)
                          : RequestBytesFull(refused->length);
}

void LogFromProtobuf(google::protobuf::LogLevel, const char*, int,
                     const std::string& message) {
  Log(LogLevel::kDebug, "protobuf", {{"message", message}});
}

}  // namespace

absl::Status ParseMessage(const grpc::ByteBuffer& bytes,
                          google::protobuf::Message& message) {
  if (bytes.Length() == RefusedMessage::kBytes) {
    if (absl::Status why = WhyRefused(bytes); !why.ok()) return why;
  }
  // The reader moves a cursor in the buffer that it is given, so it gets a
  // copy, which shares the data.
  grpc::ByteBuffer shared(bytes);
  {
    grpc::ProtoBufferReader reader(&shared);
    if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) {
      std::vector<policy::FieldViolation> violations;
      NoteUnknownFields(message, "", violations);
      return violations.empty() ? absl::OkStatus() : InvalidRequest(violations);
    }
  }
  std::string flat;
  grpc::Slice slice;
  if (bytes.DumpToSingleSlice(&slice).ok()) {
    flat.assign(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  std::vector<policy::FieldViolation> violations;
  const Descriptor& type = *message.GetDescriptor();
  FindBadStrings(flat, type, "", 0, violations);
  if (violations.empty()) return MalformedMessage(type.full_name());
  return InvalidRequest(violations);
}

absl::StatusOr<grpc::ByteBuffer> SerializeMessage(
    const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  const grpc::Status status = grpc::GenericSerialize<grpc::ProtoBufferWriter,
                                                     google::protobuf::Message>(
      message, &bytes, &own_buffer);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("the answer can't be written: ", status.error_message()));
  }
  return bytes;
}

void QuietenProtobuf() { google::protobuf::SetLogHandler(&LogFromProtobuf); }

}  // namespace sandglass::server
