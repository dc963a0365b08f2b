#include "client/agent/conversation_json.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"

namespace sandglass::client {
namespace {

using Json = nlohmann::json;

Json ToJson(const std::vector<LlmImage>& images) {
  Json list = Json::array();
  for (const LlmImage& image : images) {
    list.push_back({{"mime_type", image.mime_type},
                    {"base64", absl::Base64Escape(image.bytes)}});
  }
  return list;
}

// Reads members of one object; an invalid one makes the whole object invalid.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json), good_(json.is_object()) {}

  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return "";
    good_ = good_ && value->is_string();
    return value->is_string() ? value->get<std::string>() : "";
  }
  bool Flag(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return false;
    good_ = good_ && value->is_boolean();
    return value->is_boolean() && value->get<bool>();
  }
  // Calls `handle` with each element.
  template <typename Handle>
  void Each(const char* key, const Handle& handle) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    good_ = good_ && value->is_array();
    if (!value->is_array()) return;
    for (const Json& item : *value) {
      Reader reader(item);
      handle(reader);
      good_ = good_ && reader.good_;
    }
  }
  std::vector<LlmImage> Images(const char* key) {
    std::vector<LlmImage> images;
    Each(key, [&](Reader& reader) {
      LlmImage image;
      image.mime_type = reader.Text("mime_type");
      reader.good_ =
          absl::Base64Unescape(reader.Text("base64"), &image.bytes) &&
          reader.good_;
      images.push_back(std::move(image));
    });
    return images;
  }
  Json Any(const char* key) {
    const Json* value = Find(key);
    return value == nullptr ? Json() : *value;
  }
  bool good() const { return good_; }
  void Spoil() { good_ = false; }

 private:
  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& json_;
  bool good_;
};

}  // namespace

Json ToJson(const LlmMessage& message) {
  Json json = {
      {"role", message.role == LlmMessage::Role::kUser ? "user" : "model"},
      {"text", message.text}};
  if (!message.images.empty()) json["images"] = ToJson(message.images);
  for (const LlmToolCall& call : message.calls) {
    json["calls"].push_back({{"id", call.id},
                             {"name", call.name},
                             {"arguments", call.arguments},
                             {"cut", call.cut}});
  }
  for (const LlmToolResult& result : message.results) {
    Json one = {{"call_id", result.call_id},
                {"text", result.text},
                {"is_error", result.is_error}};
    if (!result.images.empty()) one["images"] = ToJson(result.images);
    json["results"].push_back(std::move(one));
  }
  if (!message.raw.is_null()) json["raw"] = message.raw;
  return json;
}

absl::StatusOr<LlmMessage> MessageFromJson(const Json& json) {
  Reader reader(json);
  LlmMessage message;
  const std::string role = reader.Text("role");
  message.role =
      role == "user" ? LlmMessage::Role::kUser : LlmMessage::Role::kModel;
  if (role != "user" && role != "model") reader.Spoil();
  message.text = reader.Text("text");
  message.images = reader.Images("images");
  reader.Each("calls", [&](Reader& call) {
    message.calls.push_back({.id = call.Text("id"),
                             .name = call.Text("name"),
                             .arguments = call.Text("arguments"),
                             .cut = call.Flag("cut")});
  });
  reader.Each("results", [&](Reader& result) {
    message.results.push_back({.call_id = result.Text("call_id"),
                               .text = result.Text("text"),
                               .is_error = result.Flag("is_error"),
                               .images = result.Images("images")});
  });
  message.raw = reader.Any("raw");
  if (!reader.good()) {
    return absl::InvalidArgumentError("it is no message of a conversation");
  }
  return message;
}

}  // namespace sandglass::client
