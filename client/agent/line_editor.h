#ifndef SANDGLASS_CLIENT_AGENT_LINE_EDITOR_H_
#define SANDGLASS_CLIENT_AGENT_LINE_EDITOR_H_

#include <histedit.h>

#include <optional>
#include <string>

#include "client/agent/agent_interrupts.h"

namespace sandglass::client {

// Reads what a person types, with editing and a history that is kept in a file.
// If standard input isn't a terminal, it reads plain lines.
class LineEditor {
 public:
  // `history_file` may be empty: no history is kept. `interrupts` has to
  // outlive this object.
  LineEditor(AgentInterrupts& interrupts, std::string history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Returns what was typed up to Enter. A line that ends in a backslash
  // continues in the next one; between two lines """ everything is taken
  // literally. Ctrl-C drops what was typed, and the result is empty. nullopt:
  // the end (Ctrl-D, or a signal).
  std::optional<std::string> Read();

 private:
  std::optional<std::string> ReadLine(const char* prompt, bool& dropped);
  std::optional<std::string> ReadPlainLine();
  void Remember(const std::string& text);
  static int GetCharacter(EditLine* editor, wchar_t* character);
  static const char* Prompt(EditLine* editor);

  AgentInterrupts& interrupts_;
  const std::string history_file_;
  EditLine* editor_ = nullptr;  // null: not a terminal
  History* history_ = nullptr;
  const char* prompt_ = "";
  bool dropped_ = false;
  std::string pending_;  // plain input that was read but not used yet
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_LINE_EDITOR_H_
