#ifndef SANDGLASS_GATEWAY_PROXY_ROUTING_FIELDS_H_
#define SANDGLASS_GATEWAY_PROXY_ROUTING_FIELDS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "grpcpp/support/byte_buffer.h"

namespace sandglass::gateway {

// What a request says by which its node is found. Empty: it doesn't say.
struct RoutingFields {
  std::string session_id;
  std::string run_id;
  std::string approval_id;
  std::string request_id;
  std::string language;
  std::string profile;
  std::vector<std::string> libraries;
  // Of a new session: its labels as bytes of their own kind, in one order.
  std::set<std::string> labels;
  // That it may need: its limits.memory_bytes; 0: the profile's.
  uint64_t memory_bytes = 0;
};

// Reads these fields of a request of this type and nothing else of it: a
// program's text, which may have megabytes, is passed over. They are looked for
// by their names, in the message itself and in those of its fields that begin a
// call or hold its request: "run", "create", "start", "spec", "attach". Bytes
// that are no such message give what was found up to there; the node that gets
// them says what is wrong.
RoutingFields ReadRoutingFields(const google::protobuf::Descriptor& request,
                                const grpc::ByteBuffer& bytes);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_ROUTING_FIELDS_H_
