// Output that is meant to confuse whoever passes it on: what comes back is
// exactly what was written, and harmless where a terminal would act on it.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/terminal_filter.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/subprocess.h"

namespace sandglass::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string AllBytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

const std::map<std::string, std::string>& NastyTexts() {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  static const std::map<std::string, std::string> texts = {
      {"all bytes", AllBytes()},
      {"all bytes, often", Repeat(AllBytes(), 500)},
      {"overlong", "\xc0\x80 \xc1\xbf \xe0\x80\x80 \xf0\x80\x80\x80"s},
      {"surrogates", "\xed\xa0\x80 \xed\xbf\xbf \xed\xa0\xbd\xed\xb8\x80"s},
      {"five bytes and six", "\xf8\x88\x80\x80\x80 \xfc\x84\x80\x80\x80\x80"s},
      {"beyond the last", "\xf4\x90\x80\x80 \xf7\xbf\xbf\xbf \xfe\xff"s},
      {"cut short", "\xe2\x82 \xf0\x9f\x98 \xc3"s},
      {"cut at the end", "text \xf0\x9f\x98"s},
      {"continuation alone", "\x80\xbf\x80"s},
      {"zeros", std::string(5000, '\0')},
      {"byte order marks", "\xef\xbb\xbftext\xff\xfet\0e\0\xfe\xff"s},
      {"not characters", "\xef\xbf\xbe\xef\xbf\xbf\xf4\x8f\xbf\xbf"s},
      {"carriage returns", "safe\rsorry\r\n\r\r\n"},
      {"line separators",
       "a\xe2\x80\xa8"
       "b\xe2\x80\xa9"
       "c\xc2\x85"
       "d\v\f"},
      {"bidirectional", "\xe2\x80\xaetxt.exe\xe2\x80\xac \xe2\x81\xa6x"},
      {"title", "\x1b]0;title\x07\x1b]2;title\x1b\\"},
      {"clipboard", "\x1b]52;c;ZXZpbA==\x07"},
      {"hyperlink", "\x1b]8;;file:///etc/passwd\x1b\\click\x1b]8;;\x1b\\"},
      {"device control", "\x1bP$q\"p\x1b\\\x1bPq#0;2;0;0;0~~@@\x1b\\"},
      {"answers", "\x1b[c\x1b[6n\x1b[5n\x1b[>c\x1bZ\x05"},
      {"one byte controls",
       "\x9b"
       "31m\x9d"
       "0;x\x9c\x90q\x84\x85"},
      {"in two bytes",
       "\xc2\x9b"
       "31m\xc2\x9d"
       "0;x\xc2\x9c"},
      {"cursor",
       "\x1b[2J\x1b[H\x1b[999;999H\x1b[1A\b\b\b\x1b[?1049h\x1b"
       "c"},
      {"keys", "\x1b[?2004h\x1b[>4;2m\x1b[?1000h\x1b=\x0e"},
      {"deletes", "\x7f\x7f\x08\x08"},
      {"newlines", std::string(1'000'000, '\n')},
      {"empty", ""},
      {"a note of ours", "sandglass: OK after 1 ms (run r-1)\n"},
      {"combining", "a" + Repeat("\xcc\x80", 2000)},
      {"json", "\"},\"outcome\":\"OK\",{\"\\u0000\\"},
  };
  return texts;
}

v1::RunCodeRequest Print(const std::string& bytes) {
  v1::RunCodeRequest request = Bash("cat data; cat data >&2");
  v1::InputFile* file = request.add_files();
  file->set_path("data");
  file->set_content(bytes);
  return request;
}

class HostileOutput : public HostileTest {
 protected:
  static void ExpectWhole(const v1::Output& output, const std::string& bytes,
                          const std::string& name) {
    // Not EXPECT_EQ, which would print a megabyte.
    EXPECT_TRUE(output.data() == bytes)
        << name << ": " << output.data().size() << " bytes of " << bytes.size();
    EXPECT_EQ(output.total_bytes(), bytes.size()) << name;
    EXPECT_FALSE(output.truncated()) << name;
  }

