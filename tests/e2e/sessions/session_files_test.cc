// Files of sessions: what each call does, and what it says where it can't.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Stub = v1::FileService::Stub;
using grpc::StatusCode;

class SessionFiles : public DaemonTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  static v1::CreateSessionRequest WithoutKernel() { return {}; }
};

std::vector<std::string> PathsOf(
    const google::protobuf::RepeatedPtrField<v1::FileInfo>& entries) {
  std::vector<std::string> paths;
  for (const v1::FileInfo& info : entries) paths.push_back(info.path());
  return paths;
}

TEST_F(SessionFiles, WrittenFilesAreReadByTheCodeAndTheOtherWayRound) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  v1::FileInfo info;
  ASSERT_THAT(files.Write("data/in.txt", "6 7\n", &info), IsOk());
  EXPECT_EQ(info.path(), "/workspace/data/in.txt");
  EXPECT_EQ(info.size(), 4u);
  EXPECT_EQ(info.mode(), 0644u);
  const RunResult result = session.Run(
      "a, b = map(int, open('data/in.txt').read().split())\n"
      "open('/workspace/out.txt', 'w').write(str(a * b))");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  std::string content;
  ASSERT_THAT(files.Read("out.txt", &content), IsOk());
  EXPECT_EQ(content, "42");
  ASSERT_THAT(files.Read("/workspace/out.txt", &content, 1, 1), IsOk());
  EXPECT_EQ(content, "2");
  ASSERT_THAT(files.Read("/workspace/out.txt", &content, 7), IsOk());
  EXPECT_EQ(content, "");
}

TEST_F(SessionFiles, ASessionWithoutAKernelHasFilesToo) {
  TestSession session(client(), WithoutKernel());
  ASSERT_THAT(session.status(), IsOk());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a", "1"), IsOk());
  std::string content;
  ASSERT_THAT(files.Read("a", &content), IsOk());
  EXPECT_EQ(content, "1");
}

TEST_F(SessionFiles, WriteModesCreateReplaceAndAppend) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  v1::FileWriteStart start;
  start.set_path("a");
  start.set_write_mode(v1::FILE_WRITE_MODE_CREATE_NEW);
  start.set_mode(0700);
  v1::FileInfo info;
  ASSERT_THAT(files.WriteAs(start, {"one"}, &info), IsOk());
  EXPECT_EQ(info.mode(), 0700u);
  const grpc::Status again = files.WriteAs(start, {"two"}, &info);
  EXPECT_THAT(again, StatusIs(StatusCode::ALREADY_EXISTS));
  EXPECT_EQ(ReasonOf(again), "FILE_EXISTS");
  start.set_write_mode(v1::FILE_WRITE_MODE_APPEND);
  start.clear_mode();
  ASSERT_THAT(files.WriteAs(start, {" two", " three"}, &info), IsOk());
  EXPECT_EQ(info.mode(), 0700u);
  std::string content;
  ASSERT_THAT(files.Read("a", &content), IsOk());
  EXPECT_EQ(content, "one two three");
}

TEST_F(SessionFiles, AnUploadThatIsCutLeavesNothing) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("old", "old"), IsOk());
  for (const bool cancel : {false, true}) {
    SCOPED_TRACE(cancel);
    grpc::ClientContext context;
    v1::WriteFileResponse response;
    auto writer = client().files().WriteFile(&context, &response);
    v1::WriteFileRequest request;
    request.mutable_start()->set_session_id(session.id());
    request.mutable_start()->set_path("old");
    ASSERT_TRUE(writer->Write(request));
    request.set_data(std::string(100'000, 'x'));
    ASSERT_TRUE(writer->Write(request));
    if (cancel) {
      context.TryCancel();
      EXPECT_THAT(writer->Finish(), StatusIs(StatusCode::CANCELLED));
    } else {
      writer->WritesDone();
      const grpc::Status cut = writer->Finish();
      EXPECT_THAT(cut, StatusIs(StatusCode::INVALID_ARGUMENT));
      EXPECT_EQ(ReasonOf(cut), "FILE_INCOMPLETE");
    }
    // What was given up is cleaned up a moment later.
    v1::ListDirectoryResponse list;
    const auto alone = [&] {
      list.Clear();
      return files.List("", &list).ok() && list.entries_size() == 1;
    };
    EXPECT_TRUE(WaitUntil(alone, absl::Seconds(10))) << list.ShortDebugString();
    std::string content;
    ASSERT_THAT(files.Read("old", &content), IsOk());
    EXPECT_EQ(content, "old");
  }
}

TEST_F(SessionFiles, TenMebibytesGoThroughFixedMemory) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("small", "x"), IsOk());
  std::string big;
  while (big.size() < (size_t{10} << 20)) absl::StrAppend(&big, big.size());
  const auto peak = [] {
    return std::stoll(StatusOf(daemon().pid())["VmRSS"]);
  };
  const int64_t before = peak();
  std::string back;
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(files.Write("big", big), IsOk());
    ASSERT_THAT(files.Read("big", &back), IsOk());
    ASSERT_TRUE(back == big);
  }
  // A slow client: the daemon reads no more than it can send.
  grpc::ClientContext context;
  v1::ReadFileRequest request;
  request.set_session_id(session.id());
  request.set_path("big");
  auto reader = client().files().ReadFile(&context, request);
  v1::ReadFileResponse part;
  ASSERT_TRUE(reader->Read(&part));
  EXPECT_EQ(part.info().size(), big.size());
  context.TryCancel();
  EXPECT_THAT(reader->Finish(), StatusIs(StatusCode::CANCELLED));
  constexpr int64_t kMaxGrownKib = 40 << 10;
  EXPECT_LT(peak() - before, kMaxGrownKib);
}

