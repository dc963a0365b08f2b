#include "client/agent/agent_command_line.h"

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"

namespace sandglass::client {
namespace {

constexpr uint32_t kMaxSandboxes = 8;

}  // namespace

AgentCommandLine::AgentCommandLine(CLI::App& app) {
  agent_ = app.add_subcommand(
      "agent", "Talk with a model whose programs run in sandboxes");
  prompt_ = AddWords(*agent_, "PROMPT",
                     "What is to be done; none: a conversation on the terminal",
                     "TEXT");
  provider_ = AddValue(*agent_, "--provider",
                       "openai (Chat Completions), anthropic or "
                       "openai-responses (default: by the key that is set)",
                       "NAME");
  model_ = AddValue(*agent_, "-m,--model",
                    "The model (default: $SANDGLASS_MODEL)", "NAME");
  base_url_ = AddValue(*agent_, "--base-url",
                       "The provider's address (default: $OPENAI_BASE_URL or "
                       "$ANTHROPIC_BASE_URL, else the provider's own)",
                       "URL");
  config_ =
      AddValue(*agent_, "--config",
               "Settings (default: ~/.config/sandglass/agent.json)", "FILE");
  system_ = AddValue(*agent_, "--system", "Added to the system prompt", "TEXT");
  profile_ = AddValue(*agent_, "--profile",
                      "Profile of the sandboxes (default: default)", "NAME");
  library_ =
      AddValues(*agent_, "--library",
                "A library for Python programs, as pip names it", "NAME");
  thread_ = AddValue(*agent_, "--thread",
                     "Keep conversation and sandbox by this name, and go on "
                     "with those that are there",
                     "ID");
  upload_ = AddValues(*agent_, "--upload",
                      "Put a file or a directory into /workspace", "PATH");
  out_ =
      AddValue(*agent_, "--out",
               "Save images, and what programs put into /workspace/out", "DIR");
  skills_ =
      AddValue(*agent_, "--skills",
               "Folders with a SKILL.md, which the model loads at need", "DIR");
  sandboxes_ =
      AddValue(*agent_, "--sandboxes",
               "How many there may be at once, 1 to 8 (default: 1)", "N");
  rounds_ = AddValue(*agent_, "--max-rounds",
                     "Of tool calls, for one message (default: 50)", "N");
  transcript_ = AddValue(*agent_, "--transcript",
                         "Add all messages to this file", "FILE");
  replay_ = AddValue(*agent_, "--replay",
                     "Take the model's part from a transcript; tools run anew",
                     "FILE");
  agent_->add_flag("--vision", flags_.vision,
                   "Images of results go to the model");
  agent_->add_flag("--native-tools", flags_.native_tools,
                   "Offer the provider's own tools: bash and text_editor "
                   "(anthropic), local_shell (openai-responses)");
  agent_->add_flag("--no-input", flags_.no_input,
                   "Ask nobody: what wants an approval doesn't run");
  agent_->add_flag("-v,--verbose", flags_.verbose,
                   "Show programs, their output, and results");
}

bool AgentCommandLine::parsed() const { return agent_->parsed(); }

absl::StatusOr<AgentOptions> AgentCommandLine::Collect() const {
  AgentOptions options = flags_;
  options.prompt = absl::StrJoin(prompt_->results(), " ");
  options.config_file = ValueOf(config_);
  options.provider = ValueOf(provider_);
  options.model = ValueOf(model_);
  options.base_url = ValueOf(base_url_);
  options.system = ValueOf(system_);
  options.profile = ValueOf(profile_).value_or("");
  options.libraries = library_->results();
  options.thread = ValueOf(thread_).value_or("");
  options.uploads = upload_->results();
  options.out_dir = ValueOf(out_).value_or("");
  options.skills_dir = ValueOf(skills_).value_or("");
  options.transcript = ValueOf(transcript_).value_or("");
  options.replay = ValueOf(replay_).value_or("");
  std::optional<uint32_t> sandboxes;
  if (absl::Status taken = ParseCountFlag(sandboxes_, sandboxes); !taken.ok()) {
    return taken;
  }
  options.sandboxes = sandboxes.value_or(1);
  if (options.sandboxes < 1 || options.sandboxes > kMaxSandboxes) {
    return absl::InvalidArgumentError("--sandboxes takes 1 to 8");
  }
  if (absl::Status taken = ParseCountFlag(rounds_, options.max_rounds);
      !taken.ok()) {
    return taken;
  }
  if (options.no_input && options.prompt.empty() && options.replay.empty()) {
    return absl::InvalidArgumentError(
        "with --no-input give a PROMPT, or --replay FILE");
  }
  return options;
}

}  // namespace sandglass::client
