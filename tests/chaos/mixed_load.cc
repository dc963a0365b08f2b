#include "tests/chaos/mixed_load.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// No sooner does a client try again whose call failed.
constexpr absl::Duration kAfterFailure = absl::Milliseconds(50);
constexpr size_t kUploadBytes = 200 << 10;
constexpr size_t kMaxWrong = 20;
// So long the last look at a diary may fail, once all else works.
constexpr absl::Duration kLastLook = absl::Seconds(15);

struct Hello {
  const char* language;
  const char* code;  // prints "$0" with the number in its place
};

constexpr Hello kHellos[] = {
    {"python", "print('hello', $)"},
    {"bash", "echo hello $"},
    {"javascript", "console.log('hello', $)"},
    {"ruby", "puts \"hello #{$}\""},
    {"perl", "print \"hello $\\n\""},
    {"python", "import json\nprint('hello', json.dumps($))"},
};

constexpr Hello kCompiled[] = {
    {"cpp",
     "#include <cstdio>\nint main() { std::printf(\"hello %d\\n\", $); }"},
    {"java",
     "class Main { public static void main(String[] a) { "
     "System.out.println(\"hello \" + $); } }"},
    {"go",
     "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\", $) }"},
};

v1::RunCodeRequest RequestOf(const Hello& hello, int number) {
  std::string code = hello.code;
  code.replace(code.find('$'), 1, absl::StrCat(number));
  return Program(hello.language, code);
}

std::string Answer(int number) { return absl::StrCat("hello ", number, "\n"); }

}  // namespace

void Ledger::Acknowledged(const std::string& event, const std::string& id) {
  absl::MutexLock lock(&mutex_);
  acknowledged_[event].insert(id);
}

void Ledger::Failed(const std::string& call, const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  codes_.insert(status.error_code());
  ++failures_[absl::StrCat(call, ": ", Describe(status))];
}

void Ledger::Ended(v1::Outcome outcome, const std::string& what) {
  absl::MutexLock lock(&mutex_);
  ended_[outcome] = what;
}

void Ledger::Wrong(const std::string& what) {
  absl::MutexLock lock(&mutex_);
  if (wrong_.size() < kMaxWrong) wrong_.push_back(what);
}

void Ledger::Done(const std::string& call) {
  absl::MutexLock lock(&mutex_);
  ++done_[call];
}

std::map<std::string, std::set<std::string>> Ledger::acknowledged() const {
  absl::MutexLock lock(&mutex_);
  return acknowledged_;
}

std::map<std::string, int> Ledger::failures() const {
  absl::MutexLock lock(&mutex_);
  return failures_;
}

std::set<grpc::StatusCode> Ledger::codes() const {
  absl::MutexLock lock(&mutex_);
  return codes_;
}

