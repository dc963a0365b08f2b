#include "gateway/connect/json_codec.h"

#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/byte_texts.h"
#include "gateway/connect/connect_errors.h"
#include "gateway/connect/field_values.h"
#include "gateway/connect/json_paths.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using nlohmann::json;
using policy::AbslView;
using policy::Quoted;

// An object or a list that is open.
struct Frame {
  enum class Kind : uint8_t { kMessage, kList, kMap };
  Kind kind;
  // What is filled: the object's message, or the one whose list or map it is.
  Message* message;
  // Of a list or map the field; of a message the one whose value comes next.
  const FieldDescriptor* field;
  std::string path;
  std::set<int> fields = {};        // numbers that the message has had
  std::set<int> oneofs = {};        // of its oneofs that have a member
  std::set<std::string> keys = {};  // that the map has had
  std::string name = {};            // of the next value, as it was written
  size_t count = 0;                 // elements of the list so far
};

// Fills a message while nlohmann's parser reads, which keeps its own state on
// the heap. Each function returns false when it has refused.
class MessageBuilder final : public nlohmann::json_sax<json> {
 public:
  MessageBuilder(Message& root, const JsonBounds& bounds)
      : root_(root), bounds_(bounds) {}

  const absl::Status& refusal() const { return refusal_; }

