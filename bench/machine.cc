#include "bench/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/command.h"

namespace sandglass::bench {
namespace {

// The value of the first "key : value" line of a proc file; "" when absent.
std::string FindValue(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return "";
}

std::string Memory() {
  const std::string text(
      absl::StripSuffix(FindValue("/proc/meminfo", "MemTotal"), " kB"));
  uint64_t kilobytes = 0;
  if (!absl::SimpleAtoi(text, &kilobytes)) return "unknown";
  return absl::StrFormat("%.1f GiB",
                         static_cast<double>(kilobytes) / (1 << 20));
}

std::string FileLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string PackageVersion(const char* package) {
  const absl::StatusOr<CommandResult> result = RunCommand(
      {.argv = {"/usr/bin/dpkg-query", "-W", "-f", "${Version}", package},
       .env = {"PATH=/usr/bin:/bin"}});
  return result.ok() && !result->output.empty() ? result->output
                                                : "not installed";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> DescribeMachine() {
  std::vector<std::pair<std::string, std::string>> facts;
  const std::string model = FindValue("/proc/cpuinfo", "model name");
  facts.emplace_back(
      "processor",
      absl::StrCat(model.empty() ? "unknown" : model, ", ",
                   ::sysconf(_SC_NPROCESSORS_ONLN), " online, ",
                   FindValue("/proc/cpuinfo", "flags").find(" hypervisor") !=
                           std::string::npos
                       ? "virtual machine"
                       : "no hypervisor seen"));
  const std::string governor =
      FileLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) facts.emplace_back("frequency governor", governor);
  facts.emplace_back("memory", Memory());
  utsname name = {};
  if (::uname(&name) == 0) {
    facts.emplace_back("kernel", absl::StrCat(name.sysname, " ", name.release,
                                              " ", name.machine));
  }
  facts.emplace_back("debian", FileLine("/etc/debian_version"));
  for (const char* package : {"python3", "python3-pandas", "python3-matplotlib",
                              "bubblewrap", "crun", "runc"}) {
    facts.emplace_back(absl::StrCat("package ", package),
                       PackageVersion(package));
  }
  return facts;
}

int64_t AvailableBytes() {
  const std::string text(
      absl::StripSuffix(FindValue("/proc/meminfo", "MemAvailable"), " kB"));
  int64_t kilobytes = 0;
  return absl::SimpleAtoi(text, &kilobytes) ? kilobytes * 1024 : 0;
}

CpuTicks ReadCpuTicks() {
  // user nice system idle iowait irq softirq steal; guest time, which follows,
  // is already in user.
  std::istringstream line(FileLine("/proc/stat"));
  std::string label;
  line >> label;
  std::array<uint64_t, 8> ticks = {};
  for (uint64_t& value : ticks) line >> value;
  CpuTicks result;
  for (const uint64_t value : ticks) result.all += value;
  result.stolen = ticks[7];
  result.busy = result.all - ticks[3] - ticks[4] - ticks[7];
  return result;
}

std::string StolenBetween(const CpuTicks& start, const CpuTicks& end) {
  return absl::StrFormat(
      "%.1f %%", Percent(end.stolen - start.stolen, end.all - start.all));
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0
             ? 0
             : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace sandglass::bench
