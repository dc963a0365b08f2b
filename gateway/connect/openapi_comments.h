#ifndef SANDGLASS_GATEWAY_CONNECT_OPENAPI_COMMENTS_H_
#define SANDGLASS_GATEWAY_CONNECT_OPENAPI_COMMENTS_H_

#include <string>

#include "google/protobuf/descriptor.h"

namespace sandglass::gateway {

// The API's descriptors with what stands beside them in the .proto files, which
// protobuf's generated pool lacks.
const google::protobuf::DescriptorPool& CommentedPool();

// The comment before a definition, or behind it: paragraphs of one line each.
std::string CommentText(const google::protobuf::SourceLocation& location);

// The comment of a message, field, enum, value, service or method of
// CommentedPool(). Empty: it has none.
template <typename Definition>
std::string CommentOf(const Definition& definition) {
  google::protobuf::SourceLocation location;
  if (!definition.GetSourceLocation(&location)) return "";
  return CommentText(location);
}

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_OPENAPI_COMMENTS_H_
