// Programs that change what a name stands for while their files are being
// handed over. What comes back is what the jail had, or a named problem; never
// anything of the host, and never is anybody kept waiting.

#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(10);
// Of the daemon; jails that wait have some 350.
constexpr size_t kMaxDescriptors = 600;
// That an answer has.
constexpr size_t kMaxFiles = 256;
constexpr char kBait[] = "do-not-leak-me";

class HostileFilesRace : public HostileTest {
 protected:
  static size_t DaemonsDescriptors() {
    std::error_code ignored;
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             absl::StrCat("/proc/", daemon().pid(), "/fd"), ignored)) {
      (void)entry;
      ++count;
    }
    return count;
  }

  void TearDown() override {
    EXPECT_TRUE(WaitUntil([] { return DaemonsDescriptors() < kMaxDescriptors; },
                          absl::Seconds(20)))
        << DaemonsDescriptors();
    HostileTest::TearDown();
  }

  // Each file is what the jail may have had there, or has a problem and nothing
  // else.
  static void ExpectOnlyOurs(const RunResult& result, const std::string& name,
                             size_t count) {
    EXPECT_TRUE(result.status.ok()) << name << result.status.error_message();
    EXPECT_LT(result.elapsed, kSoon) << name;
    EXPECT_EQ(result.response.files_size(), static_cast<int>(count)) << name;
    for (const v1::OutputFile& file : result.response.files()) {
      const std::string& content = file.content();
      EXPECT_FALSE(absl::StrContains(content, kBait)) << name;
      EXPECT_FALSE(absl::StrContains(content, "root:")) << name;
      if (file.error() != v1::FILE_ERROR_UNSPECIFIED) {
        EXPECT_EQ(content, "") << name;
        continue;
      }
      // A size may change while it is read: then zeros follow, or nothing.
      const std::string text = content.substr(0, content.find('\0'));
      EXPECT_TRUE(text == "from the jail" || text == "from the jail, too" ||
                  text.empty())
          << name << ": " << file.path() << ": " << text.substr(0, 100);
    }
  }

  v1::RunCodeRequest Swap(const std::string& kind) {
    v1::RunCodeRequest request = Payload(
        Way::kExec, {"swap", kind,
                     kind == "directory-link"
                         ? (turn_ % 2 == 0 ? "/" : host().directory())
                         : (turn_ % 2 == 0 ? "/etc/passwd"
                                           : host().directory() + "/file")});
    ++turn_;
    for (const char* path : {"victim", "other", "place/file", "keep"}) {
      request.add_fetch(path);
    }
    return request;
  }

  int turn_ = 0;
};

constexpr const char* kKinds[] = {
    "file",   "link",  "loop", "fifo",    "directory", "socket",
    "closed", "memfd", "size", "unnamed", "hard-link", "directory-link"};

TEST_F(HostileFilesRace, SwappedFilesOfOneRunNeverLeakTheHosts) {
  for (int i = 0; i < 50; ++i) {
    const char* kind = kKinds[static_cast<size_t>(i) % std::size(kKinds)];
    const RunResult result = Run(Swap(kind));
    EXPECT_EQ(result.response.exit_code(), Refused(0)) << kind;
    EXPECT_GE(result.response.evidence().leftover_processes(), 1U) << kind;
    ExpectOnlyOurs(result, kind, 4);
  }
}

TEST_F(HostileFilesRace, SwappedFilesOfManyRunsNeverLeakTheHosts) {
  std::vector<v1::RunCodeRequest> requests;
  requests.reserve(60);
  for (int i = 0; i < 60; ++i) {
    requests.push_back(
        Swap(kKinds[static_cast<size_t>(i) % std::size(kKinds)]));
  }
  for (const RunResult& result : client().RunAll(requests, 8)) {
    EXPECT_EQ(result.response.exit_code(), Refused(0));
    ExpectOnlyOurs(result, "many at once", 4);
  }
}

