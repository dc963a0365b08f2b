#ifndef SANDGLASS_CLIENT_PROBE_REPORT_H_
#define SANDGLASS_CLIENT_PROBE_REPORT_H_

#include <string>
#include <vector>

// What the parts of the probe share: each attempt prints one line to standard
// output, "name=answer".
namespace sandglass::probe {

// Prints "OK", or the name of the error number, as the answer.
void Report(const char* name, long result, int error);

// Prints a text as the answer; characters that would break the line are
// replaced.
void ReportText(const std::string& name, const std::string& answer);

// Prints "none", or the names separated by commas, at most 200 bytes of them.
void ReportNames(const char* name, const std::vector<std::string>& found);

// Prints the last line: "done=N" for N lines before it. It shows the reader
// that no line is missing.
void ReportDone();

// The parts; each makes its attempts.
void TryCalls();
void TrySockets();
void TryNetwork();
void TryFiles();
void InspectSelf();

// Prints the inodes of the process's seven namespaces.
void ShowNamespaces();
// Leaves marks in everything that two jails could have in common, prints that
// it has, and stays.
[[noreturn]] void LeaveMarks(const std::string& mark);
// Looks for such marks.
void FindMarks(const std::string& mark);

// These run into one limit each, and return the exit code.
int UseMemory(long max_mebibytes);
int UseProcesses(long max);
int UseProcessor();
int UseTime();
int WriteOutput(long max_kibibytes);
int WriteFile(const char* path, long max_kibibytes);
int LeaveProcess();

}  // namespace sandglass::probe

#endif  // SANDGLASS_CLIENT_PROBE_REPORT_H_