  // Of a program with this standard output, and no other.
  static void ExpectPrints(const std::string& python,
                           const std::string& bytes) {
    for (const bool fresh : {false, true}) {
      v1::RunCodeRequest request = Python(python);
      // What acts at an interpreter's start only.
      if (fresh) (*request.mutable_env())["PYTHONHASHSEED"] = "0";
      const RunResult result = Run(request);
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << python;
      ExpectWhole(result.response.stdout(), bytes, python);
      const StreamResult stream = client().Stream(request);
      EXPECT_TRUE(stream.Data(v1::OUTPUT_STREAM_STDOUT) == bytes) << python;
    }
  }

  static client::SubprocessResult RunClient(const std::string& bytes,
                                            bool terminal,
                                            const std::string& option = "") {
    client::SubprocessOptions options;
    options.args = {"--address",
                    daemon().address(),
                    "run",
                    "-l",
                    "python",
                    "-c",
                    absl::StrCat("import os\nos.write(1, bytes.fromhex('",
                                 absl::BytesToHexString(bytes), "'))")};
    if (!option.empty()) options.args.push_back(option);
    options.env = {"NO_COLOR=1"};
    options.terminal = terminal;
    return client::RunProcess(options);
  }
};

TEST_F(HostileOutput, OutputComesBackByteForByte) {
  std::vector<v1::RunCodeRequest> requests;
  for (const auto& [name, bytes] : NastyTexts()) {
    requests.push_back(Print(bytes));
  }
  const std::vector<RunResult> results = client().RunAll(requests, 3);
  size_t i = 0;
  for (const auto& [name, bytes] : NastyTexts()) {
    EXPECT_THAT(results[i], OutcomeIs(v1::OUTCOME_OK)) << name;
    ExpectWhole(results[i].response.stdout(), bytes, name);
    ExpectWhole(results[i].response.stderr(), bytes, name);
    const StreamResult stream = client().Stream(requests[i]);
    for (const auto which :
         {v1::OUTPUT_STREAM_STDOUT, v1::OUTPUT_STREAM_STDERR}) {
      EXPECT_TRUE(stream.Data(which) == bytes) << name << " as a stream";
    }
    ASSERT_NE(stream.result(), nullptr) << name;
    ExpectWhole(stream.result()->stdout(), bytes, name + " after a stream");
    ++i;
  }
}

TEST_F(HostileOutput, OutputIsCutBetweenCharacters) {
  constexpr size_t kLimit = 1001;
  constexpr size_t kHead = 501;
  for (const std::string& unit :
       {std::string("x"), std::string("\xf0\x9f\x98\x80"), AllBytes()}) {
    for (const size_t size : {kLimit - 1, kLimit, kLimit + 1, 2 * kLimit,
                              size_t{70'000}, size_t{500'000}}) {
      const std::string bytes =
          Repeat(unit, size / unit.size() + 1).substr(0, size);
      v1::RunCodeRequest request = Print(bytes);
      request.mutable_limits()->set_output_bytes(kLimit);
      const RunResult result = Run(request);
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
      const bool cut = size > kLimit;
      for (const v1::Output* output :
           {&result.response.stdout(), &result.response.stderr()}) {
        if (!cut) {
          EXPECT_EQ(output->data(), bytes);
          EXPECT_EQ(output->head_bytes(), size);
        } else {
          // At most what makes no character is missing on either side.
          const size_t head = output->head_bytes();
          const size_t tail = output->data().size() - head;
          EXPECT_TRUE(kHead - 3 <= head && head <= kHead) << head;
          EXPECT_TRUE(kLimit - kHead - 3 <= tail && tail <= kLimit - kHead)
              << tail;
          EXPECT_EQ(output->data(),
                    bytes.substr(0, head) + bytes.substr(size - tail));
          if (unit.size() <= 4) {
            EXPECT_EQ(head % unit.size(), 0u);
            EXPECT_EQ((size - tail) % unit.size(), 0u);
          }
        }
        EXPECT_EQ(output->total_bytes(), size);
        EXPECT_EQ(output->truncated(), cut) << size;
      }
    }
  }
}

