#include "server/daemon/early_log.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/files.h"

namespace sandglass::server {

LogFormat FindLogFormat(const std::string& config_file) {
  const absl::StatusOr<std::string> text = os::ReadWholeFile(config_file);
  if (!text.ok()) return LogFormat::kText;
  const nlohmann::json config =
      nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false,
                            /*ignore_comments=*/true);
  const auto member = [](const nlohmann::json& object, const char* name) {
    return object.is_object() && object.contains(name) ? object.at(name)
                                                       : nlohmann::json();
  };
  const bool json =
      config.is_object()
          ? member(member(config, "log"), "format") == "json"
          // It is being edited.
          : absl::StrContains(absl::StrReplaceAll(*text, {{" ", ""}}),
                              R"("format":"json")");
  return json ? LogFormat::kJson : LogFormat::kText;
}

LogFormat StartEarlyLog(int argc, const char* const* argv) {
  std::string file;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--config" && i + 1 < argc) {
      file = argv[i + 1];
    } else if (absl::ConsumePrefix(&argument, "--config=")) {
      file = std::string(argument);
    }
  }
  const LogFormat format = FindLogFormat(file);
  StartLog(LogLevel::kInfo, format);
  return format;
}

}  // namespace sandglass::server
