#ifndef SANDGLASS_CLIENT_CLI_USAGE_WORDS_H_
#define SANDGLASS_CLIENT_CLI_USAGE_WORDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// Gives each command its heading in the help.
void GroupCommands(CLI::App& app);

// The command that was typed, with a space after it: "session run ", for
// example, or nothing. Call it only after parsing.
std::string TypedCommand(const CLI::App& app);

// The message for the first of `arguments` that nothing accepts, with the
// nearest command or option there is; empty when all were accepted. Call it
// only after parsing.
std::string UnexpectedWord(const CLI::App& app,
                           const std::vector<std::string>& arguments);

// The parser's words for a value that is missing or too many, as ours are;
// other messages unchanged.
std::string PlainWords(absl::string_view message);

// Whether a word stands where a command was expected, and is none.
bool LacksCommand(const CLI::App& app);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_USAGE_WORDS_H_
