#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/files.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Links = FileAgent::Links;
using Parents = FileAgent::Parents;
using Depth = FileAgent::Depth;
using Overwrite = FileAgent::Overwrite;

class FileAgentTest : public sandglass::testing::AgentFixture {
 protected:
  FileCode CodeOfOpen(const std::string& path) {
    return agent().Open(path, limits_).result.code;
  }
  FileCode CodeOfWrite(const std::string& path,
                       const WriteOptions& options = {}) {
    return agent().Write(path, "new", options, limits_).result.code;
  }
};

std::string ReadAll(const os::Fd& file) {
  std::string text(1024 * 1024, '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

TEST_F(FileAgentTest, OpensARegularFile) {
  Put("/a.txt", "hello");
  ::chmod(At("/a.txt").c_str(), 0640);
  Start();
  const FileAnswer<OpenedFile> opened = agent().Open("/a.txt", limits_);
  ASSERT_EQ(opened.result.code, FileCode::kOk);
  EXPECT_EQ(ReadAll(opened.value.file), "hello");
  EXPECT_EQ(opened.value.facts.size, 5u);
  EXPECT_EQ(opened.value.facts.mode, 0640u);
  EXPECT_EQ(opened.value.facts.type, FileType::kRegular);
  EXPECT_GT(opened.value.facts.mtime, absl::UnixEpoch());
}

TEST_F(FileAgentTest, SaysWhyAFileCanNotBeOpened) {
  Put("/file", "");
  ASSERT_EQ(::mkdir(At("/directory").c_str(), 0755), 0);
  ASSERT_EQ(::mkfifo(At("/fifo").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("loop", At("/loop").c_str()), 0);
  const os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  At("/socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<struct sockaddr*>(&address),
                   sizeof(address)),
            0);
  Start();
  EXPECT_EQ(CodeOfOpen("/nothing"), FileCode::kNotFound);
  EXPECT_EQ(CodeOfOpen("/nothing/below"), FileCode::kNotFound);
  EXPECT_EQ(CodeOfOpen("/file/below"), FileCode::kNotDirectory);
  EXPECT_EQ(CodeOfOpen("/directory"), FileCode::kIsDirectory);
  EXPECT_EQ(CodeOfOpen("/"), FileCode::kIsDirectory);
  EXPECT_EQ(CodeOfOpen("/fifo"), FileCode::kNotRegular);
  EXPECT_EQ(CodeOfOpen("/socket"), FileCode::kNotRegular);
  EXPECT_EQ(CodeOfOpen("/loop"), FileCode::kInvalidPath);
  EXPECT_EQ(CodeOfOpen(""), FileCode::kInvalidPath);
  EXPECT_EQ(CodeOfOpen("file"), FileCode::kInvalidPath);
  EXPECT_EQ(CodeOfOpen(std::string("/fi\0le", 6)), FileCode::kInvalidPath);
  EXPECT_EQ(CodeOfOpen("/" + std::string(256, 'n')), FileCode::kInvalidPath);
  std::string deep;
  while (deep.size() < 5000) deep += "/deep";
  EXPECT_EQ(CodeOfOpen(deep), FileCode::kInvalidPath);
  EXPECT_EQ(CodeOfOpen("//file"), FileCode::kOk);
  EXPECT_TRUE(agent().alive());
}

TEST_F(FileAgentTest, NeverLeavesItsRoot) {
  sandglass::testing::TempDir outside;
  sandglass::testing::WriteFile(outside.Path("secret"), "secret");
  ASSERT_EQ(::symlink(outside.path().c_str(), At("/out").c_str()), 0);
  ASSERT_EQ(::symlink("../../../../../../etc/passwd", At("/up").c_str()), 0);
  Start();
  EXPECT_EQ(CodeOfOpen("/out/secret"), FileCode::kNotFound);
  EXPECT_EQ(CodeOfOpen("/up"), FileCode::kNotFound);
  EXPECT_EQ(CodeOfOpen("/../../../../../../etc/passwd"), FileCode::kNotFound);
  EXPECT_EQ(CodeOfWrite("/out/secret", {.make_parents = true}),
            FileCode::kNotFound);
  EXPECT_EQ(agent().Remove("/out/secret", Depth::kOne, limits_).result.code,
            FileCode::kNotFound);
  EXPECT_EQ(sandglass::testing::ReadFile(outside.Path("secret")), "secret");
}

TEST_F(FileAgentTest, FollowsLinksWithin) {
  ASSERT_EQ(::mkdir(At("/d").c_str(), 0755), 0);
  Put("/d/file", "text");
  ASSERT_EQ(::symlink("/d/file", At("/absolute").c_str()), 0);
  ASSERT_EQ(::symlink("absolute", At("/twice").c_str()), 0);
  Start();
  EXPECT_EQ(CodeOfOpen("/twice"), FileCode::kOk);
  const auto link = agent().Stat("/twice", Links::kNoFollow, limits_);
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link.value.type, FileType::kSymlink);
  EXPECT_EQ(link.value.link_target, "absolute");
  const auto target = agent().Stat("/twice", Links::kFollow, limits_);
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target.value.size, 4u);
  // Writing goes where reading does, and the links stay.
  EXPECT_EQ(CodeOfWrite("/twice"), FileCode::kOk);
  EXPECT_EQ(Get("/d/file"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(At("/twice")));
}

TEST_F(FileAgentTest, WritesWholeFiles) {
  Start();
  EXPECT_EQ(CodeOfWrite("/a/b/c"), FileCode::kNotFound);
  const auto written = agent().Write("/a/b/c", std::string("x\0y", 3),
                                     {.make_parents = true}, limits_);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value.size, 3u);
  EXPECT_EQ(written.value.mode, 0644u);
  EXPECT_EQ(Get("/a/b/c"), std::string("x\0y", 3));
  EXPECT_EQ(agent().Write("/empty", "", {}, limits_).result.code,
            FileCode::kOk);
  EXPECT_EQ(Get("/empty"), "");
}

