// What compilers made is kept for the next run, and never more than that.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kWarns[] =
    "#include <cstdio>\n#warning look here\n"
    "int main() { char b[64] = \"\"; std::fgets(b, 64, stdin);\n"
    "  std::printf(\"hi %s\\n\", b); return 3; }\n";

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

v1::RunCodeRequest WithFile(v1::RunCodeRequest request, const std::string& path,
                            const std::string& content) {
  v1::InputFile& file = *request.add_files();
  file.set_path(path);
  file.set_content(content);
  return request;
}

class CompileCache : public OwnDaemonTest {
 protected:
  void SetUp() override {
    cache_ = MakeCacheDirectory();
    ASSERT_NE(cache_, "");
    policy_ = MakeTestDirectory();
    fs::copy(
        SANDGLASS_SOURCE_DIR "/policy/data", policy_,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    for (const auto& [name, sharing] :
         {std::pair("mine", "own"), std::pair("one", "shared"),
          std::pair("two", "shared"), std::pair("none", "off")}) {
      WriteText(absl::StrCat(policy_, "/profiles/", name, ".json"),
                absl::StrCat(R"({"description": "d", "compile_cache": ")",
                             sharing, "\"}"));
    }
    StartDaemon("{}");
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    fs::remove_all(policy_);
    fs::remove_all(cache_);
  }
  void StartDaemon(const std::string& config) {
    OwnDaemonTest::StartDaemon({.config = config,
                                .extra_arguments = {"--policy-dir", policy_},
                                .cache_directory = cache_});
  }
  void Restart(const std::string& config = "{}") {
    ASSERT_NO_FATAL_FAILURE(StopDaemon());
    ASSERT_NO_FATAL_FAILURE(StartDaemon(config));
  }

  v1::CompileCache State() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info.compile_cache();
  }
  // Whether the next run of it is a hit.
  bool IsHit(const v1::RunCodeRequest& request) {
    const RunResult result = client().Run(request);
    EXPECT_THAT(result, IsOk());
    return result.response.compile().cached();
  }
  // The files on the disk, once there are as many.
  std::vector<std::string> Files(size_t count) {
    std::vector<std::string> files;
    for (int i = 0; i < 200; ++i) {
      files.clear();
      for (const auto& entry : fs::directory_iterator(cache_ + "/compiled")) {
        const std::string name = entry.path().filename().string();
        if (name.size() == 64) files.push_back(entry.path().string());
      }
      if (files.size() >= count) break;
      absl::SleepFor(absl::Milliseconds(50));
    }
    EXPECT_EQ(files.size(), count);
    return files;
  }

  std::string cache_;
  std::string policy_;
};

