#ifndef SANDGLASS_CLIENT_AGENT_CALL_ARGUMENTS_H_
#define SANDGLASS_CLIENT_AGENT_CALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// The arguments of one tool call, as a model wrote them. What is wrong is
// gathered in words that it can act on.
class CallArguments {
 public:
  // Empty text means none. `cut`: they ended before their end.
  CallArguments(std::string_view tool, const std::string& json, bool cut);

  // "" and 0 where they are missing or of another type, which Problem says.
  std::string Text(const char* name);
  std::string OptionalText(const char* name, const char* otherwise = "");
  uint64_t OptionalNumber(const char* name, uint64_t otherwise);
  bool OptionalFlag(const char* name);
  // Texts; absent means none.
  std::vector<std::string> OptionalTexts(const char* name);
  // Two numbers; absent means {0, 0}. The second may be -1, given as 0.
  std::pair<uint64_t, uint64_t> OptionalRange(const char* name);

  // Empty: all was well so far.
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
