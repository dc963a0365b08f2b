#include "tests/security/hostile/neighbour.h"

#include <time.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tests/support/matchers.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {
namespace {

// Each line begins with the time at which it began to look, on the clock that
// all have in common.
constexpr char kProgram[] = R"py(
import ctypes, hashlib, os, select, socket, sys, threading, time
secret = os.urandom(1 << 16)
digest = hashlib.sha256(secret).hexdigest()
places = ['/tmp', '/dev/shm', '/workspace', os.path.expanduser('~')]
for place in places:
    with open(place + '/neighbour', 'wb') as file: file.write(secret)
stream = socket.socket(socket.AF_UNIX)
stream.bind('\0' + 'ABSTRACT'[1:])
stream.listen()
named = socket.socket(socket.AF_UNIX)
named.bind('PATHNAME')
named.listen()
port = socket.create_server(('127.0.0.1', PORT))
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
memory = libc.shmget(KEY, 4096, 0o1666)
address = libc.shmat(memory, None, 0)
ctypes.memset(address, 0x5b, 4096)
signals = []
import signal
for number in range(1, 32):
    if number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD): continue
    try: signal.signal(number, lambda got, frame: signals.append(got))
    except OSError: pass
child = os.fork()
if child == 0:
    while True: time.sleep(60)
mounts = open('/proc/self/mountinfo').read()
def wrong():
    if hashlib.sha256(secret).hexdigest() != digest: return 'memory'
    for place in places:
        if set(os.listdir(place)) - {'neighbour', 'main.py', 'socket'}: return place
        with open(place + '/neighbour', 'rb') as file:
            if file.read() != secret: return 'file in ' + place
    if select.select([stream, named, port], [], [], 0)[0]: return 'socket'
    if ctypes.string_at(address, 4096) != b'\x5b' * 4096: return 'System V'
    if signals: return 'signal %r' % signals
    if os.waitpid(child, os.WNOHANG) != (0, 0): return 'child'
    pids = {int(p) for p in os.listdir('/proc') if p.isdigit()}
    if pids - {1, os.getpid(), child}: return 'processes %r' % pids
    if open('/proc/self/mountinfo').read() != mounts: return 'mounts'
    return ''
while True:
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    print(began, wrong(), flush=True)
    time.sleep(0.05)
)py";

// Of the default profile's time for a run; one that is older makes way for a
// new one once it was asked.
constexpr absl::Duration kLongEnough = absl::Seconds(12);

double Now() {
  timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

Neighbour::Neighbour(Client& client) : client_(client) { Begin(); }

void Neighbour::Begin() {
  const v1::RunCodeRequest request =
      Python(absl::StrReplaceAll(kProgram, {{"ABSTRACT", kAbstractName},
                                            {"PATHNAME", kPathname},
                                            {"PORT", absl::StrCat(kPort)},
                                            {"KEY", absl::StrCat(kKey)}}));
  unread_.clear();
  // It must be there still to say that its time is over.
  call_ = std::make_unique<StreamCall>(client_.stub(), request,
                                       kCallDeadline * Slowdown());
  began_ = Now();
  first_line_ = NextLine();
}

std::string Neighbour::NextLine() {
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    v1::StreamRunCodeResponse event;
    if (!call_->Next(&event)) return "";
    if (event.has_chunk()) unread_ += event.chunk().data();
    if (event.has_result()) {
      outcome_ = event.result().outcome();
      end_ = Describe(event.result());
    }
  }
}

std::string Neighbour::Ask() {
  if (first_line_.empty()) return absl::StrCat("no neighbour began: ", end_);
  const double asked = Now();
  for (;;) {
    const std::string line = NextLine();
    if (line.empty()) {
      first_line_.clear();
      // On a slow machine there may be more between two calls than its time is
      // for: it saw no wrong as long as it lasted, and another takes over.
      if (Slowdown() > 1 && outcome_ == v1::OUTCOME_TIMEOUT) {
        Begin();
        if (!first_line_.empty()) return "";
      }
      return absl::StrCat("the neighbour has ended: ", end_);
    }
    char* rest = nullptr;
    const double looked = strtod(line.c_str(), &rest);
    const absl::string_view wrong = absl::StripLeadingAsciiWhitespace(rest);
    if (!wrong.empty()) return absl::StrCat("the neighbour lacks ", wrong);
    if (looked > asked) break;
  }
  if (asked - began_ > absl::ToDoubleSeconds(kLongEnough)) Begin();
  return "";
}

}  // namespace sandglass::testing
