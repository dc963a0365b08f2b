#include "client/session/session_calls.h"

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/utf8_check.h"

namespace sandglass::client {

int PrintDone(absl::string_view session_id, absl::string_view what) {
  return PrintText(
      absl::StrCat("session ", VisibleText(session_id), " ", what, "\n"));
}

void SetPairs(const Pairs& pairs,
              google::protobuf::Map<std::string, std::string>& out) {
  for (const auto& [name, value] : pairs) out[name] = value;
}

absl::Status CheckId(absl::string_view session_id) {
  return CheckUtf8("a session's id", session_id);
}

}  // namespace sandglass::client