TEST_F(CompileCache, TheSecondAnswerIsFromTheCache) {
  v1::RunCodeRequest cpp = Program("cpp", kWarns);
  cpp.set_stdin("there");
  const v1::RunCodeRequest go =
      Program("go", "package main\n\nfunc main() { println(\"go\") }\n");
  // javac has a note about it.
  const v1::RunCodeRequest java =
      Program("java",
              "import java.util.*;\npublic class Any {\n"
              "  public static void main(String[] a) {\n"
              "    List l = new ArrayList(); l.add(1); "
              "System.out.println(l);\n  }\n}\n");
  for (const v1::RunCodeRequest& request : {cpp, go, java}) {
    SCOPED_TRACE(request.language());
    const RunResult miss = client().Run(request);
    const RunResult hit = client().Run(request);
    ASSERT_THAT(miss, IsOk());
    ASSERT_THAT(hit, IsOk());
    const v1::PhaseResult& was = miss.response.compile();
    const v1::PhaseResult& is = hit.response.compile();
    EXPECT_FALSE(was.cached());
    EXPECT_TRUE(is.cached());
    EXPECT_EQ(is.outcome(), v1::OUTCOME_OK);
    EXPECT_EQ(is.exit_code(), was.exit_code());
    EXPECT_EQ(is.stdout().SerializeAsString(),
              was.stdout().SerializeAsString());
    EXPECT_EQ(is.stderr().SerializeAsString(),
              was.stderr().SerializeAsString());
    EXPECT_EQ(is.evidence().rule(), was.evidence().rule());
    EXPECT_EQ(is.evidence().phase(), v1::PHASE_COMPILE);
    EXPECT_FALSE(is.has_usage());
    EXPECT_FALSE(is.has_limits());
    EXPECT_EQ(hit.response.outcome(), miss.response.outcome());
    EXPECT_EQ(hit.response.exit_code(), miss.response.exit_code());
    EXPECT_EQ(hit.response.stdout().data(), miss.response.stdout().data());
    EXPECT_EQ(hit.response.stderr().data(), miss.response.stderr().data());
    EXPECT_NE(hit.response.run_id(), miss.response.run_id());
    EXPECT_LT(ToAbsl(hit.response.timings().compile()),
              ToAbsl(miss.response.timings().compile()) / 5);

    const StreamResult stream = client().Stream(request);
    ASSERT_THAT(stream, IsOk());
    ASSERT_TRUE(stream.events[0].has_compiled());
    EXPECT_TRUE(stream.events[0].compiled().cached());
    EXPECT_EQ(stream.events[0].compiled().stderr().data(), was.stderr().data());
  }
  const RunResult warned = client().Run(cpp);
  EXPECT_THAT(warned.response.compile().stderr().data(),
              HasSubstr("main.cpp:2:2: warning: #warning look here"));
  EXPECT_EQ(warned.response.stdout().data(), "hi there\n");
  EXPECT_EQ(warned.response.exit_code(), 3);
  EXPECT_THAT(client().Run(java).response.compile().stderr().data(),
              HasSubstr("unchecked"));

  const v1::CompileCache state = State();
  EXPECT_EQ(state.misses(), 3u);
  EXPECT_EQ(state.hits(), 8u);
  Files(3);
  EXPECT_EQ(State().entries(), 3u);
  EXPECT_EQ(State().stored(), 3u);
  EXPECT_GT(State().bytes(), 100'000u);
  EXPECT_EQ(State().max_bytes(), uint64_t{256} << 20);
}

TEST_F(CompileCache, TheProgramsOwnInputsMakeNoDifference) {
  v1::RunCodeRequest request = Program(
      "cpp",
      "#include <cstdio>\n#include <cstdlib>\nint main(int n, char** a) {\n"
      "  char b[64] = \"\"; std::fgets(b, 64, stdin);\n"
      "  const char* e = std::getenv(\"E\");\n"
      "  std::printf(\"%s %s %s\", n > 1 ? a[1] : \"\", b, e ? e : \"\"); }\n");
  EXPECT_FALSE(IsHit(request));
  request.set_stdin("in");
  request.add_args("arg");
  (*request.mutable_env())["E"] = "env";
  request.mutable_limits()->set_memory_bytes(64 << 20);
  request.add_fetch("main.cpp");
  const RunResult result = client().Run(request);
  EXPECT_TRUE(result.response.compile().cached());
  EXPECT_EQ(result.response.stdout().data(), "arg in env");
  EXPECT_EQ(result.response.limits().memory_bytes(), uint64_t{64} << 20);
  EXPECT_EQ(result.response.files_size(), 1);
}

TEST_F(CompileCache, AnyOtherChangeIsCompiledAnew) {
  const v1::RunCodeRequest plain = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(plain));
  ASSERT_TRUE(IsHit(plain));
  EXPECT_FALSE(IsHit(Program("cpp", absl::StrCat(kWarns, "\n"))));
  const v1::RunCodeRequest header = WithFile(plain, "a.h", "1");
  EXPECT_FALSE(IsHit(header));
  EXPECT_TRUE(IsHit(header));
  EXPECT_FALSE(IsHit(WithFile(plain, "a.h", "2")));
  EXPECT_FALSE(IsHit(WithFile(plain, "b.h", "1")));
  v1::RunCodeRequest executable = header;
  executable.mutable_files(0)->set_executable(true);
  EXPECT_FALSE(IsHit(executable));
  v1::RunCodeRequest limited = plain;
  limited.mutable_compile_limits()->set_memory_bytes(400 << 20);
  EXPECT_FALSE(IsHit(limited));
  EXPECT_TRUE(IsHit(limited));
  v1::RunCodeRequest hurried = plain;
  hurried.mutable_compile_limits()->mutable_wall_time()->set_seconds(9);
  EXPECT_TRUE(IsHit(hurried));
  // A file of the language's own that the request has another of.
  const v1::RunCodeRequest go =
      Program("go", "package main\n\nfunc main() {}\n");
  EXPECT_FALSE(IsHit(go));
  EXPECT_FALSE(IsHit(WithFile(go, "go.mod", "module other\n\ngo 1.19\n")));
}