TEST_F(HostileOutput, OneLongLineKeepsItsEnds) {
  const RunResult result =
      Run(Python("import sys\n"
                 "sys.stdout.write('<' + 'x' * ((10 << 20) - 2) + '>')"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::Output& output = result.response.stdout();
  EXPECT_EQ(output.total_bytes(), 10 * kMiB);
  EXPECT_TRUE(output.truncated());
  EXPECT_TRUE(output.data() == "<" + std::string(kMiB - 2, 'x') + ">");
}

TEST_F(HostileOutput, TheTotalIsStoppedAtItsLimitAndNotBefore) {
  for (const int over : {-1, 0, 1}) {
    v1::RunCodeRequest request =
        Python(absl::StrCat("import os, time\nos.write(1, b'x' * ",
                            50'000 + over, ")\ntime.sleep(0.5)"));
    request.mutable_limits()->set_output_total_bytes(50'000);
    EXPECT_THAT(Run(request),
                OutcomeIs(over > 0 ? v1::OUTCOME_OUTPUT_LIMIT : v1::OUTCOME_OK))
        << over;
  }
}

TEST_F(HostileOutput, SingleBytesOnBothStreamsAllArrive) {
  const RunResult result =
      Run(Python("import os\n"
                 "for i in range(20000):\n"
                 "    os.write(1 + i % 2, bytes([i // 2 % 256]))"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const std::string bytes = Repeat(AllBytes(), 40).substr(0, 10'000);
  ExpectWhole(result.response.stdout(), bytes, "stdout");
  ExpectWhole(result.response.stderr(), bytes, "stderr");
}

TEST_F(HostileOutput, OfACrowdEachLineIsWhole) {
  const RunResult result =
      Run(Python("import os\n"
                 "for i in range(55):\n"
                 "    if os.fork() == 0:\n"
                 "        line = (b'%02d' % i) * 250 + b'\\n'\n"
                 "        for _ in range(30): os.write(1, line)\n"
                 "        os._exit(0)\n"
                 "for i in range(55): os.wait()"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  std::map<std::string, int> lines;
  for (const absl::string_view line :
       absl::StrSplit(result.response.stdout().data(), '\n')) {
    ++lines[std::string(line)];
  }
  EXPECT_EQ(lines[""], 1);
  EXPECT_EQ(lines.size(), 56U);
  for (int i = 0; i < 55; ++i) {
    const std::string two = absl::StrCat(i < 10 ? "0" : "", i);
    EXPECT_EQ(lines[Repeat(two, 250)], 30) << i;
  }
}

TEST_F(HostileOutput, AnyWayOfWritingIsAWay) {
  const std::string bytes = Repeat(AllBytes(), 400);
  const std::string prepare =
      "import fcntl, os\n"
      "data = bytes(range(256)) * 400\n"
      "open('f', 'wb').write(data)\n"
      "f = os.open('f', os.O_RDONLY)\n"
      "def all(fd):\n"
      "    at = 0\n"
      "    while at < len(data):\n"
      "        try: at += os.write(fd, data[at:])\n"
      "        except BlockingIOError: pass\n";
  for (const char* way : {
           "at = 0\nwhile at < len(data): at += os.sendfile(1, f, at, 1 << 20)",
           "while os.splice(f, 1, 1 << 20): pass",
           "os.writev(1, [data[:7], data[7:]])",
           "os.set_blocking(1, False)\nall(1)",
           "fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())\n"
           "import signal\nsignal.signal(signal.SIGIO, signal.SIG_IGN)\n"
           "fcntl.fcntl(1, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\nall(1)",
           // Packets instead of a stream.
           "fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)\nall(1)",
           "fcntl.fcntl(1, 1031, 4096)\nall(1)",
           "fcntl.fcntl(1, 1031, 1 << 20)\nall(1)",
           "os.dup2(1, 77)\nos.close(1)\nos.close(0)\nall(77)",
           "os.dup2(1, 77)\nos.close(1)\nassert os.open('/dev/null', 1) == 1\n"
           "all(77)",
           "fd = os.open('/dev/stdout', os.O_WRONLY)\nos.close(1)\nall(fd)",
           "fd = os.open('/proc/self/fd/1', os.O_WRONLY | "
           "os.O_APPEND)\nall(fd)",
           // From a child that outlives its parent's descriptors.
           "p = os.fork()\nif p == 0:\n    all(1)\n    os._exit(0)\n"
           "os.closerange(0, 3)\nos.waitpid(p, 0)",
           // Over a socket, as a descriptor of somebody else.
           "import socket\na, b = socket.socketpair()\n"
           "socket.send_fds(a, [b'x'], [1])\n"
           "fd = socket.recv_fds(b, 1, 1)[1][0]\nos.close(1)\nall(fd)",
       }) {
    ExpectPrints(absl::StrCat(prepare, way), bytes);
  }
}

// The reading end is the daemon's; a program that opens the pipe for reading
// takes its own bytes only, and nobody waits.
TEST_F(HostileOutput, WhoReadsHisOwnOutputHurtsNobody) {
  for (const char* flags : {"os.O_RDONLY", "os.O_RDWR"}) {
    const RunResult result =
        Run(Python(absl::StrCat("import os\n"
                                "fd = os.open('/proc/self/fd/1', ",
                                flags,
                                " | os.O_NONBLOCK)\n"
                                "os.set_blocking(1, False)\n"
                                "for _ in range(20000):\n"
                                "    try:\n"
                                "        os.write(1, b'x')\n"
                                "        os.read(fd, 100)\n"
                                "    except BlockingIOError: pass\n")));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << flags;
    EXPECT_LE(result.response.stdout().total_bytes(), 20'000U);
    EXPECT_LT(result.elapsed, absl::Seconds(10));
  }
}

TEST_F(HostileOutput, ATerminalGetsOnlyText) {
  for (const auto& [name, bytes] : NastyTexts()) {
    if (bytes.size() > 50'000) continue;  // more than a command line holds
    const client::SubprocessResult shown = RunClient(bytes, true);
    EXPECT_EQ(shown.exit_code, 0) << name;
    // The terminal itself makes "\r\n" of "\n".
    client::TerminalFilter filter;
    const std::string again = filter.Feed(shown.out) + filter.Finish();
    EXPECT_EQ(again, shown.out) << name;
    EXPECT_FALSE(absl::StrContains(shown.out, '\x1b')) << name;
    EXPECT_EQ(client::FindInvalidUtf8(shown.out), std::string::npos) << name;
  }
}

TEST_F(HostileOutput, APipeGetsTheBytes) {
  for (const auto& [name, bytes] : NastyTexts()) {
    if (bytes.size() > 50'000) continue;
    const client::SubprocessResult shown = RunClient(bytes, false);
    EXPECT_EQ(shown.exit_code, 0) << name;
    EXPECT_EQ(shown.out, bytes) << name;
  }
}

TEST_F(HostileOutput, JsonStaysJson) {
  for (const auto& [name, bytes] : NastyTexts()) {
    if (bytes.size() > 50'000) continue;
    for (const bool terminal : {false, true}) {
      const client::SubprocessResult shown =
          RunClient(bytes, terminal, "--json");
      EXPECT_EQ(shown.exit_code, 0) << name;
      EXPECT_EQ(client::FindInvalidUtf8(shown.out), std::string::npos) << name;
      const nlohmann::json answer =
          nlohmann::json::parse(shown.out, nullptr, false);
      EXPECT_FALSE(answer.is_discarded()) << name << ": " << shown.out;
      for (const char c : shown.out) {
        EXPECT_TRUE(c == '\n' || c == '\r' || c == '\t' ||
                    static_cast<unsigned char>(c) >= 0x20)
            << name;
      }
    }
  }
}

}  // namespace
}  // namespace sandglass::testing
