#ifndef SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_
#define SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_

#include <string>
#include <vector>

#include "client/toolbox/answer_text.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/toolbox.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// The verdict in a few words, for example "exit 1 after 0.41 s, peak 38 MiB" or
// "stopped: memory limit after 0.2 s: …".
std::string VerdictWords(const v1::RunCodeResponse& run);

// Adds lines for what else a model should know about a run: what was left over,
// lost, found, refused or redacted, and hints.
void AddNotes(const v1::RunCodeResponse& run, AnswerText& text);

// Adds the error that ended a cell, its values and its displays: texts to
// `text`, images to `images` as far as the bounds allow.
void AddResults(const v1::RunCodeResponse& run, const ToolBounds& bounds,
                AnswerText& text, std::vector<ToolImage>& images);

// Adds the files that came back: images to `images`, and the names of all to
// `text`.
void AddFiles(const v1::RunCodeResponse& run, const ToolBounds& bounds,
              AnswerText& text, std::vector<ToolImage>& images);

// Converts a command's end to that of a run, with everything that a run has
// too.
v1::RunCodeResponse RunOf(const v1::ExecEnd& end);

// The type of an image that models can see, recognised by its first bytes: PNG,
// JPEG or GIF; otherwise empty.
std::string ImageTypeOf(absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_RUN_WORDS_H_
