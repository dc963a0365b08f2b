// The commands of `sandglass session` that concern files.

#include <CLI/CLI.hpp>
#include <memory>

#include "client/flags/flag_values.h"
#include "client/session/session_command_line.h"
#include "client/session/session_flags.h"

namespace sandglass::client {
namespace {

constexpr char kPutHelp[] = R"(
LOCAL and REMOTE are files or directories, as cp takes them; a relative REMOTE is
below /workspace, where missing directories are made. Nobody in the session sees
a part of a file. Symbolic links inside of directories are left out.

Examples:
  sandglass session put "$id" sales.csv                  # /workspace/sales.csv
  sandglass session put "$id" january.csv february.csv data/
  sandglass session put "$id" project /workspace/copy    # a whole directory
  date | sandglass session put "$id" - now.txt
)";

constexpr char kGetHelp[] = R"(
As cp does it. A file here is replaced when the other is there as a whole.
Symbolic links are left out, and nothing is written outside of LOCAL, whatever
the names in the session are.

Examples:
  sandglass session get "$id" report.pdf                 # ./report.pdf
  sandglass session get "$id" /workspace results         # a whole directory
  sandglass session get "$id" out.csv - | head
)";

CLI::Option* AddLocals(CLI::App& app) {
  return AddWords(app, "LOCAL",
                  "Files and directories here, - for standard input, and "
                  "REMOTE",
                  "... REMOTE")
      ->required();
}

}  // namespace

void SessionCommandLine::AddPut() {
  CLI::App& app = Add("put", "Copy files and directories into a session");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* paths = AddLocals(app);
  app.footer(kPutHelp);
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionPutOptions taken;
    taken.session_id = ValueOf(id).value_or("");
    taken.local = paths->results();
    if (taken.local.size() == 1) {
      if (taken.local[0] == "-") {
        return Wrong(
            "say which file of the session standard input becomes: put ID - "
            "REMOTE");
      }
      taken.remote = ".";
    } else {
      taken.remote = taken.local.back();
      taken.local.pop_back();
    }
    if (taken.remote.empty()) return Wrong("REMOTE is empty");
    return taken;
  };
}

void SessionCommandLine::AddGet() {
  CLI::App& app = Add("get", "Copy a file or directory out of a session");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* remote =
      AddValue(app, "REMOTE", "A file or directory of the session")->required();
  CLI::Option* local =
      AddValue(app, "LOCAL", "Where to, - for standard output (default: .)");
  app.footer(kGetHelp);
  commands_.back().take = [=]() -> absl::StatusOr<SessionOptions> {
    SessionGetOptions taken{ValueOf(id).value_or(""),
                            ValueOf(remote).value_or(""),
                            ValueOf(local).value_or(".")};
    if (taken.remote.empty()) return Wrong("REMOTE is empty");
    if (taken.local.empty()) return Wrong("LOCAL is empty");
    return taken;
  };
}

void SessionCommandLine::AddCat() {
  CLI::App& app = Add("cat", "Print files of a session");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* remote =
      AddWords(app, "REMOTE", "Files of the session", "")->required();
  commands_.back().take = [=] {
    return SessionCatOptions{ValueOf(id).value_or(""), remote->results()};
  };
}

void SessionCommandLine::AddLs() {
  CLI::App& app = Add("ls", "Show what is in a directory of a session");
  const auto options = std::make_shared<SessionLsOptions>();
  CLI::Option* id = AddSessionId(app);
  CLI::Option* path =
      AddValue(app, "PATH", "A directory or file (default: /workspace)");
  app.add_flag("-l", options->details, "Permissions, size and time, too");
  app.add_flag("-a,--all", options->all, "Names that begin with a dot, too");
  app.add_flag("--json", options->json,
               "As proto JSON (ListDirectoryResponse)");
  commands_.back().take = [=] {
    SessionLsOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    taken.path = ValueOf(path).value_or("");
    return taken;
  };
}

void SessionCommandLine::AddSnapshot() {
  CLI::App& app = Add("snapshot", "Write a session's files as a tar archive");
  CLI::Option* id = AddSessionId(app);
  CLI::Option* path =
      AddValue(app, "PATH", "A directory (default: /workspace)");
  CLI::Option* output = AddValue(app, "-o,--output",
                                 "Where to (default: standard output)", "FILE");
  commands_.back().take = [=] {
    return SessionSnapshotOptions{ValueOf(id).value_or(""),
                                  ValueOf(path).value_or(""), ValueOf(output)};
  };
}

void SessionCommandLine::AddRestore() {
  CLI::App& app = Add("restore", "Unpack a tar archive in a session");
  const auto options = std::make_shared<SessionRestoreOptions>();
  CLI::Option* id = AddSessionId(app);
  CLI::Option* input =
      AddValue(app, "FILE", "The archive, not compressed; - is standard input")
          ->required();
  CLI::Option* path =
      AddValue(app, "PATH", "A directory to unpack in (default: /workspace)");
  app.add_flag("--replace", options->replace,
               "Remove first what is in the directory");
  app.add_flag("--json", options->json, "As proto JSON (RestoreFilesResponse)");
  commands_.back().take = [=] {
    SessionRestoreOptions taken = *options;
    taken.session_id = ValueOf(id).value_or("");
    taken.input = ValueOf(input).value_or("");
    taken.path = ValueOf(path).value_or("");
    return taken;
  };
}

}  // namespace sandglass::client