std::map<v1::Outcome, std::string> Ledger::ended() const {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

std::vector<std::string> Ledger::wrong() const {
  absl::MutexLock lock(&mutex_);
  return wrong_;
}

int Ledger::done() const {
  absl::MutexLock lock(&mutex_);
  int all = 0;
  for (const auto& [call, count] : done_) all += count;
  return all;
}

MixedLoad::MixedLoad(std::string address, Ledger& ledger)
    : address_(std::move(address)), ledger_(ledger) {
  for (const Turn turn :
       {&MixedLoad::Run, &MixedLoad::Run, &MixedLoad::Compile,
        &MixedLoad::Stream, &MixedLoad::Cancel, &MixedLoad::Upload,
        &MixedLoad::Session, &MixedLoad::Session}) {
    threads_.emplace_back([this, turn] { Loop(turn); });
  }
  threads_.emplace_back([this] { KeepDiary(); });
}

MixedLoad::~MixedLoad() { Stop(); }

void MixedLoad::RunEach(Client& client, Ledger& ledger) {
  std::vector<Hello> all(std::begin(kHellos), std::end(kHellos));
  all.insert(all.end(), std::begin(kCompiled), std::end(kCompiled));
  for (const Hello& hello : all) {
    const RunResult result = client.Run(RequestOf(hello, 1));
    if (!result.status.ok()) {
      ledger.Failed(hello.language, result.status);
    } else if (result.response.stdout().data() != Answer(1)) {
      ledger.Wrong(absl::StrCat(hello.language, ": ", Describe(result)));
    }
  }
}

void MixedLoad::Stop() {
  if (!stop_.HasBeenNotified()) stop_.Notify();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void MixedLoad::Loop(Turn turn) {
  Client client(address_);
  for (int i = 0; !stop_.HasBeenNotified(); ++i) {
    failed_ = false;
    (this->*turn)(client, i);
    if (failed_) stop_.WaitForNotificationWithTimeout(kAfterFailure);
  }
}

bool MixedLoad::Note(const std::string& call, const grpc::Status& status) {
  if (status.ok()) {
    ledger_.Done(call);
    return true;
  }
  ledger_.Failed(call, status);
  failed_ = true;
  return false;
}

bool MixedLoad::IsEnd(const std::string& call, v1::Outcome outcome,
                      v1::Outcome wanted, const std::string& described) {
  if (outcome == wanted) return true;
  ledger_.Ended(outcome, absl::StrCat(call, ": ", described));
  return false;
}

bool MixedLoad::Expect(const std::string& call, const RunResult& result,
                       const std::string& output) {
  if (!Note(call, result.status)) return false;
  ledger_.Acknowledged("run", result.response.run_id());
  if (!IsEnd(call, result.response.outcome(), v1::OUTCOME_OK,
             Describe(result))) {
    return false;
  }
  if (result.response.stdout().data() == output) return true;
  const std::string what =
      absl::StrCat(call, ": ", Describe(result), " instead of ", output);
  // What was refused something may go on without, and says so in its output: a
  // JVM does without one of its threads. The evidence must say it, too.
  if (result.response.evidence().limits_touched().empty()) {
    ledger_.Wrong(what);
  } else {
    ledger_.Ended(v1::OUTCOME_OK, what);
  }
  return false;
}

void MixedLoad::Run(Client& client, int turn) {
  const Hello& hello = kHellos[static_cast<size_t>(turn) % std::size(kHellos)];
  Expect(absl::StrCat("run of ", hello.language),
         client.Run(RequestOf(hello, turn)), Answer(turn));
}

void MixedLoad::Compile(Client& client, int turn) {
  const Hello& hello =
      kCompiled[static_cast<size_t>(turn) % std::size(kCompiled)];
  // From the cache every second time.
  const int number = turn / 6 * 6;
  Expect(absl::StrCat("run of ", hello.language),
         client.Run(RequestOf(hello, number)), Answer(number));
}

void MixedLoad::Stream(Client& client, int turn) {
  StreamCall call(client.stub(),
                  Bash(absl::StrCat("for i in 1 2 3; do echo part $i; sleep "
                                    "0.02; done; echo hello ",
                                    turn)));
  const grpc::Status status = call.Finish();
  if (!Note("stream", status)) return;
  if (!call.result()) return ledger_.Wrong("stream: ended without a result");
  ledger_.Acknowledged("run", call.result()->run_id());
  if (IsEnd("stream", call.result()->outcome(), v1::OUTCOME_OK,
            Describe(*call.result())) &&
      call.output() != absl::StrCat("part 1\npart 2\npart 3\n", Answer(turn))) {
    ledger_.Wrong(absl::StrCat("stream: ", call.output()));
  }
}

void MixedLoad::Cancel(Client& client, int turn) {
  StreamCall call(client.stub(), Bash("echo ready; sleep 40"));
  if (!call.ReadUntil("ready")) {
    Note("stream to cancel", call.Finish());
    return;
  }
  if (turn % 2 == 0) {
    call.Cancel();
    call.Finish();
    return ledger_.Done("stream given up");
  }
  v1::CancelRunResponse response;
  const grpc::Status cancelled = client.CancelRun(call.run_id(), &response);
  if (!Note("cancel", cancelled)) call.Cancel();
  const grpc::Status status = call.Finish();
  if (!cancelled.ok() || !Note("cancelled run", status)) return;
  if (!call.result()) return ledger_.Wrong("cancelled: ended without a result");
  ledger_.Acknowledged("run", call.result()->run_id());
  IsEnd("cancelled run", call.result()->outcome(), v1::OUTCOME_CANCELLED,
        Describe(*call.result()));
}

void MixedLoad::Upload(Client& client, int turn) {
  v1::RunCodeRequest request =
      Bash(absl::StrCat("wc -c < large; echo hello ", turn));
  v1::InputFile* file = request.add_files();
  file->set_path("large");
  file->set_content(std::string(kUploadBytes, 'x'));
  Expect("run with a file", client.Run(request),
         absl::StrCat(kUploadBytes, "\n", Answer(turn)));
}

void MixedLoad::CommandIn(const std::string& session, int turn) {
  // The service has no stub among a client's.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::ExecService::NewStub(grpc::CreateCustomChannel(
      address_, grpc::InsecureChannelCredentials(), arguments));
  const ExecResult result = Execute(
      *stub, Command(session, absl::StrCat("cat f; echo hello ", turn)));
  if (!Note("command", result.status)) return;
  if (!result.started || !result.end) {
    return ledger_.Wrong("command: ended without an end");
  }
  ledger_.Acknowledged("exec", result.exec_id());
  if (IsEnd("command", result.outcome(), v1::OUTCOME_OK, result.err()) &&
      result.out() != absl::StrCat("text\n", Answer(turn))) {
    ledger_.Wrong(absl::StrCat("command: ", result.out(), result.err()));
  }
}

