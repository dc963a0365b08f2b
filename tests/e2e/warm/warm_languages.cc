#include "tests/e2e/warm/warm_languages.h"

namespace sandglass::testing {
namespace {

WarmLanguage PythonWarm() {
  WarmLanguage python;
  python.id = "python";
  python.extension = ".py";
  python.process_name = "python3";
  python.start_env = {"MKL_NUM_THREADS", "1"};
  python.print_ok = "print('ok')";
  python.print_start_env = "import os; print(os.environ['MKL_NUM_THREADS'])";
  python.print_hash = "print(hash('a'))";
  python.use_inputs = R"(
import os, sys
print(os.environ['GREETING'], *sys.argv[1:], os.getcwd(), sep='|')
print(open('data/in.txt').read())
print('executable' if os.access('tool', os.X_OK) else 'not executable')
print(sys.stdin.read())
print(os.umask(0))
open('out.txt', 'w').write('made')
)";
  python.spin = "while True: pass";
  python.sleep = "import time; time.sleep(99)";
  python.take_memory = "x = bytearray(1 << 30)";
  python.take_processes = "import os\nwhile True: os.fork()";
  python.flood = "while True: print('x' * 65536)";
  python.kill_itself = "import os; os.kill(os.getpid(), 9)";
  python.leave_three_children = R"(
import os, time
for _ in range(3):
    if os.fork() == 0:
        time.sleep(99)
print('done')
)";
  const std::string imports = "import os, struct, sys, time\n";
  for (const char* code :
       {"os.write(254, struct.pack('IiiIq', 3, 5, 0, 0, 0)); time.sleep(20)",
        R"(try:
    while True: os.write(254, b'x' * 32)
except BrokenPipeError: os._exit(5))",
        "os.close(254); sys.exit(5)", "os.write(254, b'abc'); sys.exit(5)",
        "os.write(254, struct.pack('IiiIq', 1, 5, 0, 9, 0)); sys.exit(5)",
        "os.write(254, struct.pack('IiiIq', 4, 5, 9999, 0, 0)); sys.exit(5)"}) {
    python.tamper.push_back(imports + code);
  }
  python.draw = R"(
import random, secrets, uuid, tempfile, os
print(random.random())
print(random.Random().random())
print(secrets.token_hex(16))
print(uuid.uuid4())
print(uuid.uuid1().clock_seq, uuid.uuid1())
print(os.urandom(16).hex())
print(next(tempfile._get_candidate_names()))
import ssl; print(ssl.RAND_bytes(16).hex())
)";
  python.drawn = 8;
  python.look_and_leave = R"(
import os, sys, json, builtins
print(*sorted(os.listdir('/workspace') + os.listdir('/tmp') +
              os.listdir('/dev/shm') + os.listdir(os.environ['HOME'])))
print(*[p for p in os.listdir('/proc') if p.isdigit()])
marks = (hasattr(json, 'mark'), hasattr(builtins, 'mark'),
         'mark' in os.environ, hasattr(sys, 'mark'))
print('mark' if any(marks) else 'no mark')
print(os.popen('ipcs -q 2>/dev/null | grep -c 0x').read().strip(), flush=True)
json.mark = builtins.mark = sys.mark = 1
os.environ['mark'] = '1'
os.system('ipcmk -Q >/dev/null')
for place in '/tmp', '/workspace', '/dev/shm', os.environ['HOME']:
    open(place + '/mark', 'w').write('1')
if os.fork() == 0:
    import time; time.sleep(99)
)";
  python.reach_out = R"(
import os, signal
for attempt in (lambda: os.kill(1, 9), lambda: os.killpg(0, 0) or 1/0,
                lambda: os.open('/proc/1/root', 0),
                lambda: open('/proc/self/mem', 'wb'),
                lambda: os.setuid(0)):
    try:
        print('did', attempt())
    except (OSError, ZeroDivisionError) as e:
        print(type(e).__name__)
print(os.getppid(), os.getsid(0) == os.getpgid(0) == os.getpid())
print(open('/proc/self/environ').read() == '',
      open('/proc/self/cmdline').read().rstrip('\0'))
)";
  python.reached =
      "PermissionError\nZeroDivisionError\nFileNotFoundError\n"
      "OSError\nPermissionError\n0 True\n"
      "True /usr/bin/python3 main.py\n";
  return python;
}

