// Sessions, results, lock files and the layers themselves: all ways to ask for
// libraries, and what operators do with what is installed.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sandglass/v1/layer_service.grpc.pb.h"
#include "tests/e2e/libraries/library_fixture.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/host/host_image.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kAnId[] = "[0-9a-f]+\n";

class LibrariesKept : public LibrariesTest {
 protected:
  static v1::CreateSessionRequest Asking(
      const std::string& language, const std::vector<std::string>& libraries,
      const std::string& profile = "lib") {
    v1::CreateSessionRequest request;
    request.set_language(language);
    request.set_profile(profile);
    for (const std::string& each : libraries) request.add_libraries(each);
    return request;
  }
  client::SubprocessResult Layers(const std::vector<std::string>& arguments) {
    client::SubprocessOptions options = CommandLine("", "", {});
    options.args = {"layers"};
    options.args.insert(options.args.end(), arguments.begin(), arguments.end());
    return client::RunProcess(options);
  }
};

TEST_F(LibrariesKept, AreInAllThatRunsInASession) {
  TestSession session(client(), Asking("python", {"sample==1.0", "part"}));
  ASSERT_THAT(session.status(), IsOk());
  v1::Session described;
  ASSERT_THAT(session.Get(&described), IsOk());
  EXPECT_THAT(described.libraries(), ElementsAre("part", "sample==1.0"));
  EXPECT_EQ(described.layer_id(), "");

  const RunResult first = session.Run("import sample, part\nsample.version");
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(ValueOf(first.response), "'1.0'") << Describe(first.response);
  EXPECT_TRUE(first.response.libraries().installed());
  EXPECT_THAT(first.response.libraries().libraries(),
              ElementsAre("part", "sample==1.0"));
  ASSERT_THAT(session.Get(&described), IsOk());
  EXPECT_EQ(described.layer_id(), first.response.libraries().layer_id());

  // In another kernel, too, and it is told once who waited.
  const RunResult other = session.Run("import part\npart.version", "other");
  EXPECT_EQ(ValueOf(other.response), "'1.0'") << Describe(other.response);
  EXPECT_FALSE(other.response.libraries().installed());
}

TEST_F(LibrariesKept, AreForTheProgramsOfASessionWithoutAKernel) {
  const LibraryLanguage& go = LanguageOf("go");
  TestSession session(client(), Asking("go", go.libraries));
  ASSERT_THAT(session.status(), IsOk());
  for (int run = 0; run < 2; ++run) {
    const RunResult result = session.Run(go.code);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result.response.stdout().data(), "ok\n")
        << Describe(result.response);
  }
}

TEST_F(LibrariesKept, AreNotChosenByTheRunsOfASession) {
  TestSession session(client(), Asking("python", {"part"}));
  v1::RunCodeRequest cell = session.Cell("1");
  cell.add_libraries("helper");
  const RunResult result = Run(cell);
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(), HasSubstr("CreateSession"));
}

