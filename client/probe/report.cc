#include "client/probe/report.h"

#include <stdio.h>
#include <string.h>

namespace sandglass::probe {
namespace {

constexpr size_t kMaxBytes = 200;
int lines = 0;

}  // namespace

void ReportText(const std::string& name, const std::string& answer) {
  std::string line = name + "=" + answer;
  for (char& c : line) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  printf("%s\n", line.c_str());
  // A later attempt may end this process.
  fflush(stdout);
  ++lines;
}

void Report(const char* name, long result, int error) {
  const char* text = result >= 0 ? "OK" : strerrorname_np(error);
  ReportText(name, text == nullptr ? "?" : text);
}

void ReportNames(const char* name, const std::vector<std::string>& found) {
  std::string text;
  for (const std::string& each : found) {
    if (text.size() + each.size() > kMaxBytes) {
      text += ",...";
      break;
    }
    text += (text.empty() ? "" : ",") + each;
  }
  ReportText(name, text.empty() ? "none" : text);
}

void ReportDone() { ReportText("done", std::to_string(lines)); }

}  // namespace sandglass::probe
