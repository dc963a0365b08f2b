#include "tests/e2e/libraries/library_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/support/shell.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kHost[] = "registry.test.org";
constexpr char kAddress[] = "93.184.216.40";

// All that the tests share, until the process ends.
struct World {
  int host_network = -1;
  int own_network = -1;
  std::string files;
  std::unique_ptr<TestNames> names;
  std::unique_ptr<TestRegistry> registry;
};
World& TheWorld() {
  static World* const world = new World();
  return *world;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

constexpr char kLib[] = R"({
  "description": "all libraries",
  "libraries": {"python": {}, "javascript": {}, "go": {}, "ruby": {}, "java": {}}
})";
constexpr char kBare[] = R"({
  "description": "no libraries",
  "libraries": "none"
})";
constexpr char kPicked[] = R"({
  "description": "a few libraries",
  "libraries": {"python": {"allow": ["sample==1.0", "part", "helper"],
                           "deny": ["helper"]}}
})";
constexpr char kOffline[] = R"({
  "description": "what is there already",
  "libraries": {"python": {"offline": true}}
})";

}  // namespace

bool EnterLibraryWorld() {
  World& world = TheWorld();
  world.host_network = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (!EnterOwnWorld() || ::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    std::perror("namespaces of the tests' own (needs root)");
    return false;
  }
  world.own_network = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  world.files = MakeTestDirectory();
  const std::string said =
      RunShell(absl::StrCat("/usr/bin/python3 ", SANDGLASS_SOURCE_DIR,
                            "/tests/payloads/registry/make.py ", world.files,
                            " http://", kHost, " 2>&1 || echo failed"));
  if (!said.empty()) {
    std::fprintf(stderr, "the registries can't be made: %s\n", said.c_str());
    return false;
  }
  world.names = std::make_unique<TestNames>(
      std::map<std::string, std::vector<std::string>>{
          {kHost, {kAddress}}, {"elsewhere.test.org", {"93.184.216.41"}}});
  world.registry = std::make_unique<TestRegistry>(80);
  return true;
}

void LeaveLibraryWorld() {
  World& world = TheWorld();
  world.registry.reset();
  world.names.reset();
  std::error_code ignored;
  fs::remove_all(world.files, ignored);
}

int HostNetwork() { return TheWorld().host_network; }
int OwnNetwork() { return TheWorld().own_network; }
TestRegistry& MainRegistry() { return *TheWorld().registry; }

std::string DigestInIndex(const std::string& package, const std::string& file) {
  const std::string index = ReadFile(absl::StrCat(
      TheWorld().files, "/python/simple/", package, "/index.html"));
  const std::string mark = absl::StrCat(file, "#sha256=");
  const size_t at = index.find(mark);
  return at == std::string::npos ? "" : index.substr(at + mark.size(), 64);
}

TestRegistry::TestRegistry(uint16_t port)
    : server_(port, [this](int socket) { Serve(socket); }) {}

void TestRegistry::SetFault(Fault fault, const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fault_ = fault;
  faulty_ = text;
}

int TestRegistry::Count(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(
      std::count_if(paths_.begin(), paths_.end(), [&](const std::string& path) {
        return path.find(text) != std::string::npos;
      }));
}

void TestRegistry::Serve(int socket) {
  for (;;) {
    const std::string head = ReceiveUntil(socket, "\r\n\r\n", 60);
    if (head.empty() || !Answer(socket, head)) return;
  }
}

std::string TestRegistry::PathIn(const std::string& head) {
  const size_t begin = head.find(' ') + 1;
  std::string path = absl::StrReplaceAll(
      head.substr(begin, head.find_first_of(" ?", begin) - begin),
      {{"%2f", "/"}, {"%2F", "/"}});
  const std::lock_guard<std::mutex> lock(mutex_);
  paths_.push_back(path);
  return path;
}

bool TestRegistry::Answer(int socket, const std::string& head) {
  const std::string path = PathIn(head);
  Fault fault = Fault::kNone;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!faulty_.empty() && path.find(faulty_) != std::string::npos) {
      fault = fault_;
    }
  }
  if (fault == Fault::kHang) {
    ++hanging_;
    ReceiveAll(socket, 60);
    --hanging_;
    return false;
  }
  const std::string answer = AnswerOf(path, head);
  const bool cut = fault == Fault::kCut;
  const size_t body = answer.find("\r\n\r\n") + 4;
  return Send(socket,
              cut ? answer.substr(0, (body + answer.size()) / 2) : answer) &&
         !cut;
}

std::string TestRegistry::AnswerTo(const std::string& head) {
  return AnswerOf(PathIn(head), head);
}

