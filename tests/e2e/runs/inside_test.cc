// The jail as a program inside it finds it.

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "client/doctor/attempts.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Inside : public DaemonTest {
 protected:
  // Runs the probe with one argument inside a jail; its lines by name.
  static std::map<std::string, std::vector<std::string>> Probe(
      const std::string& what) {
    std::ifstream file(PROBE_PATH, std::ios::binary);
    v1::RunCodeRequest request = Bash("./probe \"$1\"; exit $?");
    request.add_args(what);
    v1::InputFile* probe = request.add_files();
    probe->set_path("probe");
    probe->set_content(std::string(std::istreambuf_iterator<char>(file), {}));
    probe->set_executable(true);
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    std::map<std::string, std::vector<std::string>> lines;
    for (const std::string& line : Lines(result.response.stdout().data())) {
      const size_t equals = line.find('=');
      if (equals == std::string::npos) {
        ADD_FAILURE() << "not a line of the probe: " << line;
        continue;
      }
      lines[line.substr(0, equals)].push_back(line.substr(equals + 1));
    }
    EXPECT_EQ(lines.erase("done"), 1U) << "the probe did not get to its end";
    return lines;
  }

  static std::string Output(const v1::RunCodeRequest& request) {
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    return result.response.stdout().data();
  }
};

void Compare(const std::map<std::string, std::vector<std::string>>& lines,
             absl::Span<const client::Attempt> table) {
  std::map<std::string, client::Attempt> expected;
  for (const client::Attempt& row : table) expected[row.name] = row;
  for (const auto& [name, attempt] : expected) {
    ASSERT_TRUE(lines.contains(name)) << "the probe did not try " << name;
    EXPECT_TRUE(client::IsExpected(attempt, lines.at(name).front()))
        << name << "=" << lines.at(name).front() << ", not "
        << attempt.expected;
  }
  for (const auto& [name, results] : lines) {
    EXPECT_TRUE(expected.contains(name))
        << name << "=" << results.front() << " is in no table";
  }
}

TEST_F(Inside, TheProcessHasNothingAndSeesNobody) {
  Compare(Probe("self"), client::SelfAttempts());
}

TEST_F(Inside, FilesAreTheImagesAndItsOwn) {
  Compare(Probe("files"), client::FileAttempts());
}

TEST_F(Inside, DangerousCallsAreRefused) {
  Compare(Probe("calls"), client::CallAttempts());
}

TEST_F(Inside, OnlyHarmlessSocketsCanBeMade) {
  Compare(Probe("sockets"), client::SocketAttempts());
}

TEST_F(Inside, TheNetworkIsALoopbackOfItsOwn) {
  Compare(Probe("network"), client::NetworkAttempts());
}

TEST_F(Inside, ThereIsExactlyOneNetworkLink) {
  EXPECT_EQ(Output(Python("import socket\nprint(socket.if_nameindex())")),
            "[(1, 'lo')]\n");
}

