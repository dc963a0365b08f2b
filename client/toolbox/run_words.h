#ifndef SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_
#define SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/toolbox/answer_text.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/toolbox.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// "exit 1 after 0.41 s, peak 38 MiB", "stopped: memory limit after 0.2 s: …".
std::string VerdictWords(const v1::RunCodeResponse& run);

// Lines of what else a model should know of a run: what was left, lost, found,
// refused, redacted, and hints.
void AddNotes(const v1::RunCodeResponse& run, AnswerText& text);

// An error that ended a cell, and its values and displays: texts go to `text`,
// images to `images` as far as the bounds allow.
void AddResults(const v1::RunCodeResponse& run, const ToolBounds& bounds,
                AnswerText& text, std::vector<ToolImage>& images);

// Files that came back: images go to `images`, all are named.
void AddFiles(const v1::RunCodeResponse& run, const ToolBounds& bounds,
              AnswerText& text, std::vector<ToolImage>& images);

// A command's end with all that is told of a run.
v1::RunCodeResponse RunOf(const v1::ExecEnd& end);

// The type of an image that models can see, by its first bytes: PNG, JPEG or
// GIF; else empty.
std::string ImageTypeOf(absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_