// In interpreters that waited, whose files are handed over in the same way.
TEST_F(HostileFilesRace, SwappedFilesNeverLeakInAnyWayOfStarting) {
  for (const Way way : {Way::kPython, Way::kRuby, Way::kNode}) {
    std::vector<v1::RunCodeRequest> requests;
    for (const char* kind : kKinds) {
      v1::RunCodeRequest request =
          Payload(way, {"swap", kind, host().directory()});
      for (const char* path : {"victim", "other", "place/file", "keep"}) {
        request.add_fetch(path);
      }
      requests.push_back(request);
    }
    for (const RunResult& result : client().RunAll(requests, 3)) {
      EXPECT_EQ(result.response.exit_code(), Refused(0)) << NameOf(way);
      ExpectOnlyOurs(result, NameOf(way), 4);
    }
  }
}

// By pattern, too: what a directory's list said is no more when it is opened.
TEST_F(HostileFilesRace, SwappedFilesNeverLeakByPattern) {
  for (const char* kind : kKinds) {
    v1::RunCodeRequest request = Swap(kind);
    request.clear_fetch();
    request.add_fetch("vic*");
    request.add_fetch("place/**");
    request.add_fetch("o*/**");
    const RunResult result = Run(request);
    EXPECT_TRUE(result.status.ok());
    EXPECT_LT(result.elapsed, kSoon);
    for (const v1::OutputFile& file : result.response.files()) {
      EXPECT_FALSE(absl::StrContains(file.content(), kBait)) << kind;
      EXPECT_FALSE(absl::StrContains(file.content(), "root:")) << kind;
      EXPECT_FALSE(absl::StrContains(file.path(), "passwd")) << kind;
    }
  }
}

TEST_F(HostileFilesRace, NamesOfEveryKindComeBackAsTheyAre) {
  v1::RunCodeRequest request = Python(R"(
import os
names = [b'new\nline', b'\xff\xfe', b'a' * 255, b'...', b'..x', b'-rf', b' ',
         b'\x1b]0;x\x07', b'back\\slash', b'\xe2\x80\xae', b'sp ace', b'tab\t',
         b'*', b'?', b'[a]', b'{a,b}', b'~', b'$HOME', b'%s%n', b'\x01']
for name in names:
    with open(name, 'wb') as file: file.write(b'content of ' + name)
deep = b'/'.join([b'deep'] * 30)
os.makedirs(deep)
open(deep + b'/leaf', 'wb').write(b'content of leaf')
)");
  request.add_fetch("*");
  request.add_fetch("**/leaf");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  std::set<std::string> names;
  for (const v1::OutputFile& file : result.response.files()) {
    const std::string name = file.path().substr(file.path().rfind('/') + 1);
    if (name == "main.py") continue;
    EXPECT_EQ(file.content(), "content of " + name);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(names.size(), 21U);
}

TEST_F(HostileFilesRace, HugeAndManyAreNamedAndCostNothing) {
  v1::RunCodeRequest request = Python(R"(
import os, resource
for i in range(40):
    with open('sparse%d' % i, 'w') as file: file.truncate(60 << 20)
for i in range(3000): open('empty%d' % i, 'w').close()
os.symlink('/proc/self/fd/1', 'stdout')
os.symlink('/proc/self/mem', 'memory')
os.symlink('/dev/zero', 'zero')
os.symlink('/dev/random', 'random')
os.symlink('/proc/kcore', 'core')
for i in range(100): os.symlink('chain%d' % (i + 1), 'chain%d' % i)
)");
  request.add_fetch("*");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(result.elapsed, kSoon);
  std::map<std::string, v1::OutputFile> files;
  for (const v1::OutputFile& file : result.response.files()) {
    files[file.path()] = file;
    EXPECT_EQ(file.content(), "") << file.path();
    if (absl::StartsWith(file.path(), "sparse")) {
      EXPECT_EQ(file.error(), v1::FILE_ERROR_TOO_LARGE);
      EXPECT_EQ(file.size(), uint64_t{60} << 20);
    }
    for (const char* name : {"stdout", "memory", "zero", "random", "core"}) {
      if (file.path() == name) {
        EXPECT_EQ(file.error(), v1::FILE_ERROR_NOT_REGULAR) << name;
      }
    }
  }
  EXPECT_EQ(files.size(), kMaxFiles);
}

}  // namespace
}  // namespace sandglass::testing
