#include "client/agent/agent_command.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/agent/agent_files.h"
#include "client/agent/agent_interrupts.h"
#include "client/agent/agent_loop.h"
#include "client/agent/agent_prompt.h"
#include "client/agent/agent_settings.h"
#include "client/agent/agent_view.h"
#include "client/agent/line_editor.h"
#include "client/agent/replay_client.h"
#include "client/agent/sandboxes.h"
#include "client/agent/start_check.h"
#include "client/agent/terminal_approval.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/connection/daemon.h"
#include "client/terminal/inline_image.h"

namespace sandglass::client {
namespace {

constexpr char kWorkspace[] = "/workspace";
constexpr char kHelp[] =
    "Type what is to be done and Enter. A line that ends in \\ goes on; lines "
    "between \"\"\" are taken together. Ctrl-C stops a tool, then the answer; "
    "/exit or Ctrl-D ends.";

ToolBounds Bounds() {
  ToolBounds bounds;
  bounds.another = "";
  bounds.missing_library =
      "No library can be installed here. Do without it, or tell the user to "
      "start the agent with --library.";
  return bounds;
}

std::optional<std::string> Environment(const char* name) {
  // There is no other thread yet.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

const char* ProviderName(LlmProvider provider) {
  switch (provider) {
    case LlmProvider::kOpenAiChat:
      return "openai";
    case LlmProvider::kAnthropic:
      return "anthropic";
    case LlmProvider::kOpenAiResponses:
      return "openai-responses";
  }
  return "";
}

// Everything that is read and opened before the conversation begins.
struct Opened {
  AgentSettings settings;
  std::vector<LocalFile> uploads;
  std::vector<std::string> upload_names;
  std::optional<Skills> skills;
  std::optional<OutDirectory> out;
  std::optional<ThreadFile> thread;
  std::optional<Transcript> transcript;
  std::vector<LlmMessage> replayed;
  std::string history;
  InlineImages images;  // on standard error
};

absl::Status OpenFiles(const AgentOptions& options, Opened& opened) {
  const absl::StatusOr<InlineImages> images = InlineImages::For(STDERR_FILENO);
  if (!images.ok()) return images.status();
  opened.images = *images;
  for (const std::string& source : options.uploads) {
    absl::StatusOr<std::vector<LocalFile>> files =
        ReadLocalTree(source, kWorkspace);
    if (!files.ok()) return files.status();
    if (!files->empty()) {
      const std::string& path = files->front().path;
      const size_t end = path.find('/', sizeof(kWorkspace));
      opened.upload_names.push_back(path.substr(0, end));
    }
    for (LocalFile& file : *files) opened.uploads.push_back(std::move(file));
  }
  if (!options.skills_dir.empty()) {
    absl::StatusOr<Skills> skills = Skills::Load(options.skills_dir);
    if (!skills.ok()) return skills.status();
    opened.skills = *std::move(skills);
  }
  if (!options.out_dir.empty()) {
    absl::StatusOr<OutDirectory> out = OutDirectory::Open(options.out_dir);
    if (!out.ok()) return out.status();
    opened.out.emplace(*std::move(out));
  }
  if (!options.replay.empty()) {
    absl::StatusOr<std::vector<LlmMessage>> messages =
        Transcript::Read(options.replay);
    if (!messages.ok()) return messages.status();
    opened.replayed = *std::move(messages);
  }
  if (!options.transcript.empty()) {
    absl::StatusOr<Transcript> transcript =
        Transcript::Open(options.transcript);
    if (!transcript.ok()) return transcript.status();
    opened.transcript.emplace(*std::move(transcript));
  }
  const absl::StatusOr<std::string> state = AgentStateDirectory(Environment);
  if (state.ok()) opened.history = *state + "/agent_history";
  if (options.thread.empty()) return absl::OkStatus();
  if (!state.ok()) return state.status();
  absl::StatusOr<ThreadFile> thread = ThreadFile::Open(*state, options.thread);
  if (!thread.ok()) return thread.status();
  opened.thread.emplace(*std::move(thread));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LlmClient>> MakeLlm(const Opened& opened,
                                                   bool replays) {
  if (replays) return std::make_unique<ReplayClient>(opened.replayed);
  return LlmClient::Create(opened.settings.llm);
}

// A conversation and its saved parts.
class Conversation {
 public:
  Conversation(const AgentOptions& options, Opened& opened, Daemon& daemon,
               LlmClient& llm, AgentInterrupts& interrupts)
      : options_(options),
        opened_(opened),
        daemon_(daemon),
        interrupts_(interrupts),
        view_(options.verbose, opened.images),
        toolbox_(daemon, Bounds()),
        sandboxes_(daemon, toolbox_,
                   {.profile = options.profile,
                    .libraries = options.libraries,
                    .thread = options.thread,
                    .files = std::move(opened.uploads),
                    .directory = opened.out ? kOutInSandbox : ""}),
        tools_(toolbox_, sandboxes_, opened.skills ? &*opened.skills : nullptr,
               {.provider = opened.settings.llm.provider,
                .native = options.native_tools,
                .sandboxes = options.sandboxes},
               [this](const std::string& id) { return AskApproval(id); }),
        loop_(LoopParts(llm), LoopOptions(),
              opened.thread ? opened.thread->ReleaseMessages(Provider())
                            : std::vector<LlmMessage>()) {}
  ~Conversation() { sandboxes_.End(); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  TurnEnd Turn(LlmMessage user) {
    const TurnEnd end = loop_.Turn(std::move(user));
    SaveFiles();
    return end;
  }
  AgentView& view() { return view_; }

 private:
  std::string Provider() const {
    return ProviderName(opened_.settings.llm.provider);
  }

  AgentLoopOptions LoopOptions() const {
    const AgentSettings& settings = opened_.settings;
    return {.model = settings.model,
            .system = SystemPrompt(
                {.saves_files = opened_.out.has_value(),
                 .uploads = opened_.upload_names,
                 .skills = opened_.skills ? &*opened_.skills : nullptr,
                 .user_text = settings.system}),
            .max_tokens = settings.max_tokens,
            .context_tokens = settings.context_tokens,
            .max_rounds = settings.max_rounds,
            .vision = options_.vision};
  }

  AgentLoop::Parts LoopParts(LlmClient& llm) {
    return {
        .llm = &llm,
        .tools = &tools_,
        .view = &view_,
        .interrupts = &interrupts_,
        .on_message = [this](const LlmMessage& message) { Keep(message); },
        .on_answer = [this](const ToolAnswer& answer) { Save(answer); },
        .explain = [this](const absl::Status& status) { return Why(status); }};
  }

  // A failure to save something is reported but ends nothing.
  void ShowError(const absl::Status& status) {
    if (!status.ok()) view_.ShowNote(VisibleText(status.message()));
  }

  void Keep(const LlmMessage& message) {
    if (opened_.transcript) ShowError(opened_.transcript->Add(message));
    if (opened_.thread) {
      ShowError(opened_.thread->Save(Provider(), loop_.messages()));
    }
  }

  void Saved(const absl::StatusOr<std::vector<std::string>>& names) {
    ShowError(names.status());
    if (!names.ok() || names->empty()) return;
    view_.ShowNote(absl::StrCat("saved in ", options_.out_dir, ": ",
                                VisibleText(absl::StrJoin(*names, ", "))));
  }
  void Save(const ToolAnswer& answer) {
    if (answer.daemon_gone) Reconnect();
    if (opened_.out) Saved(opened_.out->SaveImages(answer));
  }
  // No call is in progress. If this fails, the next call's answer says why.
  void Reconnect() {
    absl::StatusOr<Daemon> daemon = OpenDaemon(daemon_.endpoint);
    if (daemon.ok()) daemon_ = *std::move(daemon);
  }
  void SaveFiles() {
    if (opened_.out) {
      Saved(opened_.out->SaveFiles(daemon_, sandboxes_.All()));
    }
  }

  bool AskApproval(const std::string& approval_id) {
    if (options_.no_input) {
      view_.ShowNote(absl::StrCat("a run waits for approval ",
                                  VisibleText(approval_id),
                                  ", and --no-input asks nobody"));
      return false;
    }
    return AskOnTerminal(daemon_, approval_id, interrupts_);
  }

  std::string Why(const absl::Status& status) const {
    std::string text = VisibleText(status.message());
    if (absl::IsUnauthenticated(status)) {
      absl::StrAppend(&text, "; the key is that in ",
                      VisibleText(opened_.settings.key_name));
    }
    return text;
  }

  const AgentOptions& options_;
  Opened& opened_;
  Daemon& daemon_;
  AgentInterrupts& interrupts_;
  AgentView view_;
  Toolbox toolbox_;
  Sandboxes sandboxes_;
  AgentTools tools_;
  AgentLoop loop_;
};

LlmMessage Said(std::string text) {
  LlmMessage message;
  message.text = std::move(text);
  return message;
}

int ExitCodeOf(TurnEnd end, Conversation& conversation,
               const AgentInterrupts& interrupts) {
  if (conversation.view().output_error() != 0) {
    return OutputFailure(conversation.view().output_error());
  }
  if (interrupts.ended_by() != 0) {
    return kExitSignalBase + interrupts.ended_by();
  }
  switch (end) {
    case TurnEnd::kDone:
      return kExitOk;
    case TurnEnd::kInterrupted:
      return kExitSignalBase + SIGINT;
    case TurnEnd::kRefused:
    case TurnEnd::kBounded:
    case TurnEnd::kFailed:
      return kExitError;
  }
  return kExitError;
}

int Interact(Conversation& conversation, AgentInterrupts& interrupts,
             const std::string& history) {
  LineEditor editor(interrupts, history);
  conversation.view().ShowNote(kHelp);
  while (true) {
    const std::optional<std::string> text = editor.Read();
    if (interrupts.ended_by() != 0) {
      return kExitSignalBase + interrupts.ended_by();
    }
    if (!text) return kExitOk;
    const absl::string_view words = absl::StripAsciiWhitespace(*text);
    if (words == "/exit" || words == "/quit") return kExitOk;
    if (words == "/help") conversation.view().ShowNote(kHelp);
    if (words.empty() || words == "/help") continue;
    conversation.Turn(Said(*text));
    if (conversation.view().output_error() != 0) {
      return OutputFailure(conversation.view().output_error());
    }
  }
}

}  // namespace

int AgentCommand(const Endpoint& endpoint, const AgentOptions& options) {
  const bool replays = !options.replay.empty();
  absl::StatusOr<AgentSettings> settings =
      LoadAgentSettings(options, Environment, !replays);
  if (!settings.ok()) return Fail(settings.status());
  Opened opened;
  opened.settings = *std::move(settings);
  if (absl::Status files = OpenFiles(options, opened); !files.ok()) {
    return Fail(files);
  }
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<AgentInterrupts>> interrupts =
      AgentInterrupts::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<std::unique_ptr<LlmClient>> llm = MakeLlm(opened, replays);
  if (!llm.ok()) return Fail(llm.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (absl::Status wishes = CheckWishes(*daemon, options, **interrupts);
      !wishes.ok()) {
    return Fail(wishes);
  }
  const std::vector<LlmMessage> said = UserMessages(opened.replayed);
  Conversation conversation(options, opened, *daemon, **llm, **interrupts);
  if (!options.prompt.empty()) {
    return ExitCodeOf(conversation.Turn(Said(options.prompt)), conversation,
                      **interrupts);
  }
  if (!replays) return Interact(conversation, **interrupts, opened.history);
  for (const LlmMessage& message : said) {
    const TurnEnd end = conversation.Turn(message);
    if (end != TurnEnd::kDone) {
      return ExitCodeOf(end, conversation, **interrupts);
    }
  }
  return ExitCodeOf(TurnEnd::kDone, conversation, **interrupts);
}

}  // namespace sandglass::client
