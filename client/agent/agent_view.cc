#include "client/agent/agent_view.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/utf8_check.h"
#include "client/llm/json_value.h"
#include "client/llm/view.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

constexpr size_t kMaxSummary = 100;

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxSummary) return text;
  return absl::StrCat(text.substr(0, WholeCharacters(text, kMaxSummary)), "…");
}

std::string TextOf(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>()
                                                   : "";
}

nlohmann::json ArgumentsOf(const LlmToolCall& call) {
  nlohmann::json json = ParseJson(call.arguments);
  return json.is_object() ? json : nlohmann::json::object();
}

}  // namespace

std::string CallSummary(const LlmToolCall& call) {
  const nlohmann::json json = ArgumentsOf(call);
  std::string text = VisibleText(call.name);
  if (const std::string code = TextOf(json, "code"); !code.empty()) {
    const auto lines = 1 + std::count(code.begin(), code.end(), '\n') -
                       (code.back() == '\n' ? 1 : 0);
    absl::StrAppend(&text, " ", VisibleText(TextOf(json, "language")), ", ",
                    lines, lines == 1 ? " line" : " lines");
  }
  for (const char* key : {"command", "command_id", "path", "name"}) {
    const std::string value = TextOf(json, key);
    if (!value.empty()) {
      absl::StrAppend(&text, " ", VisibleText(Shortened(value)));
    }
  }
  if (const std::string sandbox = TextOf(json, "sandbox"); !sandbox.empty()) {
    absl::StrAppend(&text, " in ", VisibleText(Shortened(sandbox)));
  }
  return text;
}

AgentView::AgentView(bool verbose, const InlineImages& images)
    : verbose_(verbose),
      out_is_terminal_(::isatty(STDOUT_FILENO) != 0),
      images_(images) {}

int AgentView::output_error() const {
  const absl::MutexLock lock(&mutex_);
  return output_error_;
}

void AgentView::Out(std::string_view bytes) {
  if (bytes.empty() || output_error_ != 0) return;
  output_error_ = WriteAll(STDOUT_FILENO, View(bytes));
  in_out_line_ = bytes.back() != '\n';
}

void AgentView::Err(std::string_view text) {
  if (text.empty()) return;
  WriteAll(STDERR_FILENO, View(text));
  in_err_line_ = text.back() != '\n';
}

void AgentView::EndLines() {
  Out(out_filter_.Finish());
  Err(err_filter_.Finish());
  if (in_out_line_) Out("\n");
  if (in_err_line_) Err("\n");
}

void AgentView::ModelText(std::string_view text) {
  const absl::MutexLock lock(&mutex_);
  if (in_err_line_) Err("\n");
  // Who pipes it elsewhere gets what the model wrote.
  Out(out_is_terminal_ ? out_filter_.Feed(View(text)) : std::string(text));
}

void AgentView::Thinking(std::string_view text) {
  if (!verbose_) return;
  const absl::MutexLock lock(&mutex_);
  Err(err_filter_.Feed(View(text)));
}

void AgentView::EndOfText() {
  const absl::MutexLock lock(&mutex_);
  EndLines();
}

void AgentView::ToolStarts(const LlmToolCall& call) {
  const absl::MutexLock lock(&mutex_);
  EndLines();
  Err(absl::StrCat("> ", CallSummary(call), "\n"));
  if (!verbose_) return;
  const nlohmann::json json = ArgumentsOf(call);
  for (const char* key : {"code", "content", "file_text", "old_text", "old_str",
                          "new_text", "new_str"}) {
    const std::string text = TextOf(json, key);
    if (text.empty()) continue;
    TerminalFilter filter;
    Err(absl::StrCat(filter.Feed(text), filter.Finish()));
    EndLines();
  }
}

void AgentView::ToolOutput(std::string_view bytes) {
  if (!verbose_) return;
  const absl::MutexLock lock(&mutex_);
  Err(err_filter_.Feed(View(bytes)));
}

void AgentView::ToolEnds(const LlmToolCall& call, const ToolAnswer& answer) {
  const absl::MutexLock lock(&mutex_);
  EndLines();
  TerminalFilter filter;
  // With verbose, what came as progress is shown already.
  const std::string& whole =
      answer.untold.empty() ? answer.text : answer.untold;
  Err(absl::StrCat("< ", verbose_ ? absl::StrCat(CallSummary(call), "\n") : "",
                   filter.Feed(verbose_ ? whole : FirstLine(answer.text)),
                   filter.Finish()));
  EndLines();
  for (const ToolImage& image : answer.images) {
    const std::string picture = images_.Show(image.bytes);
    if (!picture.empty()) Err(absl::StrCat(picture, "\n"));
  }
}

void AgentView::ShowNote(std::string_view text) {
  const absl::MutexLock lock(&mutex_);
  EndLines();
  TerminalFilter filter;
  Err(absl::StrCat("sandglass: ", filter.Feed(View(text)), filter.Finish()));
  EndLines();
}

void AgentView::Usage(const LlmUsage& usage, int requests) {
  if (usage.input_tokens + usage.output_tokens == 0) return;
  ShowNote(
      absl::StrCat(usage.input_tokens, " tokens in",
                   usage.cached_tokens == 0
                       ? ""
                       : absl::StrCat(" (", usage.cached_tokens, " cached)"),
                   ", ", usage.output_tokens, " out, ", requests,
                   requests == 1 ? " request" : " requests"));
}

}  // namespace sandglass::client