TEST_F(SessionFiles, BatchesTellEachFilesError) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  v1::UploadFilesRequest upload;
  upload.set_session_id(session.id());
  for (const char* path :
       {"a.txt", "new/dir/b.txt", "/usr/no", "", "a.txt/c"}) {
    v1::FileUpload& file = *upload.add_files();
    file.set_path(path);
    file.set_content(absl::StrCat("content of ", path));
  }
  v1::UploadFilesResponse uploaded;
  ASSERT_THAT(files.Call(&Stub::UploadFiles, upload, &uploaded), IsOk());
  std::vector<v1::FileErrorCode> errors;
  for (const auto& file : uploaded.files()) errors.push_back(file.error());
  EXPECT_THAT(errors, ElementsAre(v1::FILE_ERROR_CODE_UNSPECIFIED,
                                  v1::FILE_ERROR_CODE_UNSPECIFIED,
                                  v1::FILE_ERROR_CODE_PERMISSION_DENIED,
                                  v1::FILE_ERROR_CODE_INVALID_PATH,
                                  v1::FILE_ERROR_CODE_NOT_DIRECTORY));
  EXPECT_THAT(uploaded.files(2).message(), HasSubstr("/usr/no"));
  v1::DownloadFilesRequest download;
  download.set_session_id(session.id());
  for (const char* path : {"new/dir/b.txt", "none", "new", "/etc/shadow"}) {
    download.add_paths(path);
  }
  v1::DownloadFilesResponse down;
  ASSERT_THAT(files.Call(&Stub::DownloadFiles, download, &down), IsOk());
  ASSERT_EQ(down.files_size(), 4);
  EXPECT_EQ(down.files(0).content(), "content of new/dir/b.txt");
  EXPECT_EQ(down.files(1).error(), v1::FILE_ERROR_CODE_FILE_NOT_FOUND);
  EXPECT_EQ(down.files(2).error(), v1::FILE_ERROR_CODE_IS_DIRECTORY);
  EXPECT_NE(down.files(3).error(), v1::FILE_ERROR_CODE_UNSPECIFIED);
  EXPECT_THAT(down.files(3).content(), IsEmpty());
}

