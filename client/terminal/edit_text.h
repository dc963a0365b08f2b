#ifndef SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_
#define SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/terminal/interrupt_watcher.h"

namespace sandglass::client {

// Has the user change a text in an editor ($VISUAL, $EDITOR, else vi) on the
// process's terminal, as a file of this name. Ctrl-C is the editor's; SIGTERM
// and SIGHUP end it, and this with CANCELLED.
//
// The file is in a directory of its own that only the user can read, below
// $XDG_RUNTIME_DIR, $TMPDIR or /tmp, and gone with all that the editor left
// beside it when this returns. Only SIGKILL can leave it there.
absl::StatusOr<std::string> EditText(const std::string& text,
                                     const std::string& name,
                                     InterruptWatcher& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_EDIT_TEXT_H_
