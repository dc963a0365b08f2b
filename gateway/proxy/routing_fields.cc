#include "gateway/proxy/routing_fields.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Ids, names and libraries have at most some hundred bytes; a longer one is
// refused by every node.
constexpr int kMaxTextBytes = 4096;
constexpr size_t kMaxLibraries = 1024;
constexpr size_t kMaxLabels = 256;
constexpr int kMaxDepth = 4;

bool HoldsFields(std::string_view name) {
  static const auto* const names = new std::set<std::string_view>{
      "run", "create", "start", "spec", "attach", "limits"};
  return names->contains(name);
}

class Reader {
 public:
  Reader(CodedInputStream& input, RoutingFields& fields)
      : input_(input), fields_(fields) {}

  // False where the bytes are no message.
  bool Read(const Descriptor& type, int depth) {
    while (const uint32_t tag = input_.ReadTag()) {
      const FieldDescriptor* field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool fits =
          field != nullptr &&
          WireFormatLite::GetTagWireType(tag) ==
              WireFormatLite::WireTypeForFieldType(
                  static_cast<WireFormatLite::FieldType>(field->type()));
      if (!(fits ? ReadField(*field, tag, depth)
                 : WireFormatLite::SkipField(&input_, tag))) {
        return false;
      }
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  bool ReadField(const FieldDescriptor& field, uint32_t tag, int depth) {
    const std::string& name = field.name();
    if (field.type() == FieldDescriptor::TYPE_MESSAGE && !field.is_repeated() &&
        HoldsFields(name) && depth < kMaxDepth) {
      return ReadMessage(*field.message_type(), depth + 1);
    }
    if (name == "labels" && field.is_map()) return ReadLabel();
    if (name == "memory_bytes" &&
        field.type() == FieldDescriptor::TYPE_UINT64) {
      return WireFormatLite::ReadPrimitive<uint64_t,
                                           WireFormatLite::TYPE_UINT64>(
          &input_, &fields_.memory_bytes);
    }
    if (field.type() == FieldDescriptor::TYPE_STRING) {
      if (name == "libraries" && field.is_repeated()) {
        if (fields_.libraries.size() == kMaxLibraries) return false;
        return ReadText(fields_.libraries.emplace_back());
      }
      if (std::string* text = TextOf(name)) return ReadText(*text);
    }
    return WireFormatLite::SkipField(&input_, tag);
  }
  bool ReadLabel() {
    std::string label;
    if (fields_.labels.size() == kMaxLabels || !ReadText(label)) return false;
    fields_.labels.insert(std::move(label));
    return true;
  }
  // Of a field that comes twice the last one counts, as everywhere.
  bool ReadText(std::string& text) {
    uint32_t size = 0;
    const bool read = input_.ReadVarint32(&size) && size <= kMaxTextBytes &&
                      input_.ReadString(&text, static_cast<int>(size));
    if (!read) text.clear();
    return read;
  }
  bool ReadMessage(const Descriptor& type, int depth) {
    int size = 0;
    if (!input_.ReadVarintSizeAsInt(&size)) return false;
    const CodedInputStream::Limit limit = input_.PushLimit(size);
    const bool read = Read(type, depth);
    input_.PopLimit(limit);
    return read;
  }
  std::string* TextOf(std::string_view name) {
    if (name == "session_id") return &fields_.session_id;
    if (name == "run_id") return &fields_.run_id;
    if (name == "approval_id") return &fields_.approval_id;
    if (name == "request_id") return &fields_.request_id;
    if (name == "language") return &fields_.language;
    if (name == "profile") return &fields_.profile;
    return nullptr;
  }

  CodedInputStream& input_;
  RoutingFields& fields_;
};

}  // namespace

RoutingFields ReadRoutingFields(const Descriptor& request,
                                const grpc::ByteBuffer& bytes) {
  RoutingFields fields;
  grpc::ByteBuffer copy(bytes);  // of references
  grpc::ProtoBufferReader reader(&copy);
  if (!reader.status().ok()) return fields;
  CodedInputStream input(&reader);
  (void)Reader(input, fields).Read(request, 0);
  return fields;
}

}  // namespace sandglass::gateway