TEST_F(SessionFiles, FilesAreListedMovedAndRemoved) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_THAT(files.Write(absl::StrCat("dir/", name), name), IsOk());
  }
  v1::ListDirectoryRequest list;
  list.set_path("dir");
  list.set_page_size(2);
  v1::ListDirectoryResponse page;
  ASSERT_THAT(files.Named(&Stub::ListDirectory, list, &page), IsOk());
  EXPECT_THAT(PathsOf(page.entries()), ElementsAre("a", "b"));
  list.set_page_token(page.next_page_token());
  ASSERT_THAT(files.Named(&Stub::ListDirectory, list, &page), IsOk());
  EXPECT_THAT(PathsOf(page.entries()), ElementsAre("c"));
  EXPECT_THAT(page.next_page_token(), IsEmpty());

  v1::MoveFileRequest move;
  move.set_source("dir/a");
  move.set_destination("dir/b");
  v1::MoveFileResponse moved;
  const grpc::Status taken = files.Named(&Stub::MoveFile, move, &moved);
  EXPECT_EQ(ReasonOf(taken), "FILE_EXISTS");
  move.set_overwrite(true);
  ASSERT_THAT(files.Named(&Stub::MoveFile, move, &moved), IsOk());
  std::string content;
  ASSERT_THAT(files.Read("dir/b", &content), IsOk());
  EXPECT_EQ(content, "a");

  v1::MakeDirectoryRequest make;
  make.set_path("x/y");
  v1::MakeDirectoryResponse made;
  EXPECT_EQ(ReasonOf(files.Named(&Stub::MakeDirectory, make, &made)),
            "FILE_NOT_FOUND");
  make.set_make_parents(true);
  ASSERT_THAT(files.Named(&Stub::MakeDirectory, make, &made), IsOk());
  v1::StatFileRequest stat;
  stat.set_path("/workspace/x/y");
  v1::StatFileResponse facts;
  ASSERT_THAT(files.Named(&Stub::StatFile, stat, &facts), IsOk());
  EXPECT_EQ(facts.info().type(), v1::FILE_TYPE_DIRECTORY);
  EXPECT_EQ(facts.info().mode(), 0755u);

  v1::RemoveFileRequest remove;
  remove.set_path("dir");
  v1::RemoveFileResponse removed;
  const grpc::Status full = files.Named(&Stub::RemoveFile, remove, &removed);
  EXPECT_THAT(full, StatusIs(StatusCode::FAILED_PRECONDITION));
  remove.set_recursive(true);
  ASSERT_THAT(files.Named(&Stub::RemoveFile, remove, &removed), IsOk());
  EXPECT_EQ(removed.removed(), 3u);
  EXPECT_EQ(ReasonOf(files.Read("dir/b", &content)), "FILE_NOT_FOUND");
}

TEST_F(SessionFiles, FilesAreFoundSearchedAndEdited) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("src/a.py", "import os\nx = 1\n"), IsOk());
  ASSERT_THAT(files.Write("src/deep/b.py", "y = 2\nx = 3\n"), IsOk());
  ASSERT_THAT(files.Write("notes.txt", "x = 4\n"), IsOk());
  v1::GlobFilesRequest glob;
  glob.set_pattern("*.py");
  v1::GlobFilesResponse found;
  ASSERT_THAT(files.Named(&Stub::GlobFiles, glob, &found), IsOk());
  std::vector<std::string> paths = PathsOf(found.entries());
  std::sort(paths.begin(), paths.end());
  EXPECT_THAT(paths,
              ElementsAre("/workspace/src/a.py", "/workspace/src/deep/b.py"));
  v1::GrepFilesRequest grep;
  grep.set_pattern("^x = [0-9]");
  grep.set_regex(true);
  grep.add_include("*.py");
  v1::GrepFilesResponse lines;
  ASSERT_THAT(files.Named(&Stub::GrepFiles, grep, &lines), IsOk());
  EXPECT_EQ(lines.matches(), 2u);
  for (const v1::GrepLine& line : lines.lines()) {
    EXPECT_EQ(line.line(), 2u);
    EXPECT_EQ(line.column(), 1u);
  }
  grep.set_pattern("(");
  const grpc::Status pattern = files.Named(&Stub::GrepFiles, grep, &lines);
  EXPECT_THAT(pattern, StatusIs(StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(ReasonOf(pattern), "FILE_INVALID_PATTERN");

  v1::EditFileRequest edit;
  edit.set_path("src/a.py");
  edit.set_old_text("x = 1");
  edit.set_new_text("x = 10");
  v1::EditFileResponse edited;
  ASSERT_THAT(files.Named(&Stub::EditFile, edit, &edited), IsOk());
  EXPECT_EQ(edited.replacements(), 1u);
  std::string content;
  ASSERT_THAT(files.Read("src/a.py", &content), IsOk());
  EXPECT_EQ(content, "import os\nx = 10\n");
  edit.set_old_text("none");
  EXPECT_EQ(ReasonOf(files.Named(&Stub::EditFile, edit, &edited)),
            "FILE_NO_MATCH");
  edit.set_old_text("o");
  const grpc::Status many = files.Named(&Stub::EditFile, edit, &edited);
  EXPECT_THAT(many, StatusIs(StatusCode::FAILED_PRECONDITION));
  EXPECT_EQ(ReasonOf(many), "FILE_MULTIPLE");
  EXPECT_THAT(many.error_message(), HasSubstr("2 times"));
}

TEST_F(SessionFiles, WatchTellsWhatChanges) {
  TestSession session(client(), WithoutKernel());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("dir/old", "1"), IsOk());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  v1::WatchFilesRequest request;
  request.set_session_id(session.id());
  request.set_path("dir");
  SetDuration(request.mutable_interval(), absl::Milliseconds(100));
  auto reader = client().files().WatchFiles(&context, request);
  v1::WatchFilesResponse seen;
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_EQ(seen.changes_size(), 0);
  ASSERT_THAT(files.Write("dir/new", "2"), IsOk());
  ASSERT_TRUE(reader->Read(&seen));
  ASSERT_EQ(seen.changes_size(), 1) << seen.ShortDebugString();
  EXPECT_EQ(seen.changes(0).type(), v1::FILE_CHANGE_TYPE_CREATED);
  EXPECT_EQ(seen.changes(0).info().path(), "new");
  // The session's end ends it.
  ASSERT_THAT(session.Delete(), IsOk());
  EXPECT_FALSE(reader->Read(&seen));
  EXPECT_EQ(ReasonOf(reader->Finish()), "SESSION_DELETED");
}