TEST_F(CompileCache, OtherFlagsOfTheLanguageCompileAnew) {
  const v1::RunCodeRequest request = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(request));
  Files(1);
  const std::string path = policy_ + "/languages/cpp.json";
  std::string text = ReadText(path);
  ASSERT_NE(text.find("\"-O2\""), std::string::npos);
  text.replace(text.find("\"-O2\""), 5, "\"-O1\"");
  WriteText(path, text);
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_FALSE(IsHit(request));
  EXPECT_TRUE(IsHit(request));
}

TEST_F(CompileCache, ProfilesShareWhenTheySaySo) {
  const auto with = [](const char* profile) {
    v1::RunCodeRequest request = Program("cpp", kWarns);
    request.set_profile(profile);
    return request;
  };
  EXPECT_FALSE(IsHit(with("")));
  EXPECT_TRUE(IsHit(with("default")));
  // Their own.
  EXPECT_FALSE(IsHit(with("mine")));
  EXPECT_TRUE(IsHit(with("mine")));
  // In common.
  EXPECT_FALSE(IsHit(with("one")));
  EXPECT_TRUE(IsHit(with("two")));
  // Nobody's.
  EXPECT_FALSE(IsHit(with("none")));
  EXPECT_FALSE(IsHit(with("none")));
  EXPECT_EQ(State().not_cacheable(), 2u);
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  std::map<std::string, std::string> sharing;
  for (const v1::ProfileInfo& profile : info.profiles()) {
    sharing[profile.name()] = profile.compile_cache();
  }
  EXPECT_EQ(sharing["default"], "own");
  EXPECT_EQ(sharing["mine"], "own");
  EXPECT_EQ(sharing["two"], "shared");
  EXPECT_EQ(sharing["none"], "off");
}

// The program owns its jail's copy, and nothing but that.
TEST_F(CompileCache, AProgramThatChangesItselfChangesNothingElse) {
  const v1::RunCodeRequest request =
      Program("cpp",
              "#include <cstdio>\n#include <fstream>\n#include "
              "<sys/stat.h>\n#include <unistd.h>\n"
              "int main() {\n"
              "  std::puts(\"original\");\n"
              "  unlink(\"/workspace/main\");\n"
              "  std::ofstream(\"/workspace/main\") << \"#!/bin/sh\\necho "
              "poisoned\\n\";\n"
              "  std::ofstream(\"/workspace/main.cpp\") << \"poisoned\";\n"
              "  chmod(\"/workspace/main\", 0755);\n"
              "  std::ifstream check(\"/workspace/main\"); std::string line;\n"
              "  std::getline(check, line); std::puts(line.c_str());\n}\n");
  v1::RunCodeRequest fetching = request;
  fetching.add_fetch("main");
  for (int i = 0; i < 4; ++i) {
    const RunResult result = client().Run(i % 2 == 0 ? request : fetching);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result.response.compile().cached(), i > 0);
    EXPECT_THAT(result.response.stdout().data(), HasSubstr("original\n"))
        << Describe(result);
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  const RunResult result = client().Run(request);
  EXPECT_TRUE(result.response.compile().cached());
  EXPECT_THAT(result.response.stdout().data(), HasSubstr("original\n"));
}

TEST_F(CompileCache, JailsDontSeeTheCachesFiles) {
  EXPECT_FALSE(IsHit(Program("cpp", kWarns)));
  const std::string name = fs::path(Files(1).front()).filename().string();
  v1::RunCodeRequest look = Bash(
      absl::StrCat("find / -path /proc -prune -o -name '", name,
                   "' -print -o -name main.sh -print -o -name compiled "
                   "-not -path '/usr/*' -print 2>/dev/null\n",
                   "grep -c compiled /proc/self/mounts\n", "ls ", cache_,
                   " 2>&1 | grep -c 'No such file'\n",
                   "find /var/cache/sandglass -maxdepth 1 -name '*compil*'\n"));
  look.set_profile("large");  // A walk through /usr takes its time.
  const RunResult result = client().Run(look);
  EXPECT_EQ(result.response.stdout().data(), "/workspace/main.sh\n0\n1\n")
      << Describe(result);
}

