#ifndef SANDGLASS_CLIENT_AGENT_AGENT_OPTIONS_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sandglass::client {

// The flags of `sandglass agent`. For absent flags the settings decide
// (agent_settings.h).
struct AgentOptions {
  std::string prompt;  // empty: a conversation at the terminal
  std::optional<std::string> config_file;
  std::optional<std::string> provider;
  std::optional<std::string> model;
  std::optional<std::string> base_url;
  std::optional<std::string> system;
  std::string profile;                 // of the sandboxes; empty: the default
  std::vector<std::string> libraries;  // for Python, in all sandboxes
  std::string thread;                  // empty: nothing is kept at the end
  std::vector<std::string> uploads;    // local files and directories
  std::string out_dir;                 // empty: nothing is saved
  std::string skills_dir;              // empty: none
  std::string transcript;              // a file to add to; empty: none
  std::string replay;                  // a transcript; empty: a model is asked
  uint32_t sandboxes = 1;              // at once, 1 to 8
  std::optional<uint32_t> max_rounds;  // of tools, for one message
  bool vision = false;                 // send images to the model
  bool native_tools = false;           // those that models are trained on
  bool no_input = false;
  bool verbose = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_OPTIONS_H_