TEST_F(LibrariesKept, AreRefusedToSessionsAsToRuns) {
  TestSession denied(client(), Asking("python", {"helper"}, "picked"));
  EXPECT_EQ(denied.status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  TestSession wrong(client(), Asking("python", {"--index-url=x"}));
  EXPECT_EQ(wrong.status().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  TestSession none(client(), Asking("", {"part"}));
  EXPECT_EQ(none.status().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(LibrariesKept, ThatCanNotBeInstalledLeaveTheSession) {
  TestSession session(client(), Asking("python", {"not-there"}));
  ASSERT_THAT(session.status(), IsOk());
  const RunResult result = session.Run("1");
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailsOf(result.status).reason, "LIBRARIES_NOT_INSTALLED");
  v1::Session described;
  EXPECT_THAT(session.Get(&described), IsOk());
}

TEST_F(LibrariesKept, AreForRunsWithResultsToo) {
  v1::RunCodeRequest request =
      WithLibraries(Python("import sample\nsample.version"), {"sample==2.0"});
  request.set_rich_results(true);
  const RunResult result = Run(request);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(ValueOf(result.response), "'2.0'") << Describe(result.response);
  EXPECT_THAT(result.response.libraries().layer_id(), SizeIs(64));
}

TEST_F(LibrariesKept, AreHintedAtWhereTheyAreMissing) {
  const RunResult result = Run(WithLibraries(Python("import cv2"), {}));
  ASSERT_THAT(result, IsOk());
  ASSERT_THAT(result.response.hints(), SizeIs(1)) << Describe(result.response);
  EXPECT_EQ(result.response.hints(0).id(), "missing-library");
  EXPECT_THAT(result.response.hints(0).message(),
              HasSubstr("--library opencv-python"));
}

TEST_F(LibrariesKept, AreLockedToTheirChecksums) {
  v1::RunCodeRequest request = Python("import part\nprint('ok')\n");
  request.set_profile("lib");
  const std::string digest = DigestInIndex("part", "part-1.0-py3-none-any.whl");
  ASSERT_THAT(digest, SizeIs(64));
  const std::string lock =
      absl::StrCat("part==1.0 \\\n    --hash=sha256:", digest, "\n");
  request.set_library_lock(lock);
  const v1::RunCodeResponse first = RunOk(request);
  EXPECT_THAT(first.libraries().libraries(), ElementsAre("part==1.0"));
  EXPECT_FALSE(RunOk(request).libraries().installed());

  request.set_library_lock(
      absl::StrReplaceAll(lock, {{digest, std::string(64, 'a')}}));
  EXPECT_THAT(RunError(request, grpc::StatusCode::FAILED_PRECONDITION,
                       "LIBRARIES_NOT_INSTALLED"),
              HasSubstr("DO NOT MATCH THE HASHES"));
  request.set_library_lock("part @ http://elsewhere.test.org/part.whl\n");
  RunError(request, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST");
}

TEST_F(LibrariesKept, AreListedBuiltAndRemoved) {
  const client::SubprocessResult built =
      Layers({"build", "python", "two==1.0", "--profile", "lib"});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  EXPECT_THAT(built.out, AllOf(MatchesRegex(kAnId), SizeIs(65)));
  EXPECT_THAT(built.err, AllOf(HasSubstr("Successfully installed"),
                               HasSubstr("sandglass: installed two==1.0")));
  const std::string id(absl::StripAsciiWhitespace(built.out));

  const client::SubprocessResult again =
      Layers({"build", "python", "two==1.0", "--profile", "lib", "-q"});
  EXPECT_EQ(again.out, built.out);
  EXPECT_EQ(again.err, "");
  const v1::RunCodeResponse run = RunOk(Importing({"two==1.0"}));
  EXPECT_EQ(run.libraries().layer_id(), id);
  EXPECT_FALSE(run.libraries().installed());
  EXPECT_THAT(Layers({}).out,
              AllOf(HasSubstr(id.substr(0, 16)), HasSubstr("two==1.0")));
  EXPECT_THAT(Layers({"list", "-l", "ruby"}).out, Not(HasSubstr("two==1.0")));

  // Although jails wait with it.
  const client::SubprocessResult removed = Layers({"rm", id.substr(0, 10)});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_EQ(removed.out, absl::StrCat("removed ", id, "\n"));
  EXPECT_THAT(Layers({}).out, Not(HasSubstr("two==1.0")));
  EXPECT_THAT(Layers({"rm", id}).err, HasSubstr("there is no layer"));
  EXPECT_TRUE(RunOk(Importing({"two==1.0"})).libraries().installed());
}

TEST_F(LibrariesKept, AreNotRemovedFromASession) {
  TestSession session(client(), Asking("python", {"left"}));
  const RunResult result = session.Run("import left");
  ASSERT_THAT(result, IsOk());
  const std::string id = result.response.libraries().layer_id();
  ASSERT_THAT(id, SizeIs(64));
  EXPECT_THAT(Layers({"rm", id}).err, HasSubstr("LAYER_IN_USE"));
  EXPECT_EQ(session.Run("import left; left.version").response.outcome(),
            v1::OUTCOME_OK);
  EXPECT_THAT(session.Delete(), IsOk());
  const client::SubprocessResult removed = Layers({"rm", id});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
}

TEST_F(LibrariesKept, FailToBeBuiltInTheToolsWords) {
  const client::SubprocessResult missing =
      Layers({"build", "python", "not-there", "--profile", "lib"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("No matching distribution found"));
  EXPECT_THAT(
      Layers({"build", "python", "part", "--profile", "offline"}).exit_code, 0)
      << "root may install for a profile that is offline";
}

TEST_F(LibraryFaults, SetsCanHaveInterpretersThatImportedThem) {
  TestRegistry registry(kPort);
  const std::string zygotes =
      R"("zygotes": [{"language": "python", "libraries": ["sample==1.0"],)"
      R"( "preload": ["sample"]}], )";
  const v1::RunCodeRequest request = WithLibraries(
      Python("import sys\nthere = 'sample' in sys.modules\nimport sample\n"
             "print(there, sample.version, sample.__file__)\n"),
      {"sample==1.0"});
  ASSERT_NO_FATAL_FAILURE(Start(zygotes));
  EXPECT_THAT(daemon().LogTail(200),
              HasSubstr("sandglass layers build python"));
  EXPECT_EQ(client().Run(request).response.stdout().data(),
            "False 1.0 /opt/libraries/sample/__init__.py\n");
  StopDaemon();

  ASSERT_NO_FATAL_FAILURE(Start(zygotes));
  RunResult result;
  EXPECT_TRUE(WaitUntil(
      [&] {
        result = client().Run(request);
        return absl::StartsWith(result.response.timings().kind(),
                                "python-layer-");
      },
      absl::Seconds(30)))
      << Describe(result.response);
  EXPECT_EQ(result.response.stdout().data(),
            "True 1.0 /opt/libraries/sample/__init__.py\n");
  EXPECT_FALSE(result.response.libraries().installed());
  // Others have none of it.
  const RunResult other = client().Run(WithLibraries(
      Python("import sys\nprint('sample' in sys.modules)\n"), {}));
  EXPECT_EQ(other.response.stdout().data(), "False\n");
  EXPECT_EQ(other.response.timings().kind(), "python-lean");
  StopDaemon();
}

// A registry whose certificate nobody but the configuration vouches for, in
// front of the ordinary one.
class TlsRegistry {
 public:
  static constexpr uint16_t kTlsPort = 8443;

  TlsRegistry()
      : issuer_("Issuer of a registry"),
        tls_(issuer_.Server({.names = "DNS:registry.test.org"})),
        server_(kTlsPort, [this](int socket) { Serve(socket); }) {}

  const std::string& pem() const { return issuer_.pem(); }

 private:
  void Serve(int socket) {
    TlsEnd end(socket, tls_);
    if (!end.Accept()) return;
    for (;;) {
      const std::string head = end.ReceiveUntil("\r\n\r\n");
      if (head.empty() || !end.Send(MainRegistry().AnswerTo(head))) return;
    }
  }

  TestIssuer issuer_;
  TlsContext tls_;
  TestServer server_;
};

TEST_F(LibraryFaults, ARegistryIsTrustedByTheConfigurationsCertificates) {
  const TlsRegistry registry;
  std::ofstream(place_ + "/ca.pem") << registry.pem();
  DaemonOptions options = LibraryOptions(place_, TlsRegistry::kTlsPort);
  absl::StrReplaceAll({{"http://", "https://"}}, &*options.config);
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  const v1::RunCodeRequest request = Importing({"part"});
  EXPECT_THAT(Error(request, grpc::StatusCode::FAILED_PRECONDITION),
              HasSubstr("CERTIFICATE_VERIFY_FAILED"));
  StopDaemon();

  absl::StrReplaceAll(
      {{"\"registries\"",
        absl::StrCat("\"ca_file\": \"", place_, "/ca.pem\", \"registries\"")}},
      &*options.config);
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  EXPECT_EQ(client().Run(request).response.stdout().data(), "ok\n");
  for (const char* id : {"go", "ruby", "java"}) {
    const LibraryLanguage& language = LanguageOf(id);
    const RunResult result = client().Run(
        WithLibraries(Program(id, language.code), language.libraries));
    EXPECT_EQ(result.response.stdout().data(), "ok\n")
        << id << ": " << result.status.error_message();
  }
  // Its files are elsewhere, by the plain registry's word.
  const int asked = MainRegistry().Count("/npm/sample");
  const LibraryLanguage& node = LanguageOf("javascript");
  EXPECT_THAT(
      Error(WithLibraries(Program("javascript", node.code), node.libraries),
            grpc::StatusCode::FAILED_PRECONDITION),
      Not(HasSubstr("certificate")));
  EXPECT_GT(MainRegistry().Count("/npm/sample"), asked);
  StopDaemon();
}

TEST_F(LibraryFaults, AnImageHasInstallsOfItsOwn) {
  const HostImage image(place_ + "/whole");
  ASSERT_EQ(image.problem(), "");
  std::ofstream(place_ + "/policy/profiles/whole.json")
      << R"({"description": "d", "image": "whole",
             "libraries": {"python": {}, "javascript": {}, "ruby": {},
                           "go": {}, "java": {}}})";
  DaemonOptions options = LibraryOptions(place_);
  options.config->insert(
      options.config->find('{') + 1,
      absl::StrCat(R"("images": {"whole": ")", place_, R"(/whole"}, )"));
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  for (const LibraryLanguage& language : LibraryLanguages()) {
    v1::RunCodeRequest request = WithLibraries(
        Program(language.id, language.code), language.libraries, "whole");
    RunResult result = client().Run(request);
    EXPECT_EQ(result.response.stdout().data(), "ok\n")
        << language.id << ": " << result.status.error_message();
    EXPECT_TRUE(result.response.libraries().installed());
    result = client().Run(request);
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
    EXPECT_FALSE(result.response.libraries().installed());
    // Not the host's.
    if (language.id != std::string("python")) continue;
    request.set_profile("lib");
    result = client().Run(request);
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
    EXPECT_TRUE(result.response.libraries().installed());
  }
  StopDaemon();
}

TEST_F(LibraryFaults, CertificatesThatAreNotThereAreSaidAtTheStart) {
  const absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(
      LibraryOptions(place_, kPort, R"("ca_file": "/nonexistent/ca.pem", )"));
  EXPECT_THAT(
      std::string(daemon.status().message()),
      AllOf(HasSubstr("libraries.ca_file"), HasSubstr("/nonexistent/ca.pem")));
}

TEST_F(LibraryFaults, InstallsGoOnAfterTheProfilesWereReadAgain) {
  TestRegistry registry(kPort);
  ASSERT_NO_FATAL_FAILURE(Start());
  daemon().Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil(
      [&] {
        return daemon().LogTail(50).find("policy_reloaded") !=
               std::string::npos;
      },
      absl::Seconds(20)));
  RunUntilOk(Importing({"part"}));
  StopDaemon();
}

class LibrariesOfTenants : public LibraryFaults {
 protected:
  // What the daemon tells of its policy.
  v1::PolicyState Policy() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info.policy();
  }
  // The set's use: whether it had to be installed.
  bool Installs() {
    const RunResult result = client().Run(Importing({"sample==1.0"}));
    EXPECT_THAT(result, IsOk());
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
    return result.response.libraries().installed();
  }
};

TEST_F(LibrariesOfTenants, ATenantMayHaveThemForItself) {
  std::filesystem::create_directory(place_ + "/tenants");
  const std::string file = place_ + "/tenants/local.json";
  WriteFile(file, "{}");
  DaemonOptions options = LibraryOptions(place_);
  options.config = absl::StrCat(R"({"tenants_dir": ")", place_,
                                R"(/tenants", )", options.config->substr(1));
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  EXPECT_TRUE(Installs());
  EXPECT_FALSE(Installs());
  WriteFile(file, R"({"libraries": "own"})");
  daemon().Signal(SIGHUP);
  ASSERT_TRUE(
      WaitUntil([&] { return Policy().reloads() == 1; }, absl::Seconds(30)));
  // What was there is everybody's.
  EXPECT_TRUE(Installs());
  EXPECT_FALSE(Installs());
  // Both installed the same files, which are kept once.
  const auto stub = v1::LayerService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  v1::ListLayersResponse answer;
  grpc::ClientContext context;
  ASSERT_THAT(stub->ListLayers(&context, {}, &answer), IsOk());
  ASSERT_THAT(answer.layers(), SizeIs(1));
  EXPECT_THAT(answer.layers(0).sets(), ElementsAre("sample==1.0"));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
