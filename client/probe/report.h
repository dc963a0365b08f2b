#ifndef SANDGLASS_CLIENT_PROBE_REPORT_H_
#define SANDGLASS_CLIENT_PROBE_REPORT_H_

#include <string>
#include <vector>

// What the parts of the probe share: each attempt is one line of standard
// output, "name=answer".
namespace sandglass::probe {

// The answer is OK, or the name of the error number.
void Report(const char* name, long result, int error);

// The answer is a text; what could break the line is replaced.
void ReportText(const std::string& name, const std::string& answer);

// The answer is "none", or the names with commas between them, at most 200
// bytes of them.
void ReportNames(const char* name, const std::vector<std::string>& found);

// The last line: "done=N" for N lines before it. Whoever reads the lines knows
// by it that none is missing.
void ReportDone();

// The parts, each with its attempts.
void TryCalls();
void TrySockets();
void TryNetwork();
void TryFiles();
void LookAtSelf();

// Prints the inodes of the process's seven namespaces.
void ShowNamespaces();
// Leaves marks in all that two jails could have in common, says so, and stays.
[[noreturn]] void LeaveMarks(const std::string& mark);
// Looks for such marks.
void LookForMarks(const std::string& mark);

// Run into one limit. They return what to exit with.
int UseMemory(long most_mebibytes);
int UseProcesses(long most);
int UseProcessor();
int UseTime();
int WriteOutput(long most_kibibytes);
int WriteFile(const char* path, long most_kibibytes);
int LeaveProcess();

}  // namespace sandglass::probe

#endif  // SANDGLASS_CLIENT_PROBE_REPORT_H_