std::string TestRegistry::AnswerOf(const std::string& path,
                                   const std::string& head) {
  fs::path file = TheWorld().files + path;
  std::error_code error;
  if (fs::is_directory(file, error)) file /= "index.html";
  const bool found =
      path.find("..") == std::string::npos && fs::is_regular_file(file, error);
  const std::string body = found ? ReadFile(file) : "not here\n";
  const bool html = path.find("/simple/") != std::string::npos;
  const bool bodiless = head.rfind("HEAD ", 0) == 0;
  return absl::StrCat(
      "HTTP/1.1 ", found ? "200 OK" : "404 Not Found",
      "\r\nContent-Type: ", html ? "text/html" : "application/octet-stream",
      "\r\nContent-Length: ", body.size(), "\r\n\r\n", bodiless ? "" : body);
}

const std::vector<LibraryLanguage>& LibraryLanguages() {
  static const auto* const kLanguages = new std::vector<LibraryLanguage>{
      {"python",
       "/python/simple",
       {"sample==2.0", "part"},
       "import sample, helper, part\n"
       "print('ok' if sample.version == '2.0' else sample.version)\n",
       "import sample\nprint('ok')\n",
       "not-there",
       "No matching distribution found for not-there",
       "sample==9.9",
       "from versions: 1.0, 2.0"},
      {"javascript",
       "/npm",
       {"sample@1.0.0", "@scope/part@^1.0.0"},
       "const v = require('sample').version;\nrequire('@scope/part');\n"
       "console.log(v === '1.0.0' ? 'ok' : v);\n",
       "require('sample');\nconsole.log('ok');\n",
       "not-there@1.0.0",
       "404",
       "sample@9.9.9",
       "No matching version found for sample@9.9.9"},
      {"go",
       "/go",
       {"example.test/sample@v1.0.0", "example.test/part@v1.0.0"},
       "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/part\"\n"
       "\t\"example.test/sample\"\n)\n\nfunc main() {\n"
       "\tif sample.Version() == part.Version {\n\t\tfmt.Println(\"ok\")\n\t}\n"
       "}\n",
       "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.test/sample\"\n)\n\n"
       "func main() {\n\t_ = sample.Version()\n\tfmt.Println(\"ok\")\n}\n",
       "example.test/not-there@v1.0.0",
       "404 Not Found",
       "example.test/sample@v9.9.9",
       "404 Not Found"},
      {"ruby",
       "/ruby",
       {"sample:1.0", "part"},
       "require 'sample'\nrequire 'part'\n"
       "puts Sample::VERSION == Helper::VERSION ? 'ok' : 'no'\n",
       "require 'sample'\nputs 'ok'\n",
       "not-there",
       "Could not find a valid gem 'not-there'",
       "sample:9.9",
       "Could not find a valid gem 'sample' (= 9.9)"},
      {"java",
       "/java",
       {"test.example:sample:1.0", "test.example:part:1.0"},
       "import test.part.Part;\nimport test.sample.Sample;\n\n"
       "public class Main {\n  public static void main(String[] args) {\n"
       "    System.out.println(\n"
       "        Sample.version().equals(Part.version()) ? \"ok\" : \"no\");\n"
       "  }\n}\n",
       "public class Main {\n  public static void main(String[] args) {\n"
       "    test.sample.Sample.version();\n    System.out.println(\"ok\");\n"
       "  }\n}\n",
       "test.example:not-there:1.0",
       "module not found: test.example#not-there;1.0",
       "test.example:sample:9.9",
       "module not found: test.example#sample;9.9"},
  };
  return *kLanguages;
}

const LibraryLanguage& LanguageOf(const std::string& id) {
  return *std::find_if(
      LibraryLanguages().begin(), LibraryLanguages().end(),
      [&](const LibraryLanguage& language) { return language.id == id; });
}

DaemonOptions LibraryOptions(const std::string& place, uint16_t port,
                             const std::string& more) {
  std::vector<std::string> registries;
  for (const LibraryLanguage& language : LibraryLanguages()) {
    registries.push_back(absl::StrCat("\"", language.id,
                                      R"(": {"url": "http://)", kHost, ":",
                                      port, language.registry, "\"}"));
  }
  return {.config = absl::StrCat(
              R"({"egress": {"resolvers": ["127.0.0.1:53"]}, "libraries": {)",
              more, R"("dir": ")", place, R"(/layers", "registries": {)",
              absl::StrJoin(registries, ", "), "}}}"),
          .extra_arguments = {"--policy-dir", absl::StrCat(place, "/policy")}};
}

void MakeLibraryPolicy(const std::string& place) {
  fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", place + "/policy",
           fs::copy_options::recursive);
  for (const auto& [name, text] : {std::pair("lib", kLib),
                                   {"bare", kBare},
                                   {"picked", kPicked},
                                   {"offline", kOffline}}) {
    std::ofstream(absl::StrCat(place, "/policy/profiles/", name, ".json"))
        << text;
  }
}

