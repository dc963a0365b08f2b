#include "tests/security/hostile/hostile_fixture.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/calls/warm.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// tests/payloads/hostile/arguments.h
constexpr int kWentThrough = 100;

// Most that are under way at once: more than the processors, fewer than jails.
constexpr int kInFlight = 4;
constexpr absl::Duration kPatience = absl::Seconds(60);

const std::string& PayloadBinary() {
  static const std::string binary = ReadFile(HOSTILE_PATH);
  return binary;
}

// Becomes the payload, or starts it where the language can't.
v1::RunCodeRequest Starter(Way way) {
  switch (way) {
    case Way::kExec:
      return Bash("exec ./hostile \"$@\"");
    case Way::kPython:
      return Python("import os, sys\nos.execv('./hostile', sys.argv)");
    case Way::kRuby:
      return Program("ruby", "exec('./hostile', *ARGV)");
    case Way::kNode:
      return Program(
          "javascript",
          "const {status} = require('child_process').spawnSync('./hostile',\n"
          "    process.argv.slice(2), {stdio: 'inherit'});\n"
          "process.exitCode = status ?? 1;");
  }
  return {};
}

bool BeganAs(Way way, const RunResult& result) {
  switch (way) {
    case Way::kExec:
      return true;
    case Way::kPython:
    case Way::kRuby:
      return HadRunner(result);
    case Way::kNode:
      return KindOf(result) == kNode;
  }
  return false;
}

}  // namespace

std::string NameOf(Way way) {
  switch (way) {
    case Way::kExec:
      return "exec";
    case Way::kPython:
      return "python";
    case Way::kRuby:
      return "ruby";
    case Way::kNode:
      return "node";
  }
  return "";
}

Attempt operator+(Attempt first, const Attempt& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::unique_ptr<HostWatch> HostileTest::host_;
std::unique_ptr<Neighbour> HostileTest::neighbour_;
size_t HostileTest::attempts_ = 0;

void HostileTest::SetUpTestSuite() {
  host_ = std::make_unique<HostWatch>();
  StartSuite({});
}

void HostileTest::TearDownTestSuite() {
  DaemonTest::TearDownTestSuite();
  host_.reset();
  if (attempts_ > 0) std::cout << attempts_ << " attempts so far\n";
}

void HostileTest::SetUp() {
  DaemonTest::SetUp();
  if (!HasFatalFailure()) neighbour_ = std::make_unique<Neighbour>(client());
}

void HostileTest::TearDown() {
  if (neighbour_ != nullptr) ExpectNobodyHarmed("this test");
  neighbour_.reset();
  DaemonTest::TearDown();
}

v1::RunCodeRequest HostileTest::Payload(Way way, const Attempt& attempt) {
  v1::RunCodeRequest request = Starter(way);
  v1::InputFile* payload = request.add_files();
  payload->set_path("hostile");
  payload->set_content(PayloadBinary());
  payload->set_executable(true);
  for (const std::string& word : attempt) request.add_args(word);
  return request;
}

RunResult HostileTest::RunIn(Way way, const Attempt& attempt,
                             const std::string& list) {
  v1::RunCodeRequest request = Payload(way, attempt);
  if (!list.empty()) {
    v1::InputFile* file = request.add_files();
    file->set_path("list");
    file->set_content(list);
  }
  RunResult result;
  EXPECT_TRUE(WaitUntil(
      [&] {
        result = Run(request);
        return !result.status.ok() || BeganAs(way, result);
      },
      kPatience))
      << "no run began in this way: " << Describe(result);
  return result;
}

int HostileTest::Refused(int error) { return kWentThrough + error; }

void HostileTest::RunCases(Way way, const std::vector<Case>& cases,
                           const Attempt& options) {
  attempts_ += cases.size();
  if (way == Way::kExec && !OnlyAPart()) {
    RunEach(cases, options);
  } else {
    RunInOne(way, cases, options);
  }
  ExpectNobodyHarmed(absl::StrCat("attempts in ", NameOf(way)));
}

void HostileTest::RunEach(const std::vector<Case>& cases,
                          const Attempt& options) {
  std::vector<v1::RunCodeRequest> requests;
  requests.reserve(cases.size());
  for (const Case& each : cases) {
    requests.push_back(Payload(Way::kExec, options + each.attempt));
  }
  const std::vector<RunResult> results = client().RunAll(requests, kInFlight);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = absl::StrJoin(options + cases[i].attempt, " ");
    const v1::RunCodeResponse& response = results[i].response;
    EXPECT_THAT(results[i], OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << name;
    if (response.exit_code() == cases[i].exit_code ||
        (cases[i].or_exit_code != 0 &&
         response.exit_code() == cases[i].or_exit_code)) {
      continue;
    }
    ADD_FAILURE() << name << " ended with " << response.exit_code()
                  << " and not " << cases[i].exit_code << ": "
                  << response.stderr().data();
    ExpectNobodyHarmed(name);
  }
}

void HostileTest::RunInOne(Way way, const std::vector<Case>& cases,
                           const Attempt& options) {
  std::string list;
  for (const Case& each : cases) {
    absl::StrAppend(&list, each.exit_code);
    if (each.or_exit_code != 0) absl::StrAppend(&list, "/", each.or_exit_code);
    absl::StrAppend(&list, "\t", absl::StrJoin(each.attempt, "\t"), "\n");
  }
  const RunResult result = RunIn(way, options + Attempt{"all", "list"}, list);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), kWentThrough)
      << "in " << NameOf(way) << ": " << result.response.stderr().data();
}

void HostileTest::ExpectNobodyHarmed(const std::string& by) {
  for (const std::string& change : host_->Changes()) {
    ADD_FAILURE() << by << ": on the host " << change;
  }
  const std::string wrong = neighbour_->Ask();
  EXPECT_EQ(wrong, "") << by;
}

}  // namespace sandglass::testing
