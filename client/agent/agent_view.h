#ifndef SANDGLASS_CLIENT_AGENT_AGENT_VIEW_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_VIEW_H_

#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/base/terminal_filter.h"
#include "client/llm/llm_event.h"
#include "client/terminal/inline_image.h"
#include "client/toolbox/tool_answer.h"

namespace sandglass::client {

// Shows a conversation: what the model says on standard output, everything else
// on standard error. Text from models and programs is made harmless when it
// goes to a terminal. Thread-safe.
class AgentView {
 public:
  // `verbose`: also shows programs, what they print, and results as the model
  // sees them. `images` shows pictures on standard error.
  AgentView(bool verbose, const InlineImages& images);

  void ModelText(std::string_view text) ABSL_LOCKS_EXCLUDED(mutex_);
  void Thinking(std::string_view text) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the model's text before tools or at the end of the turn.
  void EndOfText() ABSL_LOCKS_EXCLUDED(mutex_);
  void ToolStarts(const LlmToolCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void ToolOutput(std::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void ToolEnds(const LlmToolCall& call, const ToolAnswer& answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Prints a line of our own.
  void ShowNote(std::string_view text) ABSL_LOCKS_EXCLUDED(mutex_);
  void Usage(const LlmUsage& usage, int requests) ABSL_LOCKS_EXCLUDED(mutex_);

  // The errno with which standard output failed; 0: it didn't fail.
  int output_error() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool verbose() const { return verbose_; }

 private:
  void Out(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Err(std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool verbose_;
  const bool out_is_terminal_;
  mutable absl::Mutex mutex_;
  TerminalFilter out_filter_ ABSL_GUARDED_BY(mutex_);
  TerminalFilter err_filter_ ABSL_GUARDED_BY(mutex_);
  InlineImages images_ ABSL_GUARDED_BY(mutex_);
  // Whether the last line is unfinished.
  bool in_out_line_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_err_line_ ABSL_GUARDED_BY(mutex_) = false;
  int output_error_ ABSL_GUARDED_BY(mutex_) = 0;
};

// One line that says what a call does: "run_code python, 12 lines".
std::string CallSummary(const LlmToolCall& call);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_VIEW_H_