v1::RunCodeRequest WithLibraries(v1::RunCodeRequest request,
                                 const std::vector<std::string>& libraries,
                                 const std::string& profile) {
  request.set_profile(profile);
  for (const std::string& each : libraries) request.add_libraries(each);
  return request;
}

v1::RunCodeRequest Importing(const std::vector<std::string>& libraries,
                             const std::string& profile) {
  std::string code;
  for (const std::string& each : libraries) {
    absl::StrAppend(&code, "import ",
                    each.substr(0, each.find_first_of("[=<>")), "\n");
  }
  return WithLibraries(Python(code + "print('ok')\n"), libraries, profile);
}

std::string LibrariesTest::place_;

void LibrariesTest::SetUpTestSuite() {
  place_ = MakeTestDirectory();
  MakeLibraryPolicy(place_);
  StartSuite(LibraryOptions(place_, 80, R"("max_layer_bytes": "4MiB", )"));
}

void LibrariesTest::TearDownTestSuite() {
  DaemonTest::TearDownTestSuite();
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

void LibrariesTest::TearDown() {
  ASSERT_FALSE(daemon().Wait(absl::ZeroDuration()))
      << "the daemon ended in this test";
  EXPECT_TRUE(WaitUntil(
      [] {
        v1::ListRunsRequest request;
        request.add_states(v1::RUN_STATE_QUEUED);
        request.add_states(v1::RUN_STATE_RUNNING);
        v1::ListRunsResponse runs;
        return client().List(request, &runs).ok() && runs.runs().empty();
      },
      absl::Seconds(20)));
  EXPECT_TRUE(WaitUntil(
      [] {
        const std::vector<Process> all = daemon().Processes();
        return std::none_of(all.begin(), all.end(), [](const Process& process) {
          return CommandOf(process.pid).find("install.sh") != std::string::npos;
        });
      },
      absl::Seconds(20)));
  if (HasFailure()) {
    std::cerr << "--- end of the daemon's log:\n" << daemon().LogTail() << "\n";
  }
}

v1::RunCodeResponse LibrariesTest::RunOk(const v1::RunCodeRequest& request) {
  const RunResult result = Run(request);
  EXPECT_THAT(result, IsOk());
  EXPECT_EQ(result.response.outcome(), v1::OUTCOME_OK)
      << Describe(result.response);
  EXPECT_EQ(result.response.stdout().data(), "ok\n");
  return result.response;
}

std::string LibrariesTest::RunError(const v1::RunCodeRequest& request,
                                    grpc::StatusCode code,
                                    const std::string& reason) {
  const RunResult result = Run(request);
  EXPECT_EQ(result.status.error_code(), code)
      << result.status.error_message() << Describe(result.response);
  EXPECT_EQ(DetailsOf(result.status).reason, reason);
  return result.status.error_message();
}

client::SubprocessOptions LibrariesTest::CommandLine(
    const std::string& language, const std::string& code,
    const std::vector<std::string>& more) {
  client::SubprocessOptions options;
  options.args = {"run", "-l", language, "--profile", "lib", "-c", code};
  options.args.insert(options.args.end(), more.begin(), more.end());
  options.env = {absl::StrCat("SANDGLASS_ADDRESS=", daemon().address()),
                 "NO_COLOR=1", "PATH=/usr/bin:/bin"};
  return options;
}

LibraryFaults::LibraryFaults() : place_(MakeTestDirectory()) {
  MakeLibraryPolicy(place_);
}

LibraryFaults::~LibraryFaults() {
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

void LibraryFaults::Start(const std::string& more) {
  StartDaemon(LibraryOptions(place_, kPort, more));
}

std::string LibraryFaults::Error(const v1::RunCodeRequest& request,
                                 grpc::StatusCode code) {
  const RunResult result = client().Run(request);
  EXPECT_EQ(result.status.error_code(), code)
      << result.status.error_message() << Describe(result.response);
  return result.status.error_message();
}

void LibraryFaults::RunUntilOk(const v1::RunCodeRequest& request) {
  RunResult result;
  ASSERT_TRUE(WaitUntil(
      [&] {
        result = client().Run(request);
        return result.status.ok();
      },
      absl::Seconds(40)))
      << result.status.error_message();
  EXPECT_EQ(result.response.stdout().data(), "ok\n")
      << Describe(result.response);
}

std::vector<std::string> LibraryFaults::Unfinished() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(place_ + "/layers")) {
    const std::string name = entry.path().filename();
    const bool layer =
        name.size() == 64 && std::all_of(name.begin(), name.end(), [](char c) {
          return absl::ascii_isxdigit(static_cast<unsigned char>(c));
        });
    if (!layer) names.push_back(name);
  }
  return names;
}

}  // namespace sandglass::testing