TEST_F(SessionFiles, BadPathsAreRefused) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(
      session.Run("import os\nos.mkfifo('fifo')\nos.mkdir('dir')\n"
                  "os.symlink('loop', 'loop')\nos.symlink('/etc/passwd', 'out')"
                  "\nopen('locked', 'w').close()\nos.chmod('locked', 0)\n"
                  "open('a\\nb', 'w').write('newline')"),
      OutcomeIs(v1::OUTCOME_OK));
  struct Case {
    std::string path;
    StatusCode code;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {"", StatusCode::INVALID_ARGUMENT, "FILE_INVALID_PATH"},
      {std::string("a\0b", 3), StatusCode::INVALID_ARGUMENT,
       "FILE_INVALID_PATH"},
      {std::string(5000, 'a'), StatusCode::INVALID_ARGUMENT,
       "FILE_INVALID_PATH"},
      {std::string(300, 'a'), StatusCode::INVALID_ARGUMENT,
       "FILE_INVALID_PATH"},
      {"loop", StatusCode::INVALID_ARGUMENT, "FILE_INVALID_PATH"},
      {"fifo", StatusCode::FAILED_PRECONDITION, "FILE_NOT_REGULAR"},
      {"/dev/zero", StatusCode::FAILED_PRECONDITION, "FILE_NOT_REGULAR"},
      {"/proc/self/status", StatusCode::FAILED_PRECONDITION,
       "FILE_NOT_REGULAR"},
      {"dir", StatusCode::FAILED_PRECONDITION, "FILE_IS_DIRECTORY"},
      {"locked", StatusCode::PERMISSION_DENIED, "FILE_PERMISSION_DENIED"},
      {"none", StatusCode::NOT_FOUND, "FILE_NOT_FOUND"},
      {"../../../../work", StatusCode::NOT_FOUND, "FILE_NOT_FOUND"}};
  std::string content;
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.path.substr(0, 40));
    const grpc::Status status = files.Read(bad.path, &content);
    EXPECT_THAT(status, StatusIs(bad.code));
    EXPECT_EQ(ReasonOf(status), bad.reason) << status.error_message();
  }
  // What the code itself could read.
  EXPECT_THAT(files.Read("out", &content), IsOk());
  EXPECT_THAT(content, HasSubstr("root:"));
  EXPECT_THAT(files.Read("a\nb", &content), IsOk());
  EXPECT_EQ(content, "newline");
  EXPECT_THAT(files.Write("fifo/x", "1"),
              StatusIs(StatusCode::FAILED_PRECONDITION));
  EXPECT_THAT(files.Write("dir", "1"),
              StatusIs(StatusCode::FAILED_PRECONDITION));
  EXPECT_THAT(files.Write("/usr/x", "1"),
              StatusIs(StatusCode::PERMISSION_DENIED));
  v1::StatFileRequest broken;
  std::string answer;
  broken.set_session_id(session.id());
  const grpc::Status utf8 = client().CallRaw(
      "/sandglass.v1.FileService/StatFile",
      broken.SerializeAsString() + "\x12\x02\xff\xfe", &answer);
  EXPECT_THAT(utf8, StatusIs(StatusCode::INVALID_ARGUMENT));
}

