// `sandglass session put`, get, cat, ls, snapshot and restore through the
// binary.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CliCopyTest : public ::testing::Test {
 protected:
  // `here` is where the client runs.
  std::string Here(const std::string& name) const {
    return daemon_.directory().Path(name);
  }
  void Write(const std::string& name, const std::string& content,
             mode_t mode = 0644) const {
    fs::create_directories(fs::path(Here(name)).parent_path());
    std::ofstream(Here(name)) << content;
    chmod(Here(name).c_str(), mode);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Here(name));
    std::stringstream text;
    text << file.rdbuf();
    return file ? text.str() : "(missing)";
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat info = {};
    return stat(Here(name).c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }
  // What is in a directory here, with all below.
  std::vector<std::string> Names(const std::string& directory) const {
    std::vector<std::string> names;
    for (const auto& entry :
         fs::recursive_directory_iterator(Here(directory))) {
      names.push_back(entry.path().lexically_relative(Here(directory)));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  SubprocessResult Session(std::vector<std::string> args,
                           const std::string& input = "") const {
    args.insert(args.begin(), "session");
    SubprocessOptions options = daemon_.Client(std::move(args));
    options.stdin_text = input;
    return RunProcess(options);
  }
  void ExpectQuiet(const SubprocessResult& result) const {
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "");
  }

  FakeDaemon daemon_;
};

