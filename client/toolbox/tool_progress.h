#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_

#include <functional>
#include <string_view>

namespace sandglass::client {

// Hears what a program prints, and the progress of an install, as it comes.
// Raw bytes; not for terminals as they are. May be empty.
using ToolProgress = std::function<void(std::string_view bytes)>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_