TEST_F(FileAgentTest, KeepsTheModeUnlessTold) {
  Put("/tool", "old");
  ::chmod(At("/tool").c_str(), 0750);
  Start();
  EXPECT_EQ(agent().Write("/tool", "new", {}, limits_).value.mode, 0750u);
  EXPECT_EQ(agent().Write("/tool", "newer", {.mode = 0600}, limits_).value.mode,
            0600u);
  EXPECT_EQ(Get("/tool"), "newer");
}

TEST_F(FileAgentTest, NewContentDoesNotInheritTheRightsOfTheOld) {
  Put("/tool", "old");
  ::chmod(At("/tool").c_str(), 07755);
  Start();
  EXPECT_EQ(agent().Write("/tool", "new", {}, limits_).value.mode, 01755u);
}

TEST_F(FileAgentTest, CreatesOnlyWhatIsNew) {
  Put("/there", "old");
  Start();
  const WriteOptions create = {.how = WriteMode::kCreateNew};
  EXPECT_EQ(CodeOfWrite("/there", create), FileCode::kExists);
  EXPECT_EQ(Get("/there"), "old");
  EXPECT_EQ(CodeOfWrite("/fresh", create), FileCode::kOk);
  EXPECT_EQ(Get("/fresh"), "new");
}

TEST_F(FileAgentTest, AppendsToAFileOrMakesIt) {
  Put("/log", "one\n");
  Start();
  const WriteOptions append = {.how = WriteMode::kAppend};
  EXPECT_TRUE(agent().Write("/log", "two\n", append, limits_).ok());
  EXPECT_EQ(Get("/log"), "one\ntwo\n");
  EXPECT_TRUE(agent().Write("/other", "one\n", append, limits_).ok());
  EXPECT_EQ(Get("/other"), "one\n");
}