TEST_F(CliCopyTest, AFileGoesThereAndBackWithItsMode) {
  Write("sales.csv", "month,sum\n", 0750);
  ExpectQuiet(Session({"put", "s", "sales.csv"}));
  ExpectQuiet(Session({"put", "s", "sales.csv", "data/"}));
  ExpectQuiet(Session({"put", "s", "sales.csv", "copy.csv"}));
  const auto files = daemon_.files.all();
  for (const char* path : {"/workspace/sales.csv", "/workspace/data/sales.csv",
                           "/workspace/copy.csv"}) {
    ASSERT_EQ(files.count(path), 1u) << path;
    EXPECT_EQ(files.at(path).content, "month,sum\n");
    EXPECT_EQ(files.at(path).mode, 0750u);
  }
  fs::create_directory(Here("back"));
  ExpectQuiet(Session({"get", "s", "sales.csv", "back"}));
  ExpectQuiet(Session({"get", "s", "/workspace/copy.csv", "back/other.csv"}));
  EXPECT_THAT(Names("back"), ElementsAre("other.csv", "sales.csv"));
  EXPECT_EQ(Read("back/sales.csv"), "month,sum\n");
  struct stat info = {};
  ASSERT_EQ(stat(Here("back/sales.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750u);
}

TEST_F(CliCopyTest, StandardInputAndOutputAreFilesToo) {
  ExpectQuiet(Session({"put", "s", "-", "in.txt"}, "typed"));
  EXPECT_EQ(daemon_.files.all().at("/workspace/in.txt").content, "typed");
  EXPECT_EQ(Session({"get", "s", "in.txt", "-"}).out, "typed");
  EXPECT_EQ(Session({"cat", "s", "in.txt", "in.txt"}).out, "typedtyped");
  const SubprocessResult nowhere = Session({"put", "s", "-", "."}, "typed");
  EXPECT_EQ(nowhere.exit_code, 125);
  EXPECT_THAT(nowhere.err, HasSubstr("which file of the session"));
}

TEST_F(CliCopyTest, ADirectoryGoesThereAndBack) {
  Write("tree/a.txt", "a");
  Write("tree/run.sh", "#!/bin/sh\n", 0755);
  Write("tree/deep/er/b.txt", "b");
  fs::create_directories(Here("tree/empty"));
  chmod(Here("tree").c_str(), 0750);
  chmod(Here("tree/deep").c_str(), 0777);
  chmod(Here("tree/deep/er").c_str(), 0500);
  fs::create_symlink("/etc", Here("tree/link"));
  const SubprocessResult put = Session({"put", "s", "tree", "/workspace"});
  EXPECT_EQ(put.exit_code, 0);
  EXPECT_EQ(put.err, "sandglass: left out tree/link: a symbolic link\n");
  const auto files = daemon_.files.all();
  EXPECT_EQ(files.at("/workspace/tree/deep/er/b.txt").content, "b");
  EXPECT_EQ(files.at("/workspace/tree/run.sh").mode, 0755u);
  EXPECT_EQ(files.at("/workspace/tree/empty").type, v1::FILE_TYPE_DIRECTORY);
  EXPECT_EQ(files.count("/workspace/tree/link"), 0u);

  ExpectQuiet(Session({"get", "s", "tree", "back"}));
  EXPECT_THAT(Names("back"), ElementsAre("a.txt", "deep", "deep/er",
                                         "deep/er/b.txt", "empty", "run.sh"));
  EXPECT_EQ(ModeOf("back"), 0750u);
  EXPECT_EQ(ModeOf("back/deep"), 0755u);
  EXPECT_EQ(ModeOf("back/deep/er"), 0700u);
  chmod(Here("back").c_str(), 0711);
  // Into what is there, as cp does.
  ExpectQuiet(Session({"get", "s", "tree", "back"}));
  EXPECT_EQ(Read("back/tree/deep/er/b.txt"), "b");
  EXPECT_EQ(ModeOf("back"), 0711u);
  EXPECT_EQ(ModeOf("back/tree"), 0750u);
}

TEST_F(CliCopyTest, ALargeFileGoesInPieces) {
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>(i);
  Write("large.bin", large);
  ExpectQuiet(Session({"put", "s", "large.bin"}));
  EXPECT_EQ(daemon_.files.all().at("/workspace/large.bin").content, large);
  EXPECT_LE(daemon_.files.largest_piece, 256u * 1024);
  ExpectQuiet(Session({"get", "s", "large.bin", "back.bin"}));
  EXPECT_EQ(Read("back.bin"), large);
}

TEST_F(CliCopyTest, AFileThatIsCutLeavesTheOldOne) {
  daemon_.files.Put("report",
                    {v1::FILE_TYPE_REGULAR, std::string(5000, 'n'), 0644});
  Write("here/report", "old");
  daemon_.files.cut_reads = true;
  const SubprocessResult result = Session({"get", "s", "report", "here"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("reason: FILE_BUSY_CHANGED"));
  EXPECT_EQ(Read("here/report"), "old");
  EXPECT_THAT(Names("here"), ElementsAre("report"));
}

TEST_F(CliCopyTest, NamesInASessionNeverLeadOutOfTheDirectory) {
  daemon_.files.Put("tree", {v1::FILE_TYPE_DIRECTORY, "", 0755});
  daemon_.files.Put("tree/good", {v1::FILE_TYPE_REGULAR, "good", 0644});
  daemon_.files.Put("tree/planted", {v1::FILE_TYPE_REGULAR, "evil", 0644});
  daemon_.files.Put("evil", {v1::FILE_TYPE_REGULAR, "evil", 0644});
  std::vector<v1::FileInfo> lies;
  for (const char* name : {"..", ".", "", "../evil", "/evil", "a/b", "a\nb"}) {
    v1::FileInfo lie;
    lie.set_path(name);
    lie.set_type(std::string(name) == ".." ? v1::FILE_TYPE_DIRECTORY
                                           : v1::FILE_TYPE_REGULAR);
    lies.push_back(lie);
  }
  daemon_.files.lies = lies;
  fs::create_directories(Here("out/tree"));
  Write("precious", "mine");
  fs::create_symlink(Here("precious"), Here("out/tree/planted"));
  const SubprocessResult result = Session({"get", "s", "tree", "out"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("unsafe path"));
  EXPECT_THAT(result.err, HasSubstr("a symbolic link; remove it"));
  EXPECT_THAT(Names("out"), ElementsAre("tree", "tree/good", "tree/planted"));
  EXPECT_EQ(Read("out/tree/good"), "good");
  EXPECT_EQ(Read("precious"), "mine");
}

TEST_F(CliCopyTest, TroubleWithOneFileIsSaidAndTheOthersGoOn) {
  Write("full", "no room");
  Write("good", "1");
  const SubprocessResult result =
      Session({"put", "s", "missing", "full", "good", "/workspace"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("sandglass: missing: cannot look at it"));
  EXPECT_THAT(result.err,
              HasSubstr("sandglass: full: the session's disk is full"));
  EXPECT_EQ(daemon_.files.all().at("/workspace/good").content, "1");
  const SubprocessResult no_directory =
      Session({"put", "s", "good", "full", "nowhere"});
  EXPECT_EQ(no_directory.exit_code, 125);
  EXPECT_THAT(no_directory.err, HasSubstr("nowhere is no directory"));
}

TEST_F(CliCopyTest, LsShowsADirectoryOrAFile) {
  daemon_.files.Put("a.csv", {v1::FILE_TYPE_REGULAR, "12345", 0640});
  daemon_.files.Put(".hidden", {v1::FILE_TYPE_REGULAR, "", 0644});
  daemon_.files.Put("dir", {v1::FILE_TYPE_DIRECTORY, "", 0755});
  daemon_.files.Put("link", {v1::FILE_TYPE_SYMLINK, "a.csv", 0777});
  EXPECT_EQ(Session({"ls", "s"}).out, "a.csv\ndir\nlink\n");
  EXPECT_EQ(Session({"ls", "s", "-a"}).out, ".hidden\na.csv\ndir\nlink\n");
  EXPECT_EQ(Session({"ls", "s", "-l"}).out,
            "-rw-r-----  5 B  2023-11-14 22:13:20  a.csv\n"
            "drwxr-xr-x  0 B  2023-11-14 22:13:20  dir\n"
            "lrwxrwxrwx  5 B  2023-11-14 22:13:20  link -> a.csv\n");
  EXPECT_EQ(Session({"ls", "s", "a.csv"}).out, "/workspace/a.csv\n");
  EXPECT_THAT(Session({"ls", "s", "--json"}).out,
              HasSubstr("\"path\":\"a.csv\""));
  EXPECT_EQ(Session({"ls", "s", "missing"}).exit_code, 125);
}

TEST_F(CliCopyTest, SnapshotsAreSavedAsAWholeAndRestored) {
  EXPECT_EQ(Session({"snapshot", "s"}).out, "archive of /workspace");
  ExpectQuiet(Session({"snapshot", "s", "/tmp/x", "-o", "x.tar"}));
  EXPECT_EQ(Read("x.tar"), "archive of /tmp/x");
  daemon_.files.cut_reads = true;
  EXPECT_EQ(Session({"snapshot", "s", "-o", "x.tar"}).exit_code, 125);
  EXPECT_EQ(Read("x.tar"), "archive of /tmp/x");

  EXPECT_EQ(Session({"restore", "s", "x.tar", "--replace"}).out,
            "2 files, 17 B; 1 entries left out\n");
  EXPECT_TRUE(daemon_.files.restored_start.Get().replace());
  EXPECT_EQ(daemon_.files.restored.Get(), "archive of /tmp/x");
  EXPECT_EQ(Session({"restore", "s", "-", "sub"}, "tar").exit_code, 0);
  EXPECT_EQ(daemon_.files.restored_start.Get().path(), "sub");
  EXPECT_EQ(daemon_.files.restored.Get(), "tar");
}

TEST_F(CliCopyTest, NoArchiveForATerminal) {
  SubprocessOptions options = daemon_.Client({"session", "snapshot", "s"});
  options.terminal = true;
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.out, HasSubstr("nothing for a terminal"));
}

}  // namespace
}  // namespace sandglass::client