  bool null() override {
    if (!Count()) return false;
    if (open_.empty() || Top().kind != Frame::Kind::kMessage) {
      return Unexpected("null");
    }
    return true;  // as if the name weren't there
  }
  bool boolean(bool value) override {
    return Value(value ? "true" : "false",
                 [value](Message& message, const FieldDescriptor& field) {
                   return PutBool(message, field, value);
                 });
  }
  bool number_integer(number_integer_t value) override {
    return Number(value, absl::StrCat(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(value, absl::StrCat(value));
  }
  bool number_float(number_float_t value, const string_t& raw) override {
    // What was too small for a double became zero.
    const bool lost =
        value == 0 &&
        raw.substr(0, raw.find_first_of("eE")).find_first_of("123456789") !=
            std::string::npos;
    const std::string shown =
        raw.size() > kShown ? raw.substr(0, kShown) + "…" : raw;
    if (lost) return Count() && Unexpected(absl::StrCat("the number ", shown));
    return Number(value, shown);
  }
  bool string(string_t& value) override {
    if (!Count()) return false;
    if (!open_.empty() && value.find('\0') != std::string::npos) {
      return Refuse(NextPath(), "has a NUL, which no text may have");
    }
    // A string may be long: it is shown only where names are expected.
    const std::string shown = Quoted(value, kShown);
    return PutValue(absl::StrCat("the string ", shown),
                    [&value](Message& message, const FieldDescriptor& field) {
                      return PutString(message, field, std::move(value));
                    });
  }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON

  bool start_object(size_t /*elements*/) override;
  bool start_array(size_t /*elements*/) override;
  bool key(string_t& name) override;
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool parse_error(size_t /*position*/, const std::string& token,
                   const nlohmann::detail::exception& problem) override {
    constexpr int kNumberOverflow = 406;
    if (problem.id == kNumberOverflow) {
      return Unexpected(absl::StrCat(
          "the number ", AbslView(std::string_view(token).substr(0, kShown))));
    }
    return Refuse(NextPath(),
                  absl::StrCat("is no JSON: ", SyntaxWords(problem.what())));
  }

 private:
  static constexpr size_t kShown = 32;  // bytes of a value in an error

  Frame& Top() { return open_.back(); }

  bool Refuse(const std::string& path, const std::string& why) {
    refusal_ = BadJson(path, why);
    return false;
  }

  // The place of the value that comes next.
  std::string NextPath() {
    if (open_.empty()) return kWholeJson;
    switch (Top().kind) {
      case Frame::Kind::kMessage:
        if (!Top().name.empty()) return MemberPath(Top().path, Top().name);
        return Top().path.empty() ? kWholeJson : Top().path;
      case Frame::Kind::kList:
        return ElementPath(Top().path, Top().count);
      case Frame::Kind::kMap:
        return KeyPath(Top().path, Top().name);
    }
    return kWholeJson;
  }

  std::string Expected() {
    if (open_.empty()) return "an object";
    const Frame& top = Top();
    if (top.field == nullptr) return "a name";
    if (top.kind == Frame::Kind::kMap) {
      return ExpectedOf(*top.field->message_type()->map_value());
    }
    if (top.kind == Frame::Kind::kMessage && top.field->is_map()) {
      return "an object";
    }
    if (top.kind == Frame::Kind::kMessage && top.field->is_repeated()) {
      return absl::StrCat("a list, of ", ExpectedOf(*top.field), " each");
    }
    return ExpectedOf(*top.field);
  }

  bool Unexpected(const std::string& got) {
    return Refuse(NextPath(),
                  absl::StrCat("expected ", Expected(), ", got ", got));
  }

  bool Count() {
    if (++values_ <= bounds_.values) return true;
    return Refuse(NextPath(), absl::StrCat("expected at most ", bounds_.values,
                                           " values in a request"));
  }

  // The message and the field that the next value is for, where it may be one
  // value: null where a list or an object has to come first.
  std::pair<Message*, const FieldDescriptor*> Target() {
    if (open_.empty()) return {nullptr, nullptr};
    Frame& top = Top();
    if (top.kind == Frame::Kind::kMessage && top.field->is_repeated()) {
      return {nullptr, nullptr};
    }
    if (top.kind == Frame::Kind::kMap) {
      Message& entry = LastEntry(top);
      return {&entry, top.field->message_type()->map_value()};
    }
    return {top.message, top.field};
  }

  static Message& LastEntry(const Frame& map) {
    const auto& reflection = *map.message->GetReflection();
    return *reflection.MutableRepeatedMessage(
        map.message, map.field,
        reflection.FieldSize(*map.message, map.field) - 1);
  }

  template <typename PutIt>
  bool PutValue(const std::string& shown, const PutIt& put) {
    const auto [message, field] = Target();
    if (message == nullptr || !put(*message, *field)) return Unexpected(shown);
    if (!ClaimOneof()) return false;
    if (Top().kind == Frame::Kind::kList) ++Top().count;
    return true;
  }
  template <typename PutIt>
  bool Value(const std::string& shown, const PutIt& put) {
    return Count() && PutValue(shown, put);
  }
  bool Number(JsonNumber number, const std::string& shown) {
    return Value(absl::StrCat("the number ", shown),
                 [number](Message& message, const FieldDescriptor& field) {
                   return PutNumber(message, field, number);
                 });
  }

  bool MayOpen() {
    if (!Count()) return false;
    if (open_.size() < bounds_.depth) return true;
    return Refuse(NextPath(), absl::StrCat("expected at most ", bounds_.depth,
                                           " objects and lists inside each "
                                           "other"));
  }
  bool Push(Frame::Kind kind, Message& message, const FieldDescriptor* field) {
    std::string path = open_.empty() ? "" : NextPath();
    open_.push_back({kind, &message, field, std::move(path)});
    return true;
  }
  bool Close() {
    open_.pop_back();
    if (!open_.empty() && Top().kind == Frame::Kind::kList) ++Top().count;
    return true;
  }

  // Takes the place of the next value's oneof. null takes none.
  bool ClaimOneof();
  bool MemberName(Frame& top, const std::string& name);
  bool MapKey(Frame& top, const std::string& key);

  Message& root_;
  const JsonBounds bounds_;
  std::vector<Frame> open_;
  size_t values_ = 0;
  absl::Status refusal_;
};

bool MessageBuilder::start_object(size_t /*elements*/) {
  if (!MayOpen()) return false;
  if (open_.empty()) return Push(Frame::Kind::kMessage, root_, nullptr);
  Frame& top = Top();
  if (top.kind == Frame::Kind::kMessage && top.field->is_map()) {
    return Push(Frame::Kind::kMap, *top.message, top.field);
  }
  const auto [message, field] = Target();
  if (message == nullptr ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
      IsTime(*field->message_type())) {
    return Unexpected("an object");
  }
  if (!ClaimOneof()) return false;
  const auto& reflection = *message->GetReflection();
  return Push(
      Frame::Kind::kMessage,
      *(field->is_repeated() ? reflection.AddMessage(message, field)
                             : reflection.MutableMessage(message, field)),
      nullptr);
}

bool MessageBuilder::start_array(size_t /*elements*/) {
  if (!MayOpen()) return false;
  if (open_.empty() || Top().kind != Frame::Kind::kMessage ||
      !Top().field->is_repeated() || Top().field->is_map()) {
    return Unexpected("a list");
  }
  return Push(Frame::Kind::kList, *Top().message, Top().field);
}

bool MessageBuilder::key(string_t& name) {
  Frame& top = Top();
  const bool map = top.kind == Frame::Kind::kMap;
  if (name.find('\0') != std::string::npos) {
    return Refuse(top.path.empty() ? kWholeJson : top.path,
                  "has a name with a NUL, which no text may have");
  }
  return map ? MapKey(top, name) : MemberName(top, name);
}

bool MessageBuilder::ClaimOneof() {
  Frame& top = Top();
  if (top.kind != Frame::Kind::kMessage) return true;
  const auto* const oneof = top.field->real_containing_oneof();
  if (oneof == nullptr || top.oneofs.insert(oneof->index()).second) return true;
  return Refuse(NextPath(), absl::StrCat("is one of several of which there may "
                                         "be one (",
                                         oneof->name(), ")"));
}

bool MessageBuilder::MemberName(Frame& top, const std::string& name) {
  const Descriptor& type = *top.message->GetDescriptor();
  const FieldDescriptor* field = type.FindFieldByCamelcaseName(name);
  if (field == nullptr || field->json_name() != name) {
    field = type.FindFieldByName(name);
  }
  const std::string path = MemberPath(top.path, name);
  if (field == nullptr) return Refuse(path, UnknownMember(name, type));
  if (!top.fields.insert(field->number()).second) {
    return Refuse(path, absl::StrCat("is given twice; expected ",
                                     field->json_name(), " once"));
  }
  top.field = field;
  top.name = name;
  return true;
}

bool MessageBuilder::MapKey(Frame& top, const std::string& key) {
  const std::string path = KeyPath(top.path, key);
  if (!top.keys.insert(key).second) {
    return Refuse(path, "is given twice; expected each key once");
  }
  Message& entry =
      *top.message->GetReflection()->AddMessage(top.message, top.field);
  const FieldDescriptor& name = *top.field->message_type()->map_key();
  if (!PutKey(entry, name, key)) {
    return Refuse(path,
                  absl::StrCat("has a wrong key; expected ", ExpectedOf(name)));
  }
  top.name = key;
  return true;
}

}  // namespace

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(
      MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

absl::StatusOr<std::unique_ptr<Message>> ReadJson(std::string_view text,
                                                  const Descriptor& type,
                                                  const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) {
    return BadJson(kWholeJson, absl::StrCat("expected at most ", bounds.bytes,
                                            " bytes, got ", text.size()));
  }
  // The parser takes NUL for the end of its input and would ignore the rest.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return BadJson(kWholeJson, absl::StrCat("is no JSON: a NUL at byte ", nul));
  }
  std::unique_ptr<Message> message = NewMessage(type);
  MessageBuilder builder(*message, bounds);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    return builder.refusal();
  }
  return message;
}

absl::StatusOr<std::string> WriteJson(std::string_view bytes,
                                      const Descriptor& type, bool texts) {
  const std::unique_ptr<Message> message = NewMessage(type);
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadAnswer(type.name(), "it is no message of that type");
  }
  if (texts) client::SetByteTexts(*message);
  std::string text;
  const auto status =
      google::protobuf::util::MessageToJsonString(*message, &text);
  if (!status.ok()) return BadAnswer(type.name(), status.ToString());
  return text;
}

}  // namespace sandglass::gateway
