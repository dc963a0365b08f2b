// Files that go in and files that come back, honest and planted.

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

class Files : public DaemonTest {};

void AddFile(v1::RunCodeRequest& request, const std::string& path,
             const std::string& content, bool executable = false) {
  v1::InputFile* file = request.add_files();
  file->set_path(path);
  file->set_content(content);
  file->set_executable(executable);
}

std::map<std::string, v1::OutputFile> ByPath(const RunResult& result) {
  std::map<std::string, v1::OutputFile> files;
  for (const v1::OutputFile& file : result.response.files()) {
    EXPECT_FALSE(files.contains(file.path()))
        << "twice in the answer: " << file.path();
    files[file.path()] = file;
  }
  return files;
}

// One file of an answer that must be there with an error, and with nothing of
// what it points to.
void ExpectFileError(const std::map<std::string, v1::OutputFile>& files,
                     const std::string& path, v1::FileError error) {
  ASSERT_TRUE(files.contains(path)) << "no answer about " << path;
  EXPECT_EQ(v1::FileError_Name(files.at(path).error()),
            v1::FileError_Name(error))
      << "for " << path;
  EXPECT_EQ(files.at(path).content(), "") << "content of " << path;
}

TEST_F(Files, InputFilesGoIntoTheWorkspace) {
  v1::RunCodeRequest request = Bash(
      "cat data.txt; ./deep/er/tool; wc -c < empty; cat 'näme 漢.txt'; "
      "od -An -tx1 binary");
  AddFile(request, "data.txt", "data\n");
  AddFile(request, "deep/er/tool", "#!/bin/bash\necho tool\n", true);
  AddFile(request, "empty", "");
  AddFile(request, "näme 漢.txt", "unicode\n");
  AddFile(request, "binary", std::string("\0\xff\n", 3));
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(),
            "data\ntool\n0\nunicode\n 00 ff 0a\n");
}

TEST_F(Files, AFileIsNotExecutableUnlessAsked) {
  v1::RunCodeRequest request = Bash("./tool");
  AddFile(request, "tool", "#!/bin/bash\necho tool\n");
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 126);
}

TEST_F(Files, ProgramsMayChangeTheirInputFiles) {
  v1::RunCodeRequest request = Bash("echo more >> data; rm gone");
  AddFile(request, "data", "some\n");
  AddFile(request, "gone", "x");
  request.add_fetch("data");
  request.add_fetch("gone");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const auto files = ByPath(result);
  ASSERT_TRUE(files.contains("data"));
  EXPECT_EQ(files.at("data").content(), "some\nmore\n");
  ExpectFileError(files, "gone", v1::FILE_ERROR_NOT_FOUND);
}

TEST_F(Files, FetchedFilesComeBackByPathAndGlob) {
  v1::RunCodeRequest request = Bash(
      "mkdir -p out/sub/deep other; echo 1 > out/a.txt; echo 2 > out/b.txt; "
      "echo 3 > out/c.log; echo 4 > out/sub/d.txt; echo 5 > out/sub/deep/e.txt;"
      " echo 6 > f1; echo 7 > f2; echo 8 > f3; echo 9 > other/x; "
      "printf '\\x00\\xff' > binary; chmod 640 binary; : > empty");
  for (const char* pattern :
       {"out/*.txt", "f[12]", "binary", "empty", "**/deep/*.txt", "oth?r/x"}) {
    request.add_fetch(pattern);
  }
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const auto files = ByPath(result);
  const std::map<std::string, std::string> expected = {
      {"out/a.txt", "1\n"},
      {"out/b.txt", "2\n"},
      {"f1", "6\n"},
      {"f2", "7\n"},
      {"binary", std::string("\0\xff", 2)},
      {"empty", ""},
      {"out/sub/deep/e.txt", "5\n"},
      {"other/x", "9\n"}};
  EXPECT_EQ(files.size(), expected.size());
  for (const auto& [path, content] : expected) {
    ASSERT_TRUE(files.contains(path)) << path << " did not come back";
    EXPECT_EQ(files.at(path).content(), content) << path;
    EXPECT_EQ(files.at(path).size(), content.size()) << path;
    EXPECT_EQ(files.at(path).error(), v1::FILE_ERROR_UNSPECIFIED) << path;
  }
  EXPECT_EQ(files.at("binary").mode() & 0777U, 0640U);
}

TEST_F(Files, FetchedFilesComeBackFromAFailedOrStoppedRunToo) {
  v1::RunCodeRequest failed = Bash("echo kept > file; exit 3");
  failed.add_fetch("file");
  v1::RunCodeRequest stopped =
      WithWall(Bash("echo kept > file; sleep 60"), absl::Milliseconds(700));
  stopped.add_fetch("file");
  for (const v1::RunCodeRequest& request : {failed, stopped}) {
    const RunResult result = Run(request);
    ASSERT_THAT(result, IsOk());
    const auto files = ByPath(result);
    ASSERT_TRUE(files.contains("file"));
    EXPECT_EQ(files.at("file").content(), "kept\n");
  }
}