TEST_F(CompileCache, OnlySuccessfulCompilesAreKept) {
  const v1::RunCodeRequest broken =
      Program("cpp", "int main() { return \"no\"; }\n");
  for (int i = 0; i < 2; ++i) {
    const RunResult result = client().Run(broken);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_COMPILE_ERROR));
    EXPECT_FALSE(result.response.compile().cached());
  }
  const v1::RunCodeRequest library = Program("go", "package solution\n");
  for (int i = 0; i < 2; ++i) {
    const RunResult result = client().Run(library);
    EXPECT_EQ(result.response.evidence().rule(), "compile-artifact");
    EXPECT_FALSE(result.response.compile().cached());
  }
  const char kSlow[] =
      "template <int N, int M> struct A {\n"
      "  static constexpr int v = A<N - 1, M>::v + A<N - 1, M + (1 << N)>::v;\n"
      "};\n"
      "template <int M> struct A<0, M> { static constexpr int v = 1; };\n"
      "int main() { return A<24, 0>::v; }\n";
  v1::RunCodeRequest slow = Program("cpp", kSlow);
  slow.mutable_compile_limits()->mutable_wall_time()->set_seconds(1);
  EXPECT_THAT(client().Run(slow), OutcomeIs(v1::OUTCOME_TIMEOUT));
  {
    StreamCall call(client().stub(), Program("cpp", kSlow));
    absl::SleepFor(absl::Seconds(1));
    call.Cancel();
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::RunCodeRequest greedy = Program("cpp", kSlow);
  greedy.mutable_compile_limits()->set_memory_bytes(64 << 20);
  EXPECT_THAT(client().Run(greedy), OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  EXPECT_EQ(State().entries(), 0u);
  EXPECT_EQ(State().memory_entries(), 0u);
  EXPECT_EQ(State().stored(), 0u);
  Files(0);
}

// What depends on more than its files, and what compilers would run.
TEST_F(CompileCache, SomeProgramsAreNeverKept) {
  for (const v1::RunCodeRequest& request : {
           Program("cpp",
                   "#include <cstdio>\nint main() { std::puts(__TIME__); }\n"),
           WithFile(Program("cpp", "#include \"when.h\"\nint main() {}\n"),
                    "when.h", "const char* when = __DATE__;\n"),
           Program(
               "cpp",
               "const char* mounts =\n#if __has_include(\"/proc/self/stat\")\n"
               "\"yes\";\n#endif\nint main() {}\n"),
           WithFile(Program("cpp", "int main() {}\n"), "x.h.gch", "gpch"),
           Program("go",
                   "package main\n\n// const char* t(void) { return __TIME__; "
                   "}\nimport \"C\"\n\nfunc main() { "
                   "println(C.GoString(C.t())) }\n"),
       }) {
    EXPECT_FALSE(IsHit(request)) << request.code();
    EXPECT_FALSE(IsHit(request)) << request.code();
  }
  EXPECT_EQ(State().not_cacheable(), 10u);
  EXPECT_EQ(State().memory_entries(), 0u);
}

// A plugin that starts itself would run in the compiler: code of the request
// where only compilers run.
TEST_F(CompileCache, JavaPluginsDontRun) {
  v1::RunCodeRequest build =
      Program("java",
              "import com.sun.source.util.*;\n"
              "public class Evil implements Plugin {\n"
              "  static { System.err.println(\"PLUGIN RAN\"); }\n"
              "  public String getName() { return \"Evil\"; }\n"
              "  public boolean autoStart() { return true; }\n"
              "  public void init(JavacTask task, String... args) {}\n"
              "  public static void main(String[] args) {}\n}\n");
  build.add_fetch("main.jar");
  const RunResult built = client().Run(build);
  ASSERT_THAT(built, OutcomeIs(v1::OUTCOME_OK));
  ASSERT_EQ(built.response.files_size(), 1);
  EXPECT_THAT(built.response.stderr().data(), HasSubstr("PLUGIN RAN"));

  v1::RunCodeRequest victim =
      WithFile(Program("java",
                       "class A { public static void main(String[] a) "
                       "{ System.out.println(1); } }"),
               "evil.jar", built.response.files(0).content());
  for (const char* service : {"com.sun.source.util.Plugin",
                              "javax.annotation.processing.Processor"}) {
    victim =
        WithFile(victim, absl::StrCat("META-INF/services/", service), "Evil\n");
  }
  const RunResult result = client().Run(victim);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.compile().stderr().data(), "");
  EXPECT_EQ(result.response.stdout().data(), "1\n");
}

