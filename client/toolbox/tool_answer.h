#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_

#include <string>
#include <vector>

namespace sandglass::client {

// A picture that a program made.
struct ToolImage {
  std::string mime_type;  // "image/png" and the like
  std::string bytes;      // raw, not base64
};

// A tool's answer to a model. The text contains everything that matters, first
// the verdict, then output; it is valid UTF-8 and within the requested bounds.
struct ToolAnswer {
  std::string text;
  // The text without the output that ToolProgress has told, for who has seen
  // that; empty: nothing of the text was told.
  std::string untold;
  std::vector<ToolImage> images;
  // Either the call itself or the program failed; the text says which.
  bool is_error = false;
  // The sandbox doesn't exist any more.
  bool sandbox_gone = false;
  // The connection to the daemon broke; a new one is needed (OpenDaemon).
  bool daemon_gone = false;
  // The run waits for a person's approval: pass this id to RunCode once it is
  // granted.
  std::string approval_id;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOL_ANSWER_H_
