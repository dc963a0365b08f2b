// What a program can learn about the host. It hands over all it can read; what
// of the host is in there, and which files tell something, is on a list here.

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

// Every file outside the image's /usr, with its content, and what calls say.
constexpr char kCollect[] = R"py(
import os, socket, sys, time
out = open('/workspace/all', 'wb')
names = []
def take(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        text = os.read(fd, 1 << 16)
    except OSError:
        text = b''
    os.close(fd)
    if text:
        names.append(path)
        # Of what daemons prepared there may be much, by several versions.
        if path.startswith('/var/cache/sandglass/'): text = text[:256]
        out.write(b'\n=== ' + path.encode() + b'\n' + text)
for top in '/proc', '/sys', '/etc', '/dev', '/run', '/var', '/proc/self/':
    for directory, below, files in os.walk(top):
        if top == '/proc':
            below[:] = [d for d in below
                        if not d.isdigit() and d not in ('self', 'thread-self')]
        else:
            below[:] = [d for d in below if d not in ('task', 'map_files', 'fd',
                                                      'cwd', 'root')]
        for file in files:
            if directory.startswith(('/dev', '/etc/ssl', '/etc/fonts',
                                     '/etc/java', '/etc/alternatives')):
                continue
            if file in ('mem', 'pagemap', 'exe'): continue
            take(os.path.join(directory, file))
out.write(('\n=== calls\n%r\n%r\n%r\n%r\n%r\n' % (
    dict(os.environ), os.uname(), socket.gethostname(), os.getcwd(),
    os.getloadavg())).encode())
for path in '/', '/usr', '/workspace', '/tmp':
    out.write(repr(os.statvfs(path)).encode())
out.close()
open('/workspace/names', 'w').write('\n'.join(sorted(names)))
)py";

class HostLeaks : public HostileTest {
 protected:
  static v1::RunCodeRequest Collector(Way way) {
    v1::RunCodeRequest request;
    if (way == Way::kPython) {
      request = Python(kCollect);
    } else {
      request = way == Way::kExec ? Bash("exec python3 collect.py")
                : way == Way::kRuby
                    ? Program("ruby", "exec('python3', 'collect.py')")
                    : Program("javascript",
                              "require('child_process').spawnSync("
                              "'python3', ['collect.py'])");
      v1::InputFile* file = request.add_files();
      file->set_path("collect.py");
      file->set_content(kCollect);
    }
    request.add_fetch("all");
    request.add_fetch("names");
    return request;
  }

  static std::map<std::string, std::string> Collect(Way way) {
    const RunResult result = Run(Collector(way));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    std::map<std::string, std::string> files;
    for (const v1::OutputFile& file : result.response.files()) {
      files[file.path()] = file.content();
    }
    EXPECT_GT(files["all"].size(), 10'000U) << NameOf(way);
    return files;
  }

  static std::string Line(const std::string& path) {
    return std::string(absl::StripAsciiWhitespace(ReadFile(path)));
  }
};

// Of the list: names end with "*" where what follows differs between kernels.
bool IsListed(const std::string& name, const std::vector<std::string>& list) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& entry) {
    return absl::EndsWith(entry, "*")
               ? absl::StartsWith(name, entry.substr(0, entry.size() - 1))
               : name == entry;
  });
}

TEST_F(HostLeaks, OnlyListedFilesCanBeRead) {
  const std::vector<std::string> list = absl::StrSplit(
      ReadFile(absl::StrCat(SANDGLASS_SOURCE_DIR,
                            "/tests/security/host/readable_files.txt")),
      '\n', absl::SkipEmpty());
  for (const Way way : kAllWays) {
    const std::string names = Collect(way)["names"];
    for (const absl::string_view name :
         absl::StrSplit(names, '\n', absl::SkipEmpty())) {
      EXPECT_TRUE(IsListed(std::string(name), list))
          << name << " in " << NameOf(way);
    }
  }
}

TEST_F(HostLeaks, OnlyListedFactsOfTheHostShow) {
  char node[256] = {};
  ::gethostname(node, sizeof(node) - 1);
  // What no program may learn.
  std::map<std::string, std::string> secrets = {
      {"the daemon's directory", daemon().directory()},
      {"bait", host().directory()},
      {"host name in uname", absl::StrCat("nodename='", node, "'")},
      {"machine id", Line("/etc/machine-id")},
      {"kernel command line", Line("/proc/cmdline")},
      {"this process", "sandglass_security_test"},
  };
  secrets["size of memory"] = ReadFile("/proc/meminfo").substr(0, 28);
  for (const std::string& group : GroupsOf(daemon().pid())) {
    const std::string path = group.substr(group.find(':') + 1);
    if (path != "/") secrets["group " + group] = path;
  }
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/class/net")) {
    const std::string address = Line(entry.path() / "address");
    if (address != "00:00:00:00:00:00" && !address.empty()) {
      secrets["address of " + entry.path().filename().string()] = address;
    }
  }
  for (const char* name : {"product_uuid", "product_serial", "product_name",
                           "board_serial", "sys_vendor"}) {
    const std::string value = Line(absl::StrCat("/sys/class/dmi/id/", name));
    if (value.size() > 6 && value != "<missing>") secrets[name] = value;
  }
  // What shows, and why it may: docs/security.md.
  const std::map<std::string, std::string> shows = {
      {"boot id", Line("/proc/sys/kernel/random/boot_id")},
      {"release of the kernel", Line("/proc/sys/kernel/osrelease")},
      {"time of boot",
       [] {
         const std::string stat = ReadFile("/proc/stat");
         const size_t at = stat.find("btime ");
         return stat.substr(at, stat.find('\n', at) - at);
       }()},
      {"model of the processor",
       [] {
         const std::string text = ReadFile("/proc/cpuinfo");
         const size_t at = text.find("model name");
         return text.substr(at, text.find('\n', at) - at);
       }()},
  };
  for (const Way way : kAllWays) {
    const std::string all = Collect(way)["all"];
    for (const auto& [name, text] : secrets) {
      if (text.size() < 4 || text == "<missing>") continue;
      const size_t at = all.find(text);
      EXPECT_EQ(at, std::string::npos)
          << name << " in " << NameOf(way) << ": "
          << all.substr(
                 at == std::string::npos ? 0 : at - std::min<size_t>(at, 200),
                 300);
    }
    for (const auto& [name, text] : shows) {
      EXPECT_TRUE(absl::StrContains(all, text))
          << name << " doesn't show any more in " << NameOf(way)
          << ": docs/security.md says otherwise";
    }
  }
}

}  // namespace
}  // namespace sandglass::testing
