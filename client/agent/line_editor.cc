#include "client/agent/line_editor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/file_io.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {
namespace {

constexpr int kHistoryLines = 1000;
constexpr size_t kMaxText = 1 << 20;
constexpr char kPrompt[] = "> ";
constexpr char kMore[] = ". ";
constexpr char kFence[] = "\"\"\"";

}  // namespace

LineEditor::LineEditor(AgentInterrupts& interrupts, std::string history_file)
    : interrupts_(interrupts), history_file_(std::move(history_file)) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return;
  // Typed characters have the terminal's encoding.
  std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe)
  // Standard output is reserved for what the model says.
  editor_ = ::el_init("sandglass", stdin, stderr, stderr);
  if (editor_ == nullptr) return;
  ::el_set(editor_, EL_CLIENTDATA, this);
  ::el_set(editor_, EL_PROMPT, &LineEditor::Prompt);
  ::el_set(editor_, EL_EDITOR, "emacs");
  ::el_set(editor_, EL_SIGNAL, 0);
  ::el_set(editor_, EL_GETCFN, &LineEditor::GetCharacter);
  history_ = ::history_init();
  HistEvent event;
  ::history(history_, &event, H_SETSIZE, kHistoryLines);
  ::history(history_, &event, H_SETUNIQUE, 1);
  if (!history_file_.empty()) {
    ::history(history_, &event, H_LOAD, history_file_.c_str());
  }
  ::el_set(editor_, EL_HIST, history, history_);
}

LineEditor::~LineEditor() {
  if (history_ != nullptr) ::history_end(history_);
  if (editor_ != nullptr) ::el_end(editor_);
}

const char* LineEditor::Prompt(EditLine* editor) {
  LineEditor* self = nullptr;
  ::el_get(editor, EL_CLIENTDATA, &self);
  return self->prompt_;
}

// Waits for a key or a signal, which can only be noticed here.
int LineEditor::GetCharacter(EditLine* editor, wchar_t* character) {
  LineEditor* self = nullptr;
  ::el_get(editor, EL_CLIENTDATA, &self);
  std::mbstate_t state = {};
  while (true) {
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                    {self->interrupts_.prompt_fd(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (fds[1].revents != 0) {
      self->interrupts_.ConsumePromptSignal();
      self->dropped_ = true;
      return -1;
    }
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return 0;
    // It has a state of its own. NOLINTNEXTLINE(concurrency-mt-unsafe)
    const size_t length = std::mbrtowc(character, &byte, 1, &state);
    if (length == static_cast<size_t>(-2)) continue;
    if (length != static_cast<size_t>(-1)) return 1;
    // Invalid in this encoding: dropped.
    state = {};
  }
}

std::optional<std::string> LineEditor::ReadPlainLine() {
  while (true) {
    const size_t end = pending_.find('\n');
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                    {interrupts_.prompt_fd(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    if (fds[1].revents != 0 || pending_.size() > kMaxText) return std::nullopt;
    char buffer[4096];
    const ssize_t size = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      if (pending_.empty()) return std::nullopt;
      return std::exchange(pending_, "");
    }
    pending_.append(buffer, static_cast<size_t>(size));
  }
}

std::optional<std::string> LineEditor::ReadLine(const char* prompt,
                                                bool& dropped) {
  dropped = false;
  if (editor_ == nullptr) return ReadPlainLine();
  prompt_ = prompt;
  dropped_ = false;
  int count = 0;
  const char* line = ::el_gets(editor_, &count);
  if (dropped_) {
    ::el_reset(editor_);
    WriteAll(STDERR_FILENO, "^C\n");
    dropped = true;
    if (interrupts_.ended_by() != 0) return std::nullopt;
    return "";
  }
  if (line == nullptr || count <= 0) {
    WriteAll(STDERR_FILENO, "\n");
    return std::nullopt;
  }
  return std::string(absl::StripSuffix(line, "\n"));
}

std::optional<std::string> LineEditor::Read() {
  bool dropped = false;
  std::optional<std::string> line = ReadLine(kPrompt, dropped);
  if (!line || dropped) return line;
  std::string text;
  if (absl::StripAsciiWhitespace(*line) == kFence) {
    while (true) {
      line = ReadLine(kMore, dropped);
      if (!line || dropped) return line;
      if (absl::StripAsciiWhitespace(*line) == kFence) break;
      absl::StrAppend(&text, *line, "\n");
    }
  } else {
    while (absl::EndsWith(*line, "\\")) {
      line->pop_back();
      absl::StrAppend(&text, *line, "\n");
      line = ReadLine(kMore, dropped);
      if (!line || dropped) return line;
    }
    text += *line;
  }
  Remember(text);
  return text;
}

void LineEditor::Remember(const std::string& text) {
  if (history_ == nullptr || absl::StripAsciiWhitespace(text).empty()) return;
  HistEvent event;
  ::history(history_, &event, H_ENTER, text.c_str());
  if (history_file_.empty()) return;
  // Accessible only to its owner, because people type all kinds of things.
  const UniqueFd file(::open(history_file_.c_str(),
                             O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                             0600));
  if (file.get() >= 0) {
    ::history(history_, &event, H_SAVE, history_file_.c_str());
  }
}

}  // namespace sandglass::client
