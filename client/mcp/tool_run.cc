#include "client/mcp/tool_run.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(250);
constexpr size_t kProgressWords = 200;

// Reports a run's output as it arrives: the number of bytes so far, and the
// last line.
class ProgressReporter {
 public:
  ProgressReporter(const ToolRun& run, const SendMessage& send)
      : run_(run), send_(send) {}

  void Add(std::string_view bytes) {
    if (bytes.empty()) return;
    total_ += bytes.size();
    tail_.append(bytes.substr(bytes.size() -
                              std::min(bytes.size(), 2 * kProgressWords)));
    if (tail_.size() > 4 * kProgressWords) {
      tail_.erase(0, tail_.size() - 2 * kProgressWords);
    }
    const absl::Time now = absl::Now();
    if (now < next_) return;
    next_ = now + kProgressInterval;
    send_(McpProtocol::Progress(run_, static_cast<double>(total_), LastLine()));
  }

 private:
  std::string LastLine() const {
    absl::string_view text = absl::StripTrailingAsciiWhitespace(tail_);
    const size_t newline = text.rfind('\n');
    if (newline != absl::string_view::npos) text.remove_prefix(newline + 1);
    // Harmless for whatever displays it, and UTF-8 even if the tail was cut.
    return VisibleText(text.substr(0, kProgressWords));
  }

  const ToolRun& run_;
  const SendMessage& send_;
  uint64_t total_ = 0;
  std::string tail_;
  absl::Time next_ = absl::InfinitePast();
};

// Removes arguments that are null, because those count as absent.
Json WithoutNulls(const Json& arguments) {
  Json kept = Json::object();
  for (const auto& [name, value] : arguments.items()) {
    if (!value.is_null()) kept[name] = value;
  }
  return kept;
}

}  // namespace

Json CarryOut(const McpProtocol& protocol, const ToolRun& run,
              CallCancel& cancel, const SendMessage& send) {
  const std::string problem =
      CheckArguments(run.tool->input_schema, run.arguments);
  // Not an error of the protocol, so that a model can read it and correct the
  // call.
  if (!problem.empty()) {
    ToolAnswer answer;
    answer.text = absl::StrCat(run.tool->name, ": ", problem);
    answer.is_error = true;
    return protocol.Finished(run, answer);
  }
  ProgressReporter reporter(run, send);
  ToolContext context{cancel, {}};
  if (!run.progress_token.is_null()) {
    context.progress = [&](std::string_view bytes) { reporter.Add(bytes); };
  }
  return protocol.Finished(
      run, run.tool->call(WithoutNulls(run.arguments), context));
}

}  // namespace sandglass::client
