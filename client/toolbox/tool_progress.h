#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_

#include <functional>
#include <string_view>

namespace sandglass::client {

// Called with what a program prints, and with the progress of an installation,
// as it arrives. These are raw bytes that aren't safe for terminals. May be
// empty.
using ToolProgress = std::function<void(std::string_view bytes)>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOL_PROGRESS_H_