TEST_F(Files, FileNamesNeedNotBeText) {
  v1::RunCodeRequest request =
      Python("open(b'odd-\\xff\\xfe', 'w').write('odd')");
  request.add_fetch("odd-*");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const auto files = ByPath(result);
  ASSERT_TRUE(files.contains("odd-\xff\xfe"));
  EXPECT_EQ(files.at("odd-\xff\xfe").content(), "odd");
}

TEST_F(Files, PlantedLinksAndSpecialFilesAreRefusedAndNothingIsRead) {
  v1::RunCodeRequest request = Python(R"(
import os, socket
os.symlink('/etc/passwd', 'passwd')
os.symlink('/proc/self/mem', 'mem')
os.symlink('/proc/self/status', 'status')
os.symlink('/proc/1/environ', 'environ')
os.symlink('/dev/zero', 'zero')
os.symlink('../../../../etc/hosts', 'climb')
os.symlink('loop', 'loop')
os.symlink('/etc', 'etc')
os.symlink('/proc/self/root', 'root')
os.mkfifo('fifo')
os.mkdir('directory')
open('secret', 'w').write('hidden')
os.chmod('secret', 0)
os.mkdir('closed')
open('closed/file', 'w').write('hidden')
os.chmod('closed', 0)
socket.socket(socket.AF_UNIX).bind('socket')
)");
  for (const char* path :
       {"passwd", "mem", "status", "environ", "zero", "climb", "loop",
        "etc/passwd", "root/etc/passwd", "fifo", "directory", "secret",
        "closed/file", "socket", "missing", "missing/file"}) {
    request.add_fetch(path);
  }
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const auto files = ByPath(result);
  for (const char* path :
       {"passwd", "mem", "status", "environ", "zero", "climb", "loop",
        "etc/passwd", "root/etc/passwd", "fifo", "socket"}) {
    ExpectFileError(files, path, v1::FILE_ERROR_NOT_REGULAR);
  }
  ExpectFileError(files, "directory", v1::FILE_ERROR_IS_DIRECTORY);
  ExpectFileError(files, "secret", v1::FILE_ERROR_PERMISSION_DENIED);
  ExpectFileError(files, "closed/file", v1::FILE_ERROR_PERMISSION_DENIED);
  ExpectFileError(files, "missing", v1::FILE_ERROR_NOT_FOUND);
  ExpectFileError(files, "missing/file", v1::FILE_ERROR_NOT_FOUND);
  EXPECT_LT(result.elapsed, absl::Seconds(15)) << "a FIFO must not block";
}

TEST_F(Files, GlobsDoNotFollowPlantedLinks) {
  v1::RunCodeRequest request = Bash(
      "ln -s /etc etc; ln -s /proc/self/root root; mkdir real; "
      "echo fine > real/passwd");
  request.add_fetch("**/passwd");
  request.add_fetch("*/hostname");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  for (const auto& [path, file] : ByPath(result)) {
    if (path == "real/passwd") {
      EXPECT_EQ(file.content(), "fine\n");
    } else {
      EXPECT_EQ(file.content(), "") << path;
    }
  }
  EXPECT_TRUE(ByPath(result).contains("real/passwd"));
}

TEST_F(Files, ATooLargeFileIsReportedWithItsSize) {
  v1::RunCodeRequest request =
      Bash("head -c 40M /dev/zero > big; echo small > small");
  request.add_fetch("big");
  request.add_fetch("small");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const auto files = ByPath(result);
  ExpectFileError(files, "big", v1::FILE_ERROR_TOO_LARGE);
  EXPECT_EQ(files.at("big").size(), uint64_t{40} << 20);
  ASSERT_TRUE(files.contains("small"));
  EXPECT_EQ(files.at("small").content(), "small\n");
}

TEST_F(Files, ManyMatchesDoNotBreakTheAnswer) {
  v1::RunCodeRequest request =
      Bash("mkdir d; cd d; for i in {1..5000}; do : > f$i; done");
  request.add_fetch("**");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_GT(result.response.files_size(), 0);
  ASSERT_EQ(result.response.hints_size(), 1);
  EXPECT_EQ(result.response.hints(0).id(), "files-left-out");
}

TEST_F(Files, SparseFilesOfHugeSizeDoNotBreakTheAnswer) {
  v1::RunCodeRequest request = Python(
      "import os\nfor i in range(30):\n"
      "    open(f'f{i}', 'w').close()\n    os.truncate(f'f{i}', 60 << 20)");
  request.add_fetch("f*");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.files_size(), 30);
}

}  // namespace
}  // namespace sandglass::testing
