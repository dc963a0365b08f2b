// Sessions whose code, callers and files do what they should not.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

using client::RunProcess;
using client::SubprocessOptions;
using client::SubprocessResult;

namespace fs = std::filesystem;
using grpc::StatusCode;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Stub = v1::FileService::Stub;

std::string ReasonOf(const grpc::Status& status) {
  return DetailsOf(status).reason;
}

class SessionFaults : public DaemonTest {};

TEST_F(SessionFaults, FilesMayChangeAndVanishWhileTheyAreRead) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(session.Run("open('f', 'w').write('x' * 3_000_000)"),
              OutcomeIs(v1::OUTCOME_OK));
  RunResult ran;
  std::thread code([&] {
    ran = session.Run(R"(
import os, time
end = time.time() + 5
while time.time() < end and not os.path.exists('stop'):
    with open('f', 'a') as f:
        f.write('y' * 1_000_000)
    os.truncate('f', 10)
    with open('g', 'w') as g:
        g.write('z' * 2_000_000)
    os.rename('g', 'f')
    os.unlink('f')
    with open('f', 'w') as f:
        f.write('x' * 3_000_000)
)");
  });
  int whole = 0;
  for (int i = 0; i < 100; ++i) {
    std::string content;
    const grpc::Status status = files.Read("f", &content);
    whole += status.ok() ? 1 : 0;
    if (!status.ok()) {
      EXPECT_THAT(ReasonOf(status),
                  AnyOf("FILE_NOT_FOUND", "FILE_BUSY_CHANGED"))
          << status.error_message();
    }
  }
  EXPECT_THAT(files.Write("stop", ""), IsOk());
  code.join();
  EXPECT_THAT(ran, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_GT(whole, 0);
}

TEST_F(SessionFaults, ALinkThatIsPlantedBetweenTwoCallsLeadsNowhere) {
  TestSession session(client());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("d/f", "mine"), IsOk());
  ASSERT_THAT(session.Run("import os\nos.rename('d', 'old')\n"
                          "os.symlink('/usr', 'd')"),
              OutcomeIs(v1::OUTCOME_OK));
  // It is followed as the code itself would follow it: to the jail's own
  // read-only tree.
  EXPECT_EQ(ReasonOf(files.Write("d/f", "theirs")), "FILE_PERMISSION_DENIED");
  EXPECT_FALSE(fs::exists("/usr/f"));
  v1::RemoveFileRequest remove;
  v1::RemoveFileResponse removed;
  remove.set_path("d/bin");
  EXPECT_EQ(ReasonOf(files.Named(&Stub::RemoveFile, remove, &removed)),
            "FILE_PERMISSION_DENIED");
  EXPECT_TRUE(fs::exists("/usr/bin"));
  // The link goes, and not what it leads to.
  remove.set_path("d");
  EXPECT_THAT(files.Named(&Stub::RemoveFile, remove, &removed), IsOk());
  std::string content;
  EXPECT_THAT(files.Read("old/f", &content), IsOk());
  EXPECT_EQ(content, "mine");
  EXPECT_EQ(ReasonOf(files.Read("d/f", &content)), "FILE_NOT_FOUND");
}

TEST_F(SessionFaults, BadArgumentsOfFileCallsNameTheirField) {
  TestSession session(client(), {});
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("f", "text"), IsOk());
  const auto refused = [](const grpc::Status& status, const std::string& what) {
    EXPECT_THAT(status, StatusIs(StatusCode::INVALID_ARGUMENT)) << what;
    EXPECT_THAT(status.error_message(), Not(::testing::IsEmpty()));
  };
  v1::ListDirectoryRequest list;
  v1::ListDirectoryResponse listed;
  list.set_page_size(-1);
  refused(files.Named(&Stub::ListDirectory, list, &listed), "page_size");
  v1::GlobFilesRequest glob;
  v1::GlobFilesResponse globbed;
  for (const std::string& pattern : {std::string(), std::string(9000, '*')}) {
    glob.set_pattern(pattern);
    refused(files.Named(&Stub::GlobFiles, glob, &globbed), "glob");
  }
  v1::GrepFilesRequest grep;
  v1::GrepFilesResponse grepped;
  grep.set_pattern("(");
  grep.set_regex(true);
  refused(files.Named(&Stub::GrepFiles, grep, &grepped), "regex");
  v1::EditFileRequest edit;
  v1::EditFileResponse edited;
  edit.set_path("f");
  refused(files.Named(&Stub::EditFile, edit, &edited), "old_text");
  // A beginning behind the end reads nothing.
  std::string content = "old";
  EXPECT_THAT(files.Read("f", &content, uint64_t{1} << 60), IsOk());
  EXPECT_EQ(content, "");
  v1::FileWriteStart start;
  start.set_session_id(session.id());
  start.set_path("g");
  start.set_mode(0107777);
  refused(files.WriteAs(start, {"x"}, nullptr), "mode");
  EXPECT_EQ(ReasonOf(files.Read("g", &content)), "FILE_NOT_FOUND");
}

// The command line client as another user of the machine.
class OtherUser {
 public:
  explicit OtherUser(const Daemon& daemon) : address_(daemon.address()) {
    // Root's tests may be in a place that nobody else can enter.
    fs::copy_file(SANDGLASS_BINARY, Binary());
    EXPECT_EQ(chmod(directory_.path().c_str(), 0755), 0);
    EXPECT_EQ(chmod(daemon.directory().c_str(), 0755), 0);
    EXPECT_EQ(chmod(daemon.socket_path().c_str(), 0666), 0);
  }