TEST_F(Inside, NamesDoNotResolveAndFailAtOnce) {
  const RunResult result = Run(Python(R"(
import socket
try:
    print(socket.getaddrinfo('example.com', 80))
except socket.gaierror:
    print('no name')
print(socket.getaddrinfo('localhost', 80)[0][4][0] in ('127.0.0.1', '::1'))
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "no name\nTrue\n");
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(Inside, ProgramsMayUseTheirLoopback) {
  EXPECT_EQ(Output(Python(R"(
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
def serve():
    connection, _ = server.accept()
    connection.sendall(b'hello')
    connection.close()
threading.Thread(target=serve).start()
print(socket.create_connection(server.getsockname()).recv(10).decode())
)")),
            "hello\n");
}

TEST_F(Inside, OnlyThePlacesForWritingCanBeWritten) {
  EXPECT_EQ(Output(Python(R"(
import os
def writable(path):
    try:
        with open(os.path.join(path, 'x'), 'w') as f: f.write('x')
        return True
    except OSError:
        return False
places = ['/', '/usr', '/usr/bin', '/usr/lib', '/etc', '/dev', '/proc', '/sys',
          '/var', '/bin', '/opt', '/root', '/run', '/mnt', '/srv', '/boot']
print([p for p in places if writable(p)])
print([p for p in ['/tmp', '/workspace', '/dev/shm', os.path.expanduser('~')]
       if not writable(p)])
)")),
            "[]\n[]\n");
}

TEST_F(Inside, NothingOfTheHostShowsThroughTheRoot) {
  EXPECT_EQ(Output(Python(R"(
import os
# Of the jail's own limits.
if set(os.listdir('/sys')) != {'devices', 'fs'}: print(os.listdir('/sys'))
for path in ('/root', '/var/empty', '/boot', '/run', '/mnt', '/srv',
             '/media'):
    try:
        found = os.listdir(path)
    except OSError:
        found = []
    if found: print(path, found)
for path in ('/etc/shadow', '/etc/gshadow', '/etc/ssh', '/etc/sudoers',
             '/etc/machine-id', '/.dockerenv'):
    if os.path.exists(path):
        try:
            print('has', path, len(open(path).read()))
        except OSError:
            pass
)")),
            "");
}

// Caches are judged by the times of what they were made from: Python would
// compile its sitecustomize in each run, which is a tenth of a small one.
TEST_F(Inside, CopiesOfTheHostsFilesKeepTheirTimes) {
  const std::string out =
      Output(Bash("find /etc/python3* /etc/ld.so.cache /etc/debian_version "
                  "-printf '%p %Ts\\n'"));
  size_t compared = 0;
  for (const absl::string_view line :
       absl::StrSplit(out, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_EQ(words.size(), 2U) << line;
    struct stat host = {};
    ASSERT_EQ(lstat(words[0].c_str(), &host), 0) << words[0];
    EXPECT_EQ(words[1], absl::StrCat(host.st_mtime)) << words[0];
    ++compared;
  }
  EXPECT_GE(compared, 4U) << out;
}

// All jails and the host have the files of the image in common.
TEST_F(Inside, FilesOfTheImageCannotBeWatched) {
  EXPECT_EQ(Output(Python(R"(
import ctypes, errno, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.inotify_init1(0), errno.errorcode[ctypes.get_errno()])
try:
    fcntl.fcntl(os.open('/usr/bin', os.O_RDONLY), 1026, 1)  # F_NOTIFY, DN_ACCESS
except OSError as error:
    print(errno.errorcode[error.errno])
# Whatever a filter says, the kernel gives this user namespace none.
print(open('/proc/sys/user/max_inotify_instances').read().strip())
)")),
            "-1 ENOSYS\nEINVAL\n0\n");
}

// The program's standard input is no open file of init's, whose flags it could
// change.
TEST_F(Inside, StandardInputIsTheProgramsOwn) {
  const std::string set = R"(
import fcntl, os
print(fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE, os.read(0, 10))
)";
  EXPECT_EQ(Output(Python(set)), "0 b''\n");
}

TEST_F(Inside, DevHoldsOnlyTheHarmless) {
  const std::string out = Output(Python(R"(
import os, stat
nodes = []
for directory, _, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(directory, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISBLK(mode): print('block device', path)
        if stat.S_ISCHR(mode): nodes.append(path)
print(*sorted(nodes))
open('/dev/null', 'w').write('x')
print(len(open('/dev/urandom', 'rb').read(8)), open('/dev/zero', 'rb').read(1))
)"));
  const std::vector<std::string> lines = absl::StrSplit(out, '\n');
  ASSERT_GE(lines.size(), 2U) << out;
  const std::vector<std::string> nodes = absl::StrSplit(lines[0], ' ');
  for (const std::string& node : nodes) {
    // ptmx is init's alone; without a terminal tty is nobody's.
    EXPECT_THAT(node,
                AnyOf("/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                      "/dev/urandom", "/dev/tty", "/dev/pts/ptmx"));
  }
  EXPECT_EQ(lines[1], "8 b'\\x00'");
}

TEST_F(Inside, DangerousPartsOfProcAreMasked) {
  EXPECT_EQ(Output(Python(R"(
import os
def content(path):
    try:
        return open(path, 'rb').read(4096)
    except OSError:
        return b''
def entries(path):
    try:
        return os.listdir(path)
    except OSError:
        return []
for path in ('/proc/kcore', '/proc/keys', '/proc/key-users', '/proc/timer_list',
             '/proc/sched_debug', '/proc/kmsg', '/proc/latency_stats',
             '/proc/cmdline', '/proc/partitions', '/proc/diskstats',
             '/proc/sysrq-trigger', '/proc/kallsyms', '/proc/kpagecount',
             '/proc/vmallocinfo', '/proc/slabinfo', '/proc/config.gz'):
    if content(path): print('readable', path)
for path in ('/proc/acpi', '/proc/scsi', '/proc/bus', '/proc/fs', '/proc/irq'):
    if entries(path): print('listed', path)
for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern',
             '/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches',
             '/proc/sys/net/ipv4/ip_forward', '/proc/self/uid_map',
             '/proc/irq/default_smp_affinity'):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print('writable', path)
    except OSError:
        pass
)")),
            "");
}

// At any other value a crash may start a program of the host's.
TEST_F(Inside, TheLimitOfCoreFilesIsOneAndStays) {
  EXPECT_EQ(Output(Python(R"(
import os, resource
CORE = resource.RLIMIT_CORE
print(resource.getrlimit(CORE))
resource.setrlimit(CORE, (0, 0))
print(resource.getrlimit(CORE))
try:
    resource.prlimit(0, CORE, (0, 0))
except PermissionError:
    print('refused')
pid = os.fork()
if pid == 0: os.abort()
print(os.WCOREDUMP(os.waitpid(pid, 0)[1]))
)")),
            "(1, 1)\n(1, 1)\nrefused\nFalse\n");
}

TEST_F(Inside, InitGivesNothingAway) {
  EXPECT_EQ(Output(Python(R"(
import os
for name in ('environ', 'mem', 'maps', 'stack', 'syscall', 'auxv', 'io'):
    try:
        if open('/proc/1/' + name, 'rb').read(16): print('readable', name)
    except OSError:
        pass
for name in ('exe', 'root', 'cwd', 'ns/user'):
    try:
        print('link', name, os.readlink('/proc/1/' + name))
    except OSError:
        pass
try:
    print('fds', os.listdir('/proc/1/fd'))
except OSError:
    pass
)")),
            "");
}

TEST_F(Inside, TheProgramIsNobodySpecial) {
  const std::string out = Output(Python(R"(
import os, socket
print(os.getuid() == os.geteuid() != 0, os.getgid() == os.getegid() != 0)
print(os.getgroups() in ([], [os.getgid()]))
print(os.getpid() != 1, os.getppid() in (0, 1), os.getsid(0) == os.getpid())
print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3])
print(len(set(os.listdir('/proc/self/fd')) - {'254'}))
for line in open('/proc/self/status'):
    if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:')): print(line.split()[1])
print(socket.gethostname())
)"));
  const std::vector<std::string> lines = absl::StrSplit(out, '\n');
  ASSERT_GE(lines.size(), 13U) << out;
  EXPECT_EQ(lines[0], "True True");
  EXPECT_EQ(lines[1], "True");
  EXPECT_EQ(lines[2], "True True True");
  EXPECT_EQ(lines[3], "[0, 1, 2]");
  EXPECT_EQ(lines[4], "4") << "listing itself holds the fourth fd; a runner "
                              "has a pipe as 254 to say that it is done";
  for (int i = 5; i < 10; ++i) {
    EXPECT_EQ(lines[static_cast<size_t>(i)], "0000000000000000");
  }
  EXPECT_EQ(lines[10], "1");
  EXPECT_EQ(lines[11], "2");
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  EXPECT_NE(lines[12], host);
  EXPECT_FALSE(lines[12].empty());
}

TEST_F(Inside, ItsControlGroupLooksLikeTheRoot) {
  const std::string out = Output(Bash("cat /proc/self/cgroup"));
  for (const std::string& line : Lines(out)) {
    // The program's part of its own jail is all of the tree that shows.
    if (line == "0::/run") continue;
    EXPECT_THAT(line, ::testing::EndsWith(":/")) << out;
  }
}

TEST_F(Inside, EnvironmentAndCommandLineHoldNoSecret) {
  const std::string out = Output(Bash(
      "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' "
      "'\\n'; env"));
  EXPECT_THAT(out, Not(HasSubstr("do-not-leak-me")));
  EXPECT_THAT(out, Not(HasSubstr("sandglass-test")));
}

TEST_F(Inside, SetuidProgramsGiveNoRights) {
  EXPECT_EQ(Output(Bash(
                "cp /bin/bash ./own && chmod 4755 ./own && ./own -p -c 'id -u' "
                "> a; id -u > b; cmp a b && echo same")),
            "same\n");
}

TEST_F(Inside, OrdinaryProgramsWork) {
  EXPECT_EQ(Output(Python(R"(
import concurrent.futures, multiprocessing, sqlite3, subprocess, tempfile
import threading, asyncio, ssl, hashlib, datetime, json, decimal
def square(x):
    return x * x
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool:
        print(pool.map(square, range(4)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(square, range(10))))
    database = sqlite3.connect('data.db')
    database.execute('create table t (x)')
    database.execute('insert into t values (42)')
    database.commit()
    print(database.execute('select x from t').fetchone()[0])
    print(subprocess.run(['/bin/echo', 'child'], capture_output=True,
                         text=True).stdout.strip())
    with tempfile.NamedTemporaryFile() as f:
        f.write(b'x')
    async def main():
        p = await asyncio.create_subprocess_exec('/bin/true')
        return await p.wait()
    print(asyncio.run(main()))
)")),
            "[0, 1, 4, 9]\n285\n42\nchild\n0\n");
}

// As models call it, whether or not the host has it under that name.
TEST_F(Inside, PythonIsFoundWithoutItsNumber) {
  EXPECT_EQ(Output(Bash("python -c 'print(6 * 7)'; env python -c 'print(1)'")),
            "42\n1\n");
}

TEST_F(Inside, VariablesThatNobodyGaveAreTold) {
  std::ifstream file(PROBE_PATH, std::ios::binary);
  v1::RunCodeRequest request =
      Bash("DB_PASSWORD=x USER=root LOGNAME=root HOME=/root ./probe self");
  v1::InputFile* probe = request.add_files();
  probe->set_path("probe");
  probe->set_content(std::string(std::istreambuf_iterator<char>(file), {}));
  probe->set_executable(true);
  const std::string output = Output(request);
  const size_t at = output.find("host-environment=");
  ASSERT_NE(at, std::string::npos);
  const std::string line = output.substr(at, output.find('\n', at) - at);
  for (const char* name : {"DB_PASSWORD", "USER", "LOGNAME", "HOME"}) {
    EXPECT_THAT(line, HasSubstr(name));
  }
  EXPECT_THAT(line, Not(HasSubstr("PATH")));
}

// A JVM looks at its own /proc now and then; that is no leak, and a socket is.
TEST_F(Inside, WhatAStarterHasOpenIsToldFromALeak) {
  std::ifstream file(PROBE_PATH, std::ios::binary);
  v1::RunCodeRequest request = Python(
      "import socket, subprocess\n"
      "own = open('/proc/self/stat')\n"
      "def probe():\n"
      "    lines = subprocess.run(['./probe', 'self'], text=True,\n"
      "                           stdout=subprocess.PIPE).stdout.split('\\n')\n"
      "    print([l for l in lines if l.startswith('starter-desc')])\n"
      "probe()\n"
      "pair = socket.socketpair()\n"
      "probe()\n");
  v1::InputFile* probe = request.add_files();
  probe->set_path("probe");
  probe->set_content(std::string(std::istreambuf_iterator<char>(file), {}));
  probe->set_executable(true);
  const std::vector<std::string> lines = Lines(Output(request));
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "['starter-descriptors=none']");
  EXPECT_THAT(lines[1], HasSubstr("socket:["));
}

}  // namespace
}  // namespace sandglass::testing
