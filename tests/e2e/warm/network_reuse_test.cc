// Network namespaces that a later jail has again: those in which nobody has
// ever made a socket, and no others.

#include <fcntl.h>
#include <sys/stat.h>

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/calls/warm.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// As many runs as the daemon has namespaces ready at once, and more.
constexpr int kRuns = 100;
constexpr char kTell[] =
    "import os\n"
    "print(os.readlink('/proc/self/ns/net'))\n";

// Each way in which code in a jail can come to a socket.
constexpr char kHeld[] = "its-network-is-held";
struct Use {
  const char* name;
  const char* code;
};
constexpr Use kUses[] = {
    {"Itself", "import socket\nsocket.socket()\n"},
    {"APair", "import socket\nsocket.socketpair()\n"},
    {"Netlink",
     "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n"},
    {"AThread",
     "import socket, threading\n"
     "t = threading.Thread(target=socket.socket)\nt.start()\nt.join()\n"},
    {"AForkedChild",
     "import os, socket\n"
     "if os.fork() == 0:\n    socket.socket()\n    os._exit(0)\n"
     "os.wait()\n"},
    {"AnotherProgram",
     "import subprocess, sys\n"
     "subprocess.run([sys.executable, '-c', 'import socket; "
     "socket.socketpair()'], check=True)\n"},
    {"ADaemonOfIts",
     "import os, socket, time\n"
     "r, w = os.pipe()\n"
     "if os.fork() == 0:\n"
     "    os.setsid()\n"
     "    if os.fork() == 0:\n"
     "        socket.socket()\n"
     "        os.write(w, b'1')\n"
     "        time.sleep(60)\n"
     "    os._exit(0)\n"
     "os.read(r, 1)\n"},
    {"TrafficOverLoopback",
     "import socket\n"
     "a = socket.create_server(('127.0.0.1', 0))\n"
     "b = socket.create_connection(a.getsockname())\n"
     "c, _ = a.accept()\nc.sendall(b'x')\nassert b.recv(1) == b'x'\n"},
    {"ASocketOfTheUnixDomainWithAnAbstractName",
     "import socket\n"
     "s = socket.socket(socket.AF_UNIX)\ns.bind('\\0left')\n"},
};

class NetworkReuse : public DaemonTest {
 protected:
  // The network namespace of one run, in an interpreter that waited.
  static std::string NamespaceOf(const std::string& more = "",
                                 const std::vector<std::string>& args = {}) {
    v1::RunCodeRequest request = Python(absl::StrCat(kTell, more));
    request.mutable_args()->Assign(args.begin(), args.end());
    RunResult result;
    do {
      result = Run(request);
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    } while (!::testing::Test::HasFailure() && !HadRunner(result));
    return result.response.stdout().data();
  }
  static std::set<std::string> LaterNamespaces(const std::string& more = "") {
    std::set<std::string> later;
    for (int i = 0; i < kRuns; ++i) later.insert(NamespaceOf(more));
    return later;
  }
  // The same of a run that goes on for a while, so that it can be kept.
  std::string HeldNamespaceOf(const std::string& more) {
    // The processes of an earlier run may still be ending.
    const std::string name = absl::StrCat(kHeld, "-", ++runs_, "-");
    std::string netns;
    std::thread run([&] {
      netns = NamespaceOf(absl::StrCat(more, "import time\ntime.sleep(0.5)\n"),
                          {name});
    });
    const bool held = HoldNetworkOf(name);
    run.join();
    EXPECT_TRUE(held) << more;
    if (!held) return netns;
    struct stat info = {};
    EXPECT_EQ(::fstat(held_.back().get(), &info), 0);
    EXPECT_EQ(netns, absl::StrCat("net:[", info.st_ino, "]\n")) << more;
    return netns;
  }
  // Keeps the namespace of the process with this command line until the test's
  // end: the kernel gives the number of one that is gone to another.
  bool HoldNetworkOf(const std::string& command) {
    const size_t before = held_.size();
    return WaitUntil(
        [&] {
          for (const Process& process :
               FindByCommand(daemon().pid(), command)) {
            const std::string path =
                absl::StrCat("/proc/", process.pid, "/ns/net");
            os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            if (fd.valid()) held_.push_back(std::move(fd));
          }
          return held_.size() > before;
        },
        absl::Seconds(10));
  }

 private:
  int runs_ = 0;
  std::vector<os::Fd> held_;
};

