#ifndef SANDGLASS_TESTS_E2E_LIBRARIES_LIBRARY_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_LIBRARIES_LIBRARY_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/network/world.h"
#include "tests/support/subprocess.h"

namespace sandglass::testing {

// Before any thread: a network namespace and a mount namespace of the tests'
// own, with a name server, and package registries of every language, made by
// tests/payloads/registry. False: it can't be had, and why is on standard
// error.
bool EnterLibraryWorld();
// Ends its servers and removes its files; after the tests.
void LeaveLibraryWorld();
// The network namespace that the tests came from; -1: there is none.
int HostNetwork();
// The one that EnterLibraryWorld made.
int OwnNetwork();

// Serves the registries' files on a port of http://registry.test.org, and can
// do it badly.
class TestRegistry {
 public:
  enum class Fault {
    kNone,
    kHang,  // no answer
    kCut,   // an end in the middle of a file
  };

  explicit TestRegistry(uint16_t port);

  // Of requests whose path has this text; none for the empty text.
  void SetFault(Fault fault, const std::string& text);
  // How many requests there were whose path has this text.
  int Count(const std::string& text = "");
  // What it answers to a request.
  std::string AnswerTo(const std::string& head);
  // Connections that hang now.
  int hanging() const { return hanging_; }

 private:
  void Serve(int socket);
  // Notes that it was asked for.
  std::string PathIn(const std::string& head);
  static std::string AnswerOf(const std::string& path, const std::string& head);
  // False: the connection has to end.
  bool Answer(int socket, const std::string& head);

  std::mutex mutex_;
  std::vector<std::string> paths_;
  Fault fault_ = Fault::kNone;
  std::string faulty_;
  std::atomic<int> hanging_ = 0;
  TestServer server_;
};

// What the index of Python's registry says of a file: its SHA-256.
std::string DigestInIndex(const std::string& package, const std::string& file);

// The one on port 80, which is always well.
TestRegistry& MainRegistry();

// A language with two libraries of the tests' registries.
struct LibraryLanguage {
  const char* id;
  const char* registry;  // its path
  std::vector<std::string> libraries;
  const char* code;      // prints "ok" when it has both
  const char* one_code;  // the same with the first of them alone
  const char* missing;   // a library that isn't there
  const char* why_missing;
  const char* no_version;  // of the first, a version that isn't there
  const char* why_no_version;
};
const std::vector<LibraryLanguage>& LibraryLanguages();
const LibraryLanguage& LanguageOf(const std::string& id);

// What a daemon is started with: registries on this port, the directory of
// layers, profiles (see the source). `more` is JSON of further keys of
// "libraries", each with a comma at its end.
DaemonOptions LibraryOptions(const std::string& place, uint16_t port = 80,
                             const std::string& more = "");

// A copy of the policy with profiles of the tests', below `place`.
void MakeLibraryPolicy(const std::string& place);

v1::RunCodeRequest WithLibraries(v1::RunCodeRequest request,
                                 const std::vector<std::string>& libraries,
                                 const std::string& profile = "lib");
// Python that prints "ok" when it can import these.
v1::RunCodeRequest Importing(const std::vector<std::string>& libraries,
                             const std::string& profile = "lib");

// Tests that share a daemon, whose registry is MainRegistry.
class LibrariesTest : public DaemonTest {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  // That no run and no install is left. Of the profiles' languages more jails
  // wait than DaemonTest takes for idle.
  void TearDown() override;

  // Succeeds and prints "ok".
  v1::RunCodeResponse RunOk(const v1::RunCodeRequest& request);
  // Fails, with this code and this reason.
  std::string RunError(const v1::RunCodeRequest& request, grpc::StatusCode code,
                       const std::string& reason);
  // The command line tool; its program is on standard input.
  client::SubprocessOptions CommandLine(const std::string& language,
                                        const std::string& code,
                                        const std::vector<std::string>& more);

  static std::string place_;
};

// Tests that have a daemon of their own, with a registry of its own that may be
// bad.
class LibraryFaults : public OwnDaemonTest {
 protected:
  static constexpr uint16_t kPort = 8090;

  LibraryFaults();
  ~LibraryFaults() override;

  void Start(const std::string& more = "");
  // What the run's error says, with this code.
  std::string Error(const v1::RunCodeRequest& request, grpc::StatusCode code);
  // Runs until it succeeds: a failure is remembered for seconds.
  void RunUntilOk(const v1::RunCodeRequest& request);
  // The names in the directory of layers that are no layers'.
  std::vector<std::string> Unfinished() const;

  const std::string place_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_LIBRARIES_LIBRARY_FIXTURE_H_
