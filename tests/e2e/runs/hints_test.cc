// Hints for programs that met a limit or lacked something, in each language.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Hints : public DaemonTest {
 protected:
  static std::vector<std::string> IdsOf(const v1::RunCodeResponse& response) {
    std::vector<std::string> ids;
    for (const v1::Hint& hint : response.hints()) ids.push_back(hint.id());
    return ids;
  }
};

TEST_F(Hints, AreTheSameInEveryLanguage) {
  const struct {
    const char* hint;
    const char* language;
    const char* code;
  } rows[] = {
      {"file-size", "javascript",
       "require('fs').writeFileSync('/tmp/x', Buffer.alloc(2 << 20))"},
      {"file-size", "python", "open('/tmp/x', 'wb').write(b'x' * (2 << 20))"},
      {"file-size", "ruby", "File.binwrite('/tmp/x', 'x' * (2 << 20))"},
      {"file-size", "perl",
       "open(F, '>', '/tmp/x'); print F 'x' x (2 << 20); close F or die $!;"},
      {"file-size", "bash", "head -c 2M /dev/zero > /tmp/x"},
      {"disk-full", "javascript",
       "for (let i = 0; i < 9; i++) require('fs').writeFileSync('/tmp/x' + i, "
       "Buffer.alloc(1 << 20))"},
      {"disk-full", "bash",
       "for i in 1 2 3 4 5 6 7 8 9; do head -c 1M /dev/zero > /tmp/x$i; done"},
      {"open-files", "javascript",
       "for (let i = 0; i < 999; i++) require('fs').openSync('/dev/null')"},
      {"open-files", "ruby", "x = 999.times.map { File.open('/dev/null') }"},
      {"network-off", "javascript",
       "fetch('http://a.example').catch(e => console.log(e.message))"},
      {"network-off", "python",
       "import urllib.request\n"
       "try: urllib.request.urlopen('http://a.example')\n"
       "except OSError as e: print('failed', e)"},
      {"network-off", "perl",
       "use IO::Socket::INET;\n"
       "IO::Socket::INET->new('a.example:80') or print $@;"},
      {"network-off", "bash", "(exec 3<>/dev/tcp/a.example/80) 2>&1 || true"},
      {"read-only-root", "javascript",
       "require('fs').writeFileSync('/hello.js', '')"},
      {"read-only-root", "ruby", "File.write('/hello', '')"},
      {"pids", "ruby", "200.times { fork { sleep 60 } }"},
      {"pids", "bash", "for i in $(seq 200); do sleep 60 & done; wait"},
      {"stdin-empty", "python", "import getpass\ngetpass.getpass()"},
      {"stdin-empty", "javascript",
       "require('readline').createInterface({input: process.stdin, output: "
       "process.stdout}).question('name? ', console.log)"},
      {"packages", "bash", "python3 -m pip install no-such-thing"},
      {"figure-unseen", "python",
       "try:\n  import matplotlib.pyplot as plt\nexcept ImportError:\n"
       "  raise SystemExit\nplt.plot([1])\nplt.show()"},
      {"files-lost", "python", "open('out.txt', 'w').write('x')"},
      {"files-lost", "bash", "mkdir -p a && echo > a/b"},
      {"value-unseen", "python", "x = 2\nx ** 10"},
  };
  for (const auto& row : rows) {
    v1::RunCodeRequest request =
        WithWall(Program(row.language, row.code), absl::Seconds(6));
    request.mutable_limits()->set_file_size_bytes(1 << 20);
    request.mutable_limits()->set_tmp_bytes(6 << 20);
    request.mutable_limits()->set_open_files(128);
    const RunResult result = Run(request);
    ASSERT_THAT(result, IsOk()) << row.language << ": " << row.code;
    EXPECT_THAT(IdsOf(result.response), Contains(row.hint))
        << row.language << ": " << row.code << Describe(result.response);
    EXPECT_THAT(IdsOf(result.response), Not(Contains("memory"))) << row.code;
    if (std::string_view(row.hint) == "pids") {
      EXPECT_THAT(IdsOf(result.response), Not(Contains("timeout"))) << row.code;
    }
  }
}

TEST_F(Hints, AreNotForWhatIsSeen) {
  v1::RunCodeRequest request =
      Python("open('out.txt', 'w').write('x')\nprint('done')");
  request.add_fetch("out.txt");
  v1::InputFile& file = *request.add_files();
  file.set_path("data/deep/in.txt");
  EXPECT_THAT(IdsOf(Run(request).response), IsEmpty());
  request.clear_fetch();
  request.set_code("print(open('data/deep/in.txt').read())");
  EXPECT_THAT(IdsOf(Run(request).response), IsEmpty());
  request.set_code("x = 2\nx ** 10");
  request.set_rich_results(true);
  EXPECT_THAT(IdsOf(Run(request).response), IsEmpty());
}

// Instead of at the wall limit, and without advice that leads nowhere.
TEST_F(Hints, InstallersFailAtOnceWithoutANetwork) {
  const RunResult pip = Run(Bash("python3 -m pip install no-such-thing"));
  EXPECT_THAT(pip.response.stderr().data(),
              Not(HasSubstr("virtual environment")));
  EXPECT_LT(pip.elapsed, absl::Seconds(15)) << Describe(pip.response);
  const RunResult npm =
      Run(Bash("command -v npm || exit 0; ! npm install lodash"));
  EXPECT_THAT(npm, OutcomeIs(v1::OUTCOME_OK)) << Describe(npm.response);
  EXPECT_LT(npm.elapsed, absl::Seconds(15)) << Describe(npm.response);
}

}  // namespace
}  // namespace sandglass::testing