TEST_F(FileAgentTest, RefusesToWriteWhatIsNoFile) {
  ASSERT_EQ(::mkdir(At("/d").c_str(), 0755), 0);
  ASSERT_EQ(::mkfifo(At("/fifo").c_str(), 0644), 0);
  Start();
  EXPECT_EQ(CodeOfWrite("/d"), FileCode::kIsDirectory);
  EXPECT_EQ(CodeOfWrite("/new/"), FileCode::kIsDirectory);
  EXPECT_EQ(CodeOfWrite("/d/.."), FileCode::kIsDirectory);
  EXPECT_EQ(CodeOfWrite("/fifo"), FileCode::kNotRegular);
  EXPECT_EQ(CodeOfWrite("/fifo/x"), FileCode::kNotDirectory);
  EXPECT_EQ(CodeOfWrite("/a", {.max_bytes = 2}), FileCode::kTooLarge);
  EXPECT_EQ(NamesIn("/"), 2u);
}

TEST_F(FileAgentTest, LargeContentGoesThroughADescriptor) {
  std::string content;
  for (int i = 0; content.size() < 3'000'000; ++i) absl::StrAppend(&content, i);
  Start();
  ASSERT_TRUE(agent().Write("/large", content, {}, limits_).ok());
  EXPECT_EQ(Get("/large"), content);
  // Fewer bytes than announced leave nothing.
  const absl::StatusOr<os::Fd> few = os::MakeMemfd("few", "few");
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(agent().WriteFrom("/few", *few, 4, {}, limits_).result.code,
            FileCode::kIncomplete);
  EXPECT_EQ(NamesIn("/"), 1u);
}

TEST_F(FileAgentTest, UploadsInPieces) {
  Start();
  auto upload = agent().BeginWrite("/up", {}, limits_);
  ASSERT_TRUE(upload.ok());
  const std::string piece(100'000, 'p');
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(upload.value.Append(piece, limits_).ok());
  }
  EXPECT_EQ(Get("/up"), "<missing>");
  const auto written = upload.value.Commit(limits_);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value.size, 2'000'000u);
  EXPECT_EQ(Get("/up").size(), 2'000'000u);
  EXPECT_EQ(NamesIn("/"), 1u);
}

