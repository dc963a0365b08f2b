// A static program that runs inside a jail and tries what a hostile program
// would. It prints one "name=answer" line per attempt and "done=N" at the end.
// It decides nothing: client/doctor/attempts.cc says what is expected.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "client/probe/report.h"

namespace sandglass::probe {
namespace {

constexpr char kUsage[] =
    "usage: sandglass-probe inside | calls | sockets | network | files | self\n"
    "       sandglass-probe leave MARK | look MARK\n"
    "       sandglass-probe memory MIB | processes N | cpu | wall | left\n"
    "       sandglass-probe output KIB | file PATH KIB\n";

// The arguments can't exceed these limits.
constexpr long kMaxMebibytes = 2048;
constexpr long kMaxProcesses = 2048;
constexpr long kMaxKibibytes = 512L << 10;

long Number(const char* text, long max) {
  return std::clamp(strtol(text, nullptr, 10), 0L, max);
}

// Returns false for an unknown word.
bool Inspect(const std::string& what) {
  const bool all = what == "inside";
  // ORDER: calls last, because one that succeeds changes the process.
  if (all || what == "self") InspectSelf();
  if (all || what == "files") TryFiles();
  if (all || what == "sockets") TrySockets();
  if (all || what == "network") TryNetwork();
  if (all || what == "calls") TryCalls();
  return all || what == "self" || what == "files" || what == "sockets" ||
         what == "network" || what == "calls";
}

// Returns -1 for an unknown word.
int Act(int argc, char** argv) {
  const std::string what = argv[1];
  if (argc == 2) {
    if (what == "cpu") return UseProcessor();
    if (what == "wall") return UseTime();
    if (what == "left") return LeaveProcess();
  }
  if (argc == 3) {
    if (what == "memory") return UseMemory(Number(argv[2], kMaxMebibytes));
    if (what == "processes") {
      return UseProcesses(Number(argv[2], kMaxProcesses));
    }
    if (what == "output") return WriteOutput(Number(argv[2], kMaxKibibytes));
  }
  if (argc == 4 && what == "file") {
    return WriteFile(argv[2], Number(argv[3], kMaxKibibytes));
  }
  return -1;
}

int Main(int argc, char** argv) {
  // Outside of a jail, some of these attempts would do harm.
  char directory[64] = "";
  if (geteuid() == 0 || getcwd(directory, sizeof(directory)) == nullptr ||
      strcmp(directory, "/workspace") != 0) {
    fputs("sandglass-probe: runs only in a jail, as an ordinary user\n",
          stderr);
    return 3;
  }
  const std::string what = argc > 1 ? argv[1] : "";
  if (argc == 3 && what == "leave") LeaveMarks(argv[2]);
  if (argc == 3 && what == "look") {
    FindMarks(argv[2]);
    ShowNamespaces();
    ReportDone();
    return 0;
  }
  if (argc == 2 && Inspect(what)) {
    ReportDone();
    return 0;
  }
  const int code = argc > 1 ? Act(argc, argv) : -1;
  if (code >= 0) return code;
  fputs(kUsage, stderr);
  return 2;
}

}  // namespace
}  // namespace sandglass::probe

int main(int argc, char** argv) { return sandglass::probe::Main(argc, argv); }