void MixedLoad::Session(Client& client, int turn) {
  v1::CreateSessionRequest request = PythonSession();
  if (turn % 3 == 2) request.set_language("bash");
  TestSession session(client, request);
  if (!Note("session", session.status())) return;
  ledger_.Acknowledged("session_created", session.id());
  const std::string first = turn % 3 == 2 ? "x=" : "x = ";
  const std::string second =
      turn % 3 == 2 ? "echo hello $x" : "print('hello', x)";
  if (Expect("cell", session.Run(absl::StrCat(first, turn)), "") &&
      Expect("cell", session.Run(second), Answer(turn))) {
    TestFiles files(client, session.id());
    std::string content;
    if (Note("write a file", files.Write("f", "text\n")) &&
        Note("read a file", files.Read("f", &content))) {
      if (content != "text\n") ledger_.Wrong("file: has " + content);
      CommandIn(session.id(), turn);
    }
  }
  const grpc::Status deleted = session.Delete();
  session.Forget();
  // Its end may be missing from an audit log that couldn't be written.
  Note("delete a session", deleted);
}

bool MixedLoad::NoteDurable(const std::string& call,
                            const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    ledger_.Wrong(absl::StrCat(call, ": ", Describe(status)));
  }
  return Note(call, status);
}

std::string MixedLoad::OpenDiary(Client& client) {
  v1::CreateSessionRequest request;
  request.set_language("bash");
  request.set_profile("durable");
  v1::CreateSessionResponse response;
  if (Note("durable session",
           CallSessions(client, &v1::SessionService::Stub::CreateSession,
                        request, &response))) {
    ledger_.Acknowledged("session_created", response.session().session_id());
  }
  return response.session().session_id();
}

void MixedLoad::WritePage(Client& client, const std::string& session,
                          Diary& diary, int number) {
  diary.TriedPage(number);
  const std::string text = absl::StrCat(number, "\n");
  if (NoteDurable("write a page",
                  TestFiles(client, session).Write("page", text))) {
    diary.SavedPage(number);
  }
}

bool MixedLoad::ReadDiary(Client& client, const std::string& session,
                          Diary& diary, const std::string& program) {
  v1::RunCodeRequest request;
  request.set_session_id(session);
  request.set_code(program);
  const RunResult result = client.Run(request);
  if (!NoteDurable("durable run", result.status)) return false;
  ledger_.Acknowledged("run", result.response.run_id());
  if (!IsEnd("durable run", result.response.outcome(), v1::OUTCOME_OK,
             Describe(result))) {
    return false;
  }
  const bool saved = result.response.session().files_not_saved().empty();
  const std::string wrong =
      diary.ReadBack(result.response.stdout().data(), saved);
  if (!wrong.empty()) {
    ledger_.Wrong(absl::StrCat("durable session ", session, ": ", wrong, "; ",
                               Describe(result)));
  }
  return true;
}

void MixedLoad::KeepDiary() {
  Client client(address_);
  Diary diary;
  std::string session;
  for (int i = 0; !stop_.HasBeenNotified(); ++i) {
    failed_ = false;
    if (session.empty()) {
      session = OpenDiary(client);
    } else if (i % 2 == 0) {
      WritePage(client, session, diary, i);
    } else {
      diary.TriedLine(i);
      ReadDiary(client, session, diary, Diary::Append(i));
    }
    if (failed_) stop_.WaitForNotificationWithTimeout(kAfterFailure);
  }
  if (session.empty()) return;
  if (!WaitUntil(
          [&] { return ReadDiary(client, session, diary, Diary::Show()); },
          kLastLook)) {
    ledger_.Wrong(absl::StrCat("durable session ", session,
                               " can't be read; saved were ", diary.Saved()));
  }
  v1::DeleteSessionRequest request;
  request.set_session_id(session);
  v1::DeleteSessionResponse response;
  Note("delete a durable session",
       CallSessions(client, &v1::SessionService::Stub::DeleteSession, request,
                    &response));
}

}  // namespace sandglass::testing