TEST_F(FileAgentTest, LeavesNothingOfAnAbortedUpload) {
  Put("/kept", "old");
  Start();
  {
    auto upload = agent().BeginWrite("/kept", {}, limits_);
    ASSERT_TRUE(upload.ok());
    ASSERT_TRUE(upload.value.Append(std::string(300'000, 'x'), limits_).ok());
  }
  // The agent is told, and tidies up before it ends.
  EXPECT_EQ(Stop(), 0);
  EXPECT_EQ(Get("/kept"), "old");
  EXPECT_EQ(NamesIn("/"), 1u);
}

TEST_F(FileAgentTest, LeavesNothingWhenTheDaemonGoes) {
  Start();
  auto upload = agent().BeginWrite("/half", {}, limits_);
  ASSERT_TRUE(upload.ok());
  ASSERT_TRUE(upload.value.Append(std::string(300'000, 'x'), limits_).ok());
  // As when the daemon dies: without a word.
  ::kill(pid_, SIGCONT);
  upload.value = FileUpload();
  EXPECT_EQ(Stop(), 0);
  EXPECT_EQ(NamesIn("/"), 0u);
}

TEST_F(FileAgentTest, SaysWhyAnUploadEnded) {
  Start();
  auto upload = agent().BeginWrite("/no/such/directory", {}, limits_);
  ASSERT_TRUE(upload.ok());
  const std::string piece(1'000'000, 'p');
  FileResult result;
  for (int i = 0; i < 10 && result.ok(); ++i) {
    result = upload.value.Append(piece, limits_);
  }
  EXPECT_EQ(result.code, FileCode::kIncomplete);
  EXPECT_EQ(upload.value.Commit(limits_).result.code, FileCode::kNotFound);
}

TEST_F(FileAgentTest, ListsSortedAndInPages) {
  for (int i = 0; i < 3000; ++i) {
    Put(absl::StrCat("/", absl::Dec(i, absl::kZeroPad4), std::string(100, 'n')),
        "");
  }
  Start();
  const auto all = agent().List("/", "", 0, limits_);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value.entries.size(), 3000u);
  EXPECT_FALSE(all.value.truncated);
  for (size_t i = 1; i < 3000; ++i) {
    EXPECT_LT(all.value.entries[i - 1].name, all.value.entries[i].name);
  }
  std::string after;
  size_t seen = 0;
  for (bool more = true; more;) {
    const auto page = agent().List("/", after, 700, limits_);
    ASSERT_TRUE(page.ok());
    for (const FileFacts& facts : page.value.entries) {
      EXPECT_EQ(facts.name, all.value.entries[seen++].name);
    }
    after = page.value.entries.back().name;
    more = page.value.truncated;
  }
  EXPECT_EQ(seen, 3000u);
}

TEST_F(FileAgentTest, ListsAnyNameAndKind) {
  const std::string odd = "\xff\xfe\nnew\tline";
  Put("/" + odd, "12");
  ASSERT_EQ(::mkdir(At("/d").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("nowhere", At("/l").c_str()), 0);
  ASSERT_EQ(::mkfifo(At("/p").c_str(), 0644), 0);
  Start();
  const auto list = agent().List("/", "", 0, limits_);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value.entries.size(), 4u);
  EXPECT_EQ(list.value.entries[0].type, FileType::kDirectory);
  EXPECT_EQ(list.value.entries[1].link_target, "nowhere");
  EXPECT_EQ(list.value.entries[2].type, FileType::kOther);
  EXPECT_EQ(list.value.entries[3].name, odd);
  EXPECT_EQ(list.value.entries[3].size, 2u);
  EXPECT_EQ(agent().List("/" + odd, "", 0, limits_).result.code,
            FileCode::kNotDirectory);
  EXPECT_EQ(agent().List("/none", "", 0, limits_).result.code,
            FileCode::kNotFound);
}

TEST_F(FileAgentTest, MakesDirectories) {
  Put("/file", "");
  Start();
  const auto make = [&](const std::string& path, Parents parents) {
    return agent().MakeDirectory(path, parents, 0750, limits_).code;
  };
  EXPECT_EQ(make("/a/b/", Parents::kMustExist), FileCode::kNotFound);
  EXPECT_EQ(make("/a/b/", Parents::kMake), FileCode::kOk);
  EXPECT_EQ(agent().Stat("/a/b", Links::kFollow, limits_).value.mode, 0750u);
  EXPECT_EQ(make("/a/b", Parents::kMustExist), FileCode::kExists);
  EXPECT_EQ(make("/a/b", Parents::kMake), FileCode::kOk);
  EXPECT_EQ(make("/", Parents::kMake), FileCode::kOk);
  EXPECT_EQ(make("/file", Parents::kMake), FileCode::kExists);
  EXPECT_EQ(make("/file/x", Parents::kMake), FileCode::kNotDirectory);
}

TEST_F(FileAgentTest, RemovesFilesAndTreesButNotLinkTargets) {
  Put("/file", "");
  std::filesystem::create_directories(At("/tree/sub"));
  Put("/tree/sub/file", "");
  ASSERT_EQ(::symlink("/file", At("/tree/link").c_str()), 0);
  ASSERT_EQ(::symlink("/tree", At("/link").c_str()), 0);
  Start();
  const auto remove = [&](const std::string& path, Depth depth) {
    return agent().Remove(path, depth, limits_).result.code;
  };
  EXPECT_EQ(remove("/tree", Depth::kOne), FileCode::kNotEmpty);
  EXPECT_EQ(remove("/none", Depth::kOne), FileCode::kNotFound);
  EXPECT_EQ(remove("/none", Depth::kRecursive), FileCode::kNotFound);
  EXPECT_EQ(remove("/", Depth::kRecursive), FileCode::kBusy);
  // Of a link the link goes, not what it leads to.
  EXPECT_EQ(remove("/link", Depth::kRecursive), FileCode::kOk);
  EXPECT_TRUE(std::filesystem::exists(At("/tree/sub/file")));
  const auto removed = agent().Remove("/tree", Depth::kRecursive, limits_);
  EXPECT_TRUE(removed.ok());
  EXPECT_EQ(removed.value, 4u);
  EXPECT_TRUE(std::filesystem::exists(At("/file")));
  EXPECT_EQ(remove("/file", Depth::kOne), FileCode::kOk);
}

// Each level costs the walk neither stack nor a descriptor.
TEST_F(FileAgentTest, RemovesADeepTree) {
  os::Fd at(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "deeper", 0755), 0);
    at.reset(::openat(at.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at.reset();
  Start();
  const auto found = agent().Glob("/", "none", {}, limits_);
  EXPECT_TRUE(found.ok());
  const auto removed = agent().Remove("/deeper", Depth::kRecursive, limits_);
  EXPECT_TRUE(removed.ok());
  EXPECT_EQ(removed.value, 10'000u);
  EXPECT_EQ(NamesIn("/"), 0u);
}

// Its depths are moved up first, for the kernel takes longer the deeper a name
// is; seen by what may not be removed.
TEST_F(FileAgentTest, RemovesADeepTreeInShallowParts) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another";
  std::string path = "/deep";
  for (int i = 0; i < 200; ++i) path += "/d";
  std::filesystem::create_directories(At(path));
  for (std::string at = path; at != "/"; at = at.substr(0, at.rfind('/'))) {
    if (at.empty()) break;
    ASSERT_EQ(::chown(At(at).c_str(), kNobody, kNobody), 0);
  }
  std::filesystem::create_directories(At(path + "/kept"));
  Put(path + "/kept/file", "");
  StartAs(kNobody);
  const auto removed = agent().Remove("/deep", Depth::kRecursive, limits_);
  EXPECT_EQ(removed.result.code, FileCode::kPermissionDenied);
  int levels = -1;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(At("/deep"))) {
    if (entry.path().filename() != "kept") continue;
    const auto below = entry.path().lexically_relative(At("/deep"));
    levels = static_cast<int>(std::distance(below.begin(), below.end()));
  }
  EXPECT_GT(levels, 0);
  EXPECT_LT(levels, 70);
}

TEST_F(FileAgentTest, MovesAndReplacesOnlyWhenTold) {
  Put("/a", "a");
  Put("/b", "b");
  std::filesystem::create_directories(At("/d/e"));
  Start();
  const auto move = [&](const std::string& from, const std::string& to,
                        Overwrite overwrite, Parents parents) {
    return agent().Move(from, to, overwrite, parents, limits_).code;
  };
  EXPECT_EQ(move("/a", "/b", Overwrite::kNo, Parents::kMustExist),
            FileCode::kExists);
  EXPECT_EQ(move("/a", "/b", Overwrite::kYes, Parents::kMustExist),
            FileCode::kOk);
  EXPECT_EQ(Get("/b"), "a");
  EXPECT_EQ(move("/b", "/x/y", Overwrite::kNo, Parents::kMustExist),
            FileCode::kNotFound);
  EXPECT_EQ(move("/none", "/z/y", Overwrite::kNo, Parents::kMake),
            FileCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(At("/z")));
  EXPECT_EQ(move("/b", "/x/y", Overwrite::kNo, Parents::kMake), FileCode::kOk);
  EXPECT_EQ(move("/d", "/d/e/f", Overwrite::kNo, Parents::kMustExist),
            FileCode::kInvalidPath);
}

TEST_F(FileAgentTest, HasOnlyItsUsersRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another";
  Put("/closed", "secret");
  ::chmod(At("/closed").c_str(), 0);
  Put("/roots", "old");
  ASSERT_EQ(::chown(At("/closed").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::mkdir(At("/hall").c_str(), 0755), 0);
  Put("/hall/file", "");
  StartAs(kNobody);
  EXPECT_EQ(CodeOfOpen("/closed"), FileCode::kPermissionDenied);
  EXPECT_EQ(CodeOfWrite("/closed"), FileCode::kPermissionDenied);
  EXPECT_EQ(CodeOfWrite("/roots"), FileCode::kPermissionDenied);
  EXPECT_EQ(CodeOfWrite("/hall/new"), FileCode::kPermissionDenied);
  EXPECT_EQ(agent().Remove("/hall", Depth::kRecursive, limits_).result.code,
            FileCode::kPermissionDenied);
  EXPECT_EQ(CodeOfWrite("/mine"), FileCode::kOk);
  EXPECT_EQ(Get("/roots"), "old");
  struct stat info = {};
  ASSERT_EQ(::stat(At("/mine").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kNobody);
}

}  // namespace
}  // namespace sandglass::sandbox
