#include "client/agent/agent_settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "nlohmann/json.hpp"
#include "policy/text/docs_page.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxConfig = 1 << 20;
constexpr size_t kMaxKey = 64 << 10;

struct Provider {
  const char* name;
  LlmProvider kind;
  const char* base_url;
  const char* key_variable;
  const char* url_variable;
};
constexpr Provider kProviders[] = {
    {"openai", LlmProvider::kOpenAiChat, "https://api.openai.com/v1",
     "OPENAI_API_KEY", "OPENAI_BASE_URL"},
    {"anthropic", LlmProvider::kAnthropic, "https://api.anthropic.com",
     "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
    {"openai-responses", LlmProvider::kOpenAiResponses,
     "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"}};

absl::StatusOr<const Provider*> FindProvider(const std::string& name) {
  for (const Provider& provider : kProviders) {
    if (name == provider.name) return &provider;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", VisibleText(name),
                   "' is no provider; there are openai (Chat Completions, as "
                   "most servers speak it), anthropic and openai-responses"));
}

// Reads typed values of the configuration file, each key once.
class Config {
 public:
  static absl::StatusOr<Config> Read(const std::string& path, bool must_be) {
    struct stat info = {};
    if (!must_be && ::stat(path.c_str(), &info) != 0) return Config(path, {});
    const absl::StatusOr<FileContent> file = ReadInput(path, kMaxConfig);
    if (!file.ok()) return file.status();
    nlohmann::json json =
        nlohmann::json::parse(file->bytes, nullptr, false, true);
    if (!json.is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is no JSON object; see ",
                       policy::DocsPage("agents.md"), " for an example"));
    }
    return Config(path, std::move(json));
  }

  std::optional<std::string> Text(const char* key) {
    known_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    Complain(key, "a text");
    return std::nullopt;
  }
  std::optional<uint64_t> Number(const char* key, uint64_t min, uint64_t max) {
    known_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return std::nullopt;
    if (found->is_number_unsigned()) {
      const auto value = found->get<uint64_t>();
      if (value >= min && value <= max) return value;
    }
    Complain(key, absl::StrCat("a number from ", min, " to ", max));
    return std::nullopt;
  }
  absl::Status Problems() {
    for (const auto& [key, value] : json_.items()) {
      if (known_.count(key) == 0 && problem_.empty()) {
        problem_ = absl::StrCat(path_, ": unknown key '", VisibleText(key),
                                "'; see ", policy::DocsPage("agents.md"));
      }
    }
    return problem_.empty() ? absl::OkStatus()
                            : absl::InvalidArgumentError(problem_);
  }

 private:
  Config(std::string path, nlohmann::json json)
      : path_(std::move(path)), json_(std::move(json)) {
    if (json_.is_null()) json_ = nlohmann::json::object();
  }
  void Complain(const char* key, const std::string& expected) {
    if (problem_.empty()) {
      problem_ = absl::StrCat(path_, ": ", key, " is to be ", expected);
    }
  }

  std::string path_;
  nlohmann::json json_;
  std::set<std::string> known_;
  std::string problem_;
};

std::string ConfigPath(const EnvironmentLookup& environment) {
  if (const auto base = environment("XDG_CONFIG_HOME")) {
    return *base + "/sandglass/agent.json";
  }
  return environment("HOME").value_or("") + "/.config/sandglass/agent.json";
}

absl::StatusOr<std::string> ReadKey(const std::string& path) {
  const absl::StatusOr<FileContent> file = ReadInput(path, kMaxKey);
  if (!file.ok()) return file.status();
  return std::string(absl::StripAsciiWhitespace(file->bytes));
}