WarmLanguage RubyWarm() {
  WarmLanguage ruby;
  ruby.id = "ruby";
  ruby.extension = ".rb";
  ruby.process_name = "ruby";
  ruby.start_env = {"RUBYSHELL", "/bin/sh"};
  ruby.print_ok = "puts 'ok'";
  ruby.print_start_env = "puts ENV['RUBYSHELL']";
  ruby.print_hash = "puts 'a'.hash";
  ruby.use_inputs = R"(
puts [ENV['GREETING'], *ARGV, Dir.pwd].join('|')
puts File.read('data/in.txt')
puts File.executable?('tool') ? 'executable' : 'not executable'
puts STDIN.read
puts File.umask
File.write('out.txt', 'made')
)";
  ruby.spin = "loop {}";
  ruby.sleep = "sleep 99";
  ruby.take_memory = "x = 'x' * (1 << 30)";
  // Where a fork fails Ruby waits and tries again; after a thread was refused,
  // Ruby 3.3 hangs at its orderly end (its bug 20779).
  ruby.take_processes = "loop { Thread.new { sleep } } rescue exit!(1)";
  ruby.flood = "loop { puts 'x' * 65536 }";
  ruby.kill_itself = "Process.kill(9, $$)";
  ruby.leave_three_children = "3.times { fork { sleep 99 } }; puts 'done'";
  const std::string pipe = "pipe = IO.for_fd(254, autoclose: false)\n";
  for (const char* code :
       {"pipe.syswrite([3, 5, 0, 0, 0].pack('LllLq')); sleep 20",
        R"(begin; loop { pipe.syswrite('x' * 32) }
rescue Errno::EPIPE; exit!(5); end)",
        "pipe.close; exit 5", "pipe.syswrite('abc'); exit 5",
        "pipe.syswrite([1, 5, 0, 9, 0].pack('LllLq')); exit 5",
        "pipe.syswrite([4, 5, 9999, 0, 0].pack('LllLq')); exit 5"}) {
    ruby.tamper.push_back(pipe + code);
  }
  ruby.draw = R"(
puts Random.seed, rand, Kernel.rand(2**64), Random.rand, Random.new.rand
puts Random.new_seed, Random.urandom(16).unpack1('H*'), Random.bytes(8).bytes.sum { _1 * 251 ** rand }
puts (1..30).to_a.shuffle.inspect, (1..30).to_a.sample(12).inspect, srand
require 'securerandom'
puts SecureRandom.hex(16), SecureRandom.uuid, SecureRandom.random_number(2**64)
require 'openssl'
puts OpenSSL::Random.random_bytes(16).unpack1('H*'), OpenSSL::BN.rand(128)
require 'tempfile'
puts Dir::Tmpname.create('x') { |path| path }
)";
  ruby.drawn = 17;
  ruby.look_and_leave = R"(
puts %W[/workspace /tmp /dev/shm #{ENV['HOME']}].flat_map { |d| Dir.children(d) }.sort.join(' ')
puts Dir.children('/proc').grep(/\A\d+\z/).join(' ')
puts $mark || ENV['mark'] || defined?(MARK) || 1.respond_to?(:mark) ? 'mark' : 'no mark'
puts `ipcs -q 2>/dev/null | grep -c 0x`.strip
$stdout.flush
$mark = MARK = 1
ENV['mark'] = '1'
class Integer; def mark; end; end
`ipcmk -Q`
%W[/tmp /workspace /dev/shm #{ENV['HOME']}].each { |d| File.write(d + '/mark', '1') }
fork { sleep 99 }
)";
  ruby.reach_out = R"(
[-> { Process.kill(9, 1) }, -> { Process.kill(0, -Process.getpgrp) && 1 / 0 },
 -> { File.open('/proc/1/root') }, -> { File.open('/proc/self/mem', 'wb') },
 -> { Process::Sys.setuid(0) }].each do |attempt|
  puts "did #{attempt.call}"
rescue SystemCallError, ZeroDivisionError => e
  puts e.class
end
puts Process.ppid, Process.getsid == $$ && Process.getpgrp == $$
puts File.read('/proc/self/environ') == '', File.read('/proc/self/cmdline').delete("\0")
)";
  ruby.reached =
      "Errno::EPERM\nZeroDivisionError\nErrno::ENOENT\n"
      "Errno::EROFS\nErrno::EPERM\n0\ntrue\n"
      "true\n/usr/bin/ruby main.rb\n";
  return ruby;
}

}  // namespace

std::vector<WarmLanguage> WarmLanguages() { return {PythonWarm(), RubyWarm()}; }

}  // namespace sandglass::testing
