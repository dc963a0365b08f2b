#ifndef SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_
#define SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Whether brackets outside of strings are nested more than `max` levels deep.
// `text` need not be JSON. Call it before parsing, so that nothing is built
// from a text that is too deep.
bool IsDeeperJson(absl::string_view text, int max);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_
