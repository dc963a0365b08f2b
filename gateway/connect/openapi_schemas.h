#ifndef SANDGLASS_GATEWAY_CONNECT_OPENAPI_SCHEMAS_H_
#define SANDGLASS_GATEWAY_CONNECT_OPENAPI_SCHEMAS_H_

#include <set>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"

namespace sandglass::gateway {

// Schemas of messages and enums as protobuf's JSON mapping has them, by their
// full names: {"sandglass.v1.Limits": {"type": "object", …}, …}.
class SchemaSet {
 public:
  // Adds the message, and all that it reaches. A message that only requests
  // have allows no other members, since the gateway refuses them; answers of a
  // later version may have more.
  void AddRequest(const google::protobuf::Descriptor& message);
  void AddAnswer(const google::protobuf::Descriptor& message);

  // All that were added, sorted by name.
  nlohmann::ordered_json Schemas() const;

  // {"$ref": "#/components/schemas/…"}.
  static nlohmann::ordered_json RefTo(const std::string& full_name);

 private:
  using Messages = std::set<const google::protobuf::Descriptor*>;
  static void Reach(const google::protobuf::Descriptor& message,
                    Messages& messages);

  Messages requests_;
  Messages answers_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_OPENAPI_SCHEMAS_H_