TEST_F(SessionFiles, AFullDiskIsReported) {
  v1::CreateSessionRequest request;
  request.mutable_limits()->set_workspace_bytes(1 << 20);
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  TestFiles files(client(), session.id());
  const grpc::Status full =
      files.Write("big", std::string(size_t{4} << 20, 'x'));
  EXPECT_THAT(full, StatusIs(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(ReasonOf(full), "FILE_NO_SPACE");
  v1::ListDirectoryResponse list;
  ASSERT_THAT(files.List("", &list), IsOk());
  EXPECT_EQ(list.entries_size(), 0) << list.ShortDebugString();
  EXPECT_THAT(files.Write("small", "1"), IsOk());
}

TEST_F(SessionFiles, FilesOfUnknownSessionsAreNotFound) {
  std::string content;
  TestFiles none(client(), "ses-0000000000000000");
  const grpc::Status never = none.Read("a", &content);
  EXPECT_THAT(never, StatusIs(StatusCode::NOT_FOUND));
  EXPECT_EQ(ReasonOf(never), "SESSION_NOT_FOUND");
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a", "1"), IsOk());
  ASSERT_THAT(session.Delete(), IsOk());
  EXPECT_EQ(ReasonOf(files.Read("a", &content)), "SESSION_DELETED");
  EXPECT_EQ(ReasonOf(files.Write("a", "1")), "SESSION_DELETED");
}

TEST_F(SessionFiles, FileCallsGoOnWhileTheKernelIsBusyAndWakeAPausedSession) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a", "1"), IsOk());
  std::thread waiting([&] {
    EXPECT_THAT(session.Run("import os, time\n"
                            "while not os.path.exists('go'): time.sleep(.01)"),
                OutcomeIs(v1::OUTCOME_OK));
  });
  std::string content;
  EXPECT_THAT(files.Read("a", &content), IsOk());
  EXPECT_THAT(files.Write("go", ""), IsOk());
  waiting.join();

  v1::PauseSessionRequest pause;
  pause.set_session_id(session.id());
  v1::PauseSessionResponse paused;
  ASSERT_THAT(CallSessions(client(), &v1::SessionService::Stub::PauseSession,
                           pause, &paused),
              IsOk());
  EXPECT_THAT(files.Read("a", &content), IsOk());
  v1::Session now;
  ASSERT_THAT(session.Get(&now), IsOk());
  EXPECT_EQ(now.state(), v1::SESSION_STATE_ACTIVE);
}

TEST_F(SessionFiles, ACallThatGoesOnKeepsTheSession) {
  v1::CreateSessionRequest request;
  request.mutable_idle_timeout()->set_seconds(1);
  TestSession session(client(), request);
  grpc::ClientContext context;
  v1::WriteFileResponse response;
  auto writer = client().files().WriteFile(&context, &response);
  v1::WriteFileRequest part;
  part.mutable_start()->set_session_id(session.id());
  part.mutable_start()->set_path("slow");
  ASSERT_TRUE(writer->Write(part));
  absl::SleepFor(absl::Milliseconds(1500));  // longer than it may idle
  part.set_data("1");
  part.set_finish(true);
  EXPECT_TRUE(writer->Write(part));
  EXPECT_THAT(writer->Finish(), IsOk());
}

// Its processes may kill and stop each other, and so the one that does the
// work for these calls, which comes again.
TEST_F(SessionFiles, AKilledFileAgentIsReplaced) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("a", "1"), IsOk());
  // It can't be seen, but guessed. The default kernel may signal nobody but
  // what it starts.
  const std::string others =
      "import os, signal\n"
      "hit = 0\n"
      "for pid in range(2, 300):\n"
      "  if pid == os.getpid(): continue\n"
      "  try: os.kill(pid, signal.SIG)\n"
      "  except OSError: continue\n"
      "  hit += 1\n"
      "print(hit > 0)";
  for (const char* signal : {"SIGKILL", "SIGSTOP"}) {
    SCOPED_TRACE(signal);
    const RunResult result = session.Run(
        absl::StrReplaceAll(others, {{"SIG)", absl::StrCat(signal, ")")}}),
        "other");
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "True\n");
    std::string content;
    grpc::Status status = files.Read("a", &content);
    // One that is stopped is given up when it doesn't answer in time; one that
    // is still dying may be asked a last time.
    if (absl::string_view(signal) == "SIGSTOP") {
      EXPECT_THAT(status, StatusIs(StatusCode::DEADLINE_EXCEEDED));
      status = files.Read("a", &content);
    } else if (!status.ok()) {
      EXPECT_EQ(ReasonOf(status), "FILE_AGENT_GONE");
      status = files.Read("a", &content);
    }
    EXPECT_THAT(status, IsOk());
    EXPECT_EQ(content, "1");
  }
}

}  // namespace
}  // namespace sandglass::testing