TEST_F(CompileCache, TheCacheSurvivesARestart) {
  const v1::RunCodeRequest request = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(request));
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(State().entries(), 1u);
  EXPECT_EQ(State().memory_entries(), 0u);
  EXPECT_TRUE(IsHit(request));
  EXPECT_EQ(State().hits(), 1u);
  EXPECT_EQ(State().memory_entries(), 1u);
  // The owner is the daemon's user, the mode its alone.
  struct stat info = {};
  ASSERT_EQ(stat(Files(1).front().c_str(), &info), 0);
  EXPECT_NE(info.st_uid, 0u);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(CompileCache, ADamagedFileIsNeverRun) {
  const v1::RunCodeRequest request = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(request));
  const std::string file = Files(1).front();
  for (const char* how : {"flip", "cut", "give", "link"}) {
    SCOPED_TRACE(how);
    ASSERT_NO_FATAL_FAILURE(StopDaemon());
    const std::string good = ReadText(file);
    std::string bad = good;
    if (*how == 'f') {
      bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
      WriteText(file, bad);
    } else if (*how == 'c') {
      fs::resize_file(file, good.size() - 100);
    } else if (*how == 'g') {
      ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
    } else {
      fs::copy_file(file, policy_ + "/elsewhere");
      fs::remove(file);
      fs::create_symlink(policy_ + "/elsewhere", file);
    }
    ASSERT_NO_FATAL_FAILURE(StartDaemon("{}"));
    const RunResult result = client().Run(request);
    EXPECT_FALSE(result.response.compile().cached());
    EXPECT_EQ(result.response.exit_code(), 3);
    EXPECT_EQ(State().dropped(), 1u);
    EXPECT_THAT(daemon().LogTail(30), HasSubstr("compile_cache_dropped"));
    EXPECT_TRUE(IsHit(request));
    Files(1);
  }
}

TEST_F(CompileCache, TheCacheCanBeSwitchedOff) {
  const v1::RunCodeRequest request = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(request));
  Files(1);
  ASSERT_NO_FATAL_FAILURE(Restart(R"({"compile_cache": {"max_bytes": 0}})"));
  EXPECT_FALSE(IsHit(request));
  EXPECT_FALSE(IsHit(request));
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  EXPECT_FALSE(info.has_compile_cache());
}

// Both compile; neither waits for the other's fate.
TEST_F(CompileCache, TheSameAtOnceIsCompiledTwice) {
  const std::vector<v1::RunCodeRequest> same(4, Program("cpp", kWarns));
  for (const RunResult& result : client().RunAll(same, 4)) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result.response.exit_code(), 3);
  }
  EXPECT_TRUE(IsHit(same.front()));
  Files(1);
}

// A run from the cache takes an idle jail and none for a compiler.
TEST_F(CompileCache, AHitTakesOneJail) {
  const v1::RunCodeRequest request = Program("cpp", kWarns);
  EXPECT_FALSE(IsHit(request));
  ASSERT_TRUE(IsHit(request));
  const auto used = [this] {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    uint64_t jails = 0;
    for (const v1::PoolKind& kind : info.pool()) {
      jails += kind.hits() + kind.misses();
    }
    return jails;
  };
  const uint64_t before = used();
  absl::SleepFor(absl::Milliseconds(300));
  const RunResult result = client().Run(request);
  EXPECT_TRUE(result.response.compile().cached());
  EXPECT_TRUE(result.response.timings().warm());
  EXPECT_EQ(used(), before + 1);
}

}  // namespace
}  // namespace sandglass::testing
