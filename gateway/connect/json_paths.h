#ifndef SANDGLASS_GATEWAY_CONNECT_JSON_PATHS_H_
#define SANDGLASS_GATEWAY_CONNECT_JSON_PATHS_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

// How errors name places of a JSON text, and what they say of them.
namespace sandglass::gateway {

// The whole text.
inline constexpr char kWholeJson[] = "$";

// `path` with a member of its object: "limits" and "wallTime" give
// "limits.wallTime". A name with other characters than letters, digits and "_",
// or one that is long, stands in brackets, quoted and cut.
std::string MemberPath(const std::string& path, std::string_view name);
// The value of a map's key, always in brackets: "env[\"HOME\"]".
std::string KeyPath(const std::string& path, std::string_view key);
std::string ElementPath(const std::string& path, size_t index);

// Why a name that the message doesn't have is refused, with the name that may
// have been meant.
std::string UnknownMember(std::string_view name,
                          const google::protobuf::Descriptor& type);

// What nlohmann's parser complains of, without its own names and with no
// control characters, cut to a line's length.
std::string SyntaxWords(std::string_view what);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_JSON_PATHS_H_
