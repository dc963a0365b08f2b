#ifndef SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_
#define SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/terminal/interrupt_watcher.h"

namespace sandglass::client {

// Lets the user change a text in an editor ($VISUAL, $EDITOR, else vi) on the
// process's terminal; the file has the name `name`. Ctrl-C goes to the editor.
// SIGTERM and SIGHUP end the editor, and this call with CANCELLED.
//
// The file is in a directory of its own that only the user can read, below
// $XDG_RUNTIME_DIR, $TMPDIR or /tmp. When this returns, it is removed together
// with everything that the editor left beside it. Only SIGKILL can prevent
// that.
absl::StatusOr<std::string> EditText(const std::string& text,
                                     const std::string& name,
                                     InterruptWatcher& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_