TEST_F(NetworkReuse, WhatNobodyUsedALaterJailHas) {
  const std::string unused = HeldNamespaceOf("");
  EXPECT_TRUE(LaterNamespaces().contains(unused));
}

TEST_F(NetworkReuse, OfRubyAsWell) {
  v1::RunCodeRequest request;
  request.set_language("ruby");
  request.set_code("puts File.readlink('/proc/self/ns/net')\nsleep 0.5");
  request.add_args(kHeld);
  RunResult first;
  std::thread run([&] { first = Run(request); });
  EXPECT_TRUE(HoldNetworkOf(kHeld));
  run.join();
  ASSERT_TRUE(HadRunner(first));
  request.set_code("puts File.readlink('/proc/self/ns/net')");
  // On a busy machine those that were made meanwhile come first.
  EXPECT_TRUE(WaitUntil(
      [&] {
        const RunResult result = Run(request);
        EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
        return result.response.stdout().data() ==
               first.response.stdout().data();
      },
      absl::Seconds(20)));
}

TEST_F(NetworkReuse, WhatAProgramUsedNobodyElseGets) {
  std::map<std::string, std::string> used;
  for (const Use& use : kUses) {
    const std::string netns = HeldNamespaceOf(use.code);
    ASSERT_FALSE(HasFailure()) << use.name;
    used[netns] = use.name;
  }
  EXPECT_EQ(used.size(), std::size(kUses));
  for (const std::string& netns : LaterNamespaces()) {
    EXPECT_FALSE(used.contains(netns)) << used[netns];
  }
}

// Commands of a session don't ask.
TEST_F(NetworkReuse, WhatASessionHadNobodyElseGets) {
  std::string used;
  {
    TestSession session(client());
    ASSERT_THAT(session.status(), IsOk());
    const RunResult result = session.Run(absl::StrCat(
        kTell, "import subprocess\nsubprocess.Popen(['sleep', '76543'])\n"));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    used = result.response.stdout().data();
    ASSERT_TRUE(HoldNetworkOf("sleep 76543"));
  }
  EXPECT_FALSE(LaterNamespaces().contains(used));
}

// A namespace that is used again has counted nothing yet.
TEST_F(NetworkReuse, NothingInItTellsOfAnEarlierJail) {
  const std::string code =
      "counts = {}\n"
      "for name in ('snmp', 'netstat'):\n"
      "    lines = open('/proc/net/' + name).read().splitlines()\n"
      "    for keys, values in zip(lines[::2], lines[1::2]):\n"
      "        for k, v in zip(keys.split()[1:], values.split()[1:]):\n"
      "            counts[keys.split()[0] + k] = int(v)\n"
      "for key in ('Ip:Forwarding', 'Ip:DefaultTTL', 'Tcp:RtoAlgorithm',\n"
      "            'Tcp:RtoMin', 'Tcp:RtoMax', 'Tcp:MaxConn'):\n"
      "    counts.pop(key)\n"
      "assert not any(counts.values()), counts\n"
      "lo = open('/proc/net/dev').read().splitlines()[2].split()\n"
      "assert set(lo[1:]) == {'0'}, lo\n"
      "for name in 'tcp', 'tcp6', 'udp', 'udp6', 'packet', 'raw', "
      "'ip6_flowlabel':\n"
      "    text = open('/proc/net/' + name).read()\n"
      "    assert len(text.splitlines()) <= 1, text\n"
      // The kernel's own.
      "for line in open('/proc/net/netlink').read().splitlines()[1:]:\n"
      "    assert line.split()[2] == '0', line\n"
      // The two ends of this jail's control socket.
      "text = open('/proc/net/unix').read()\n"
      "assert len(text.split()) == 8 + 2 * 7, text\n";
  const std::string unused = HeldNamespaceOf("");
  EXPECT_TRUE(LaterNamespaces(code).contains(unused));
}

// The daemon's thread that answers is never needed twice at once.
TEST_F(NetworkReuse, ManyWhoAskAtOnceAllGetTheirSockets) {
  const v1::RunCodeRequest request = Python(
      "import socket, threading\n"
      "def work():\n"
      "    for _ in range(50): socket.socket().close()\n"
      "threads = [threading.Thread(target=work) for _ in range(8)]\n"
      "for t in threads: t.start()\n"
      "for t in threads: t.join()\n");
  const std::vector<v1::RunCodeRequest> requests(16, request);
  for (const RunResult& result : client().RunAll(requests, 4)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  }
}

}  // namespace
}  // namespace sandglass::testing
