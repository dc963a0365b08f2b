#ifndef SANDGLASS_CLIENT_AGENT_CALL_ARGUMENTS_H_
#define SANDGLASS_CLIENT_AGENT_CALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// The arguments of one tool call, as a model wrote them. Problems are
// collected, in words that the model can act on.
class CallArguments {
 public:
  // An empty text means no arguments. `cut`: the text is incomplete.
  CallArguments(std::string_view tool, const std::string& json, bool cut);

  // These return "" and 0 for arguments that are missing or of another type;
  // problem() then says so.
  std::string Text(const char* name);
  std::string OptionalText(const char* name, const char* otherwise = "");
  uint64_t OptionalNumber(const char* name, uint64_t otherwise);
  bool OptionalFlag(const char* name);
  // A list of texts; absent means an empty list.
  std::vector<std::string> OptionalTexts(const char* name);
  // Two numbers; absent means {0, 0}. The second one may be -1, and is then
  // returned as 0.
  std::pair<uint64_t, uint64_t> OptionalRange(const char* name);

  // Empty: there was no problem so far.
  const std::string& problem() const { return problem_; }

 private:
  const nlohmann::json* Find(const char* name) const;
  void Complain(std::string_view what);

  const std::string tool_;
  nlohmann::json json_ = nlohmann::json::object();
  std::string problem_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_CALL_ARGUMENTS_H_
