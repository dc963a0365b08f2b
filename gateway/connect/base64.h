#ifndef SANDGLASS_GATEWAY_CONNECT_BASE64_H_
#define SANDGLASS_GATEWAY_CONNECT_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace sandglass::gateway {

// The bytes that a text of base64 stands for: by either alphabet of RFC 4648
// ("+/" or "-_"), with all of its padding or none. nullopt for anything else,
// white space included.
std::optional<std::string> DecodeBase64(std::string_view text);

// The standard alphabet, without padding.
std::string UnpaddedBase64(std::string_view bytes);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_BASE64_H_
