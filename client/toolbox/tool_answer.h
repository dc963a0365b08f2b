#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_

#include <string>
#include <vector>

namespace sandglass::client {

// A picture that a program made.
struct ToolImage {
  std::string mime_type;  // "image/png" and the like
  std::string bytes;      // as they are, not base64
};

// What a tool gives a model. The text carries all that matters: the verdict
// first, then output; it is valid UTF-8 and within the bounds that were asked
// for.
struct ToolAnswer {
  std::string text;
  std::vector<ToolImage> images;
  // The call itself failed, or the program did; the text says which.
  bool is_error = false;
  // There is no such sandbox any more.
  bool sandbox_gone = false;
  // The connection to the daemon broke; it takes another (OpenDaemon).
  bool daemon_gone = false;
  // The run waits for a person: the id to give RunCode after it is granted.
  std::string approval_id;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_
