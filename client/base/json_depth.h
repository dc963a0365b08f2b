#ifndef SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_
#define SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Whether brackets outside of strings go deeper than that, whether the text is
// JSON or not: to be asked before it is parsed, so that nothing is built of
// what is too deep.
bool IsDeeperJson(absl::string_view text, int most);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_JSON_DEPTH_H_