bool IsHeaderText(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// If no provider is named: the one for the only key that exists.
std::string GuessProvider(const EnvironmentLookup& environment) {
  const bool anthropic = environment("ANTHROPIC_API_KEY").has_value();
  const bool openai = environment("OPENAI_API_KEY").has_value() ||
                      environment("OPENAI_BASE_URL").has_value();
  return anthropic && !openai ? "anthropic" : "openai";
}

template <typename T>
std::optional<T> FirstOf(std::optional<T> a, std::optional<T> b) {
  return a ? std::move(a) : std::move(b);
}

absl::Status AssignKey(const Provider& provider,
                       const EnvironmentLookup& environment,
                       const std::optional<std::string>& variable,
                       const std::optional<std::string>& file,
                       AgentSettings& settings) {
  if (file && !variable) {
    settings.key_name = *file;
    absl::StatusOr<std::string> key = ReadKey(*file);
    if (!key.ok()) return key.status();
    settings.llm.api_key = *std::move(key);
  } else {
    settings.key_name = variable.value_or(provider.key_variable);
    settings.llm.api_key = environment(settings.key_name.c_str()).value_or("");
  }
  if (!IsHeaderText(settings.llm.api_key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key in ", settings.key_name,
                     " has blanks or other characters that no key has"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AgentSettings> LoadAgentSettings(
    const AgentOptions& options, const EnvironmentLookup& environment,
    bool needs_model) {
  absl::StatusOr<Config> config =
      Config::Read(options.config_file.value_or(ConfigPath(environment)),
                   options.config_file.has_value());
  if (!config.ok()) return config.status();
  AgentSettings settings;
  const auto provider_name = FirstOf(
      options.provider,
      FirstOf(environment("SANDGLASS_PROVIDER"), config->Text("provider")));
  const absl::StatusOr<const Provider*> provider =
      FindProvider(provider_name.value_or(GuessProvider(environment)));
  if (!provider.ok()) return provider.status();
  settings.llm.provider = (*provider)->kind;
  settings.llm.base_url =
      FirstOf(options.base_url, FirstOf(environment((*provider)->url_variable),
                                        config->Text("base_url")))
          .value_or((*provider)->base_url);
  settings.llm.base_url =
      std::string(absl::StripSuffix(settings.llm.base_url, "/"));
  settings.model =
      FirstOf(options.model,
              FirstOf(environment("SANDGLASS_MODEL"), config->Text("model")))
          .value_or("");
  settings.system =
      FirstOf(options.system, config->Text("system")).value_or("");
  const auto key_variable = config->Text("api_key_env");
  const auto key_file = config->Text("api_key_file");
  settings.llm.ca_file = config->Text("ca_file").value_or("");
  if (const auto value = config->Number("max_tokens", 16, 1'000'000)) {
    settings.max_tokens = static_cast<uint32_t>(*value);
  }
  if (const auto value = config->Number("context_tokens", 2000, 10'000'000)) {
    settings.context_tokens = *value;
  }
  if (const auto value = config->Number("max_rounds", 1, 10'000)) {
    settings.max_rounds = static_cast<uint32_t>(*value);
  }
  if (options.max_rounds) settings.max_rounds = *options.max_rounds;
  if (absl::Status good = config->Problems(); !good.ok()) return good;
  if (!needs_model) return settings;

  if (!absl::StartsWith(settings.llm.base_url, "http://") &&
      !absl::StartsWith(settings.llm.base_url, "https://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the base URL '", VisibleText(settings.llm.base_url),
                     "' begins with neither http:// nor https://"));
  }
  if (settings.model.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "which model? Give --model NAME, set SANDGLASS_MODEL, or put \"model\" "
        "into the configuration file (",
        policy::DocsPage("agents.md"), ")"));
  }
  if (absl::Status key =
          AssignKey(**provider, environment, key_variable, key_file, settings);
      !key.ok()) {
    return key;
  }
  // Private servers often need no key.
  if (settings.llm.api_key.empty() &&
      settings.llm.base_url == (*provider)->base_url) {
    // Nobody named a provider, so it may be the other's key that was meant.
    if (!provider_name && !key_variable && !key_file) {
      return absl::InvalidArgumentError(
          "there is no key for a model's provider: ANTHROPIC_API_KEY and "
          "OPENAI_API_KEY are unset or empty; set one, or name another server "
          "with --base-url");
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no key for ", (*provider)->base_url, ": set ",
        settings.key_name, ", or name another server with --base-url"));
  }
  return settings;
}

}  // namespace sandglass::client