  SubprocessResult Run(const std::vector<std::string>& args) const {
    SubprocessOptions options;
    options.program = "/usr/bin/setpriv";
    options.args = {"--reuid=65534", "--regid=65534", "--clear-groups",
                    Binary(),        "--address",     address_};
    options.args.insert(options.args.end(), args.begin(), args.end());
    return RunProcess(options);
  }

 private:
  std::string Binary() const { return directory_.Path("sandglass"); }

  const TempDir directory_;
  const std::string address_;
};

class SessionCallers : public OwnDaemonTest {};

TEST_F(SessionCallers, NobodyHasAnothersSession) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  TestSession session(client());
  // No part of an id, which is hexadecimal.
  ASSERT_THAT(session.Run("secret = 'Rosebud'"), OutcomeIs(v1::OUTCOME_OK));
  const OtherUser other(daemon());
  const SubprocessResult own = other.Run({"session", "create", "python"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  const SubprocessResult listed = other.Run({"session", "list"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, Not(HasSubstr(session.id())));
  EXPECT_THAT(listed.out, HasSubstr("uid:65534"));
  const std::vector<std::vector<std::string>> attempts = {
      {"session", "info", session.id()},
      {"session", "run", session.id(), "-c", "secret"},
      {"session", "interrupt", session.id()},
      {"session", "restart", session.id()},
      {"session", "pause", session.id()},
      {"session", "resume", session.id()},
      {"session", "update", session.id(), "--label", "a=b"},
      {"session", "rm", session.id()}};
  for (const auto& attempt : attempts) {
    SCOPED_TRACE(attempt[1]);
    const SubprocessResult result = other.Run(attempt);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("there is no session"));
    EXPECT_THAT(absl::StrCat(result.out, result.err),
                Not(HasSubstr("Rosebud")));
  }
  EXPECT_EQ(ValueOf(session.Run("secret").response), "'Rosebud'");
  // Root may use theirs, and sees that it is theirs.
  const std::string id = own.out.substr(0, own.out.find('\n'));
  v1::GetSessionRequest get;
  get.set_session_id(id);
  v1::GetSessionResponse got;
  EXPECT_THAT(
      CallSessions(client(), &v1::SessionService::Stub::GetSession, get, &got),
      IsOk());
  EXPECT_EQ(got.session().caller(), "uid:65534");
  EXPECT_EQ(other.Run({"session", "rm", id}).exit_code, 0);
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

// Under a profile with as much room as the test wants.
class SessionDisk : public OwnDaemonTest {};

TEST_F(SessionDisk, AGibibyteGoesThroughFixedMemory) {
  const TempDir directory;
  const std::string policy = directory.Path("policy");
  fs::copy(absl::StrCat(SANDGLASS_SOURCE_DIR, "/policy/data"), policy,
           fs::copy_options::recursive);
  std::ofstream(policy + "/profiles/huge.json")
      << R"({"description": "Much room", "limits": {"memory_bytes": "3GiB",
             "workspace_bytes": "1100MiB", "file_size_bytes": "1100MiB"}})";
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"admission": {"memory_budget": "4GiB"}})",
                   .extra_arguments = {"--policy-dir", policy}}));
  v1::CreateSessionRequest request;
  request.set_profile("huge");
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  TestFiles files(client(), session.id());
  ASSERT_THAT(files.Write("small", "x"), IsOk());
  const auto resident = [&] {
    return std::stoll(StatusOf(daemon().pid())["VmHWM"]);
  };
  const int64_t before = resident();

  constexpr size_t kPiece = size_t{1} << 20;
  constexpr size_t kPieces = 1024;
  grpc::ClientContext writing;
  v1::WriteFileResponse written;
  const auto writer = client().files().WriteFile(&writing, &written);
  v1::WriteFileRequest part;
  part.mutable_start()->set_session_id(session.id());
  part.mutable_start()->set_path("big");
  ASSERT_TRUE(writer->Write(part));
  for (size_t i = 0; i < kPieces; ++i) {
    part.set_data(std::string(kPiece, static_cast<char>('a' + i % 26)));
    part.set_finish(i + 1 == kPieces);
    ASSERT_TRUE(writer->Write(part)) << i;
  }
  writer->WritesDone();
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_EQ(written.info().size(), kPiece * kPieces);

  grpc::ClientContext reading;
  v1::ReadFileRequest read;
  read.set_session_id(session.id());
  read.set_path("big");
  const auto reader = client().files().ReadFile(&reading, read);
  v1::ReadFileResponse piece;
  size_t place = 0;
  bool same = true;
  while (reader->Read(&piece)) {
    for (const char c : piece.data()) {
      same = same && c == static_cast<char>('a' + place++ / kPiece % 26);
    }
  }
  ASSERT_THAT(reader->Finish(), IsOk());
  EXPECT_EQ(place, kPiece * kPieces);
  EXPECT_TRUE(same);
  constexpr int64_t kMaxGrownKib = 64 << 10;
  EXPECT_LT(resident() - before, kMaxGrownKib);

  // What is over the profile's room is refused, and the file before stays.
  EXPECT_EQ(ReasonOf(files.Write("more", std::string(size_t{80} << 20, 'x'))),
            "FILE_NO_SPACE");
  EXPECT_THAT(session.Delete(), IsOk());
  session.Forget();
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
