// Jails of a profile with an image of its own have that image's files and
// nothing of the host's.

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/host_image.h"
#include "tests/support/shell.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Copies the host's programs, and what they are linked with, to the same places
// in a new root.
constexpr char kCopy[] = R"sh(
set -e
root=$1; shift
mkdir -p "$root/usr/bin" "$root/usr/lib64" "$root/etc"
ln -s usr/bin "$root/bin"; ln -s usr/lib "$root/lib"; ln -s usr/lib64 "$root/lib64"
for program; do
  cp -L "$program" "$root/usr/bin/"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    place="$root/usr/${library#/usr/}"
    case $library in /usr/*) ;; *) place="$root/usr$library";; esac
    mkdir -p "$(dirname "$place")"; cp -L "$library" "$place"
  done
done
chmod -R go-w "$root"
)sh";

class Image : public OwnDaemonTest {
 protected:
  Image() : place_(MakeTestDirectory()) {
    policy_ = place_ + "/policy";
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
             fs::copy_options::recursive);
    WriteProfile("tiny", R"({"description": "d", "image": "tiny"})");
    MakeImage("tiny", "/bin/bash /bin/cat /bin/ls");
    Write("tiny/usr/MARK", "an image of its own\n");
    Write("tiny/etc/os-release", "NAME=Tiny\n");
    Write("tiny/etc/shadow", "secret\n");
    Write("tiny/etc/policy.xml", "its own\n");
  }
  ~Image() override {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }

  void MakeImage(const std::string& name, const std::string& programs) const {
    Write("copy.sh", kCopy);
    EXPECT_EQ(RunShell(absl::StrCat("sh ", place_, "/copy.sh ", place_, "/",
                                    name, " ", programs, " 2>&1")),
              "");
  }
  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(absl::StrCat(place_, "/", path)) << text;
  }
  void WriteProfile(const std::string& name, const std::string& text) const {
    Write(absl::StrCat("policy/profiles/", name, ".json"), text);
  }
  DaemonOptions Options(const std::string& image = "tiny") const {
    return {.config = absl::StrCat(R"({"images": {")", image, R"(": ")", place_,
                                   "/", image, R"("}})"),
            .extra_arguments = {"--policy-dir", policy_}};
  }
  v1::RunCodeRequest In(const std::string& profile, const std::string& language,
                        const std::string& code) {
    v1::RunCodeRequest request = Program(language, code);
    request.set_profile(profile);
    return request;
  }
  // What a script prints there.
  std::string Prints(const std::string& code,
                     const std::string& profile = "tiny") {
    const RunResult result = client().Run(In(profile, "bash", code));
    EXPECT_THAT(result.status, IsOk());
    EXPECT_EQ(result.response.outcome(), v1::OUTCOME_OK)
        << result.response.ShortDebugString();
    return result.response.stdout().data();
  }
  // Why a language can't be used there.
  std::string Refusal(const std::string& language) {
    const RunResult result = client().Run(In("tiny", language, "1"));
    EXPECT_EQ(result.status.error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
    return result.status.error_message();
  }
  // Why the daemon doesn't start.
  std::string FailedStart(const DaemonOptions& options) {
    auto daemon = Daemon::Start(options);
    EXPECT_FALSE(daemon.ok());
    return std::string(daemon.status().message());
  }

  const std::string place_;
  std::string policy_;
};

TEST_F(Image, AJailHasTheFilesOfItsImageOnly) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options()));
  EXPECT_EQ(Prints("cat /usr/MARK; ls /usr/bin; ls /usr"),
            "an image of its own\nbash\ncat\nls\nMARK\nbin\nlib\nlib64\n");
  EXPECT_EQ(
      Prints("cat /etc/os-release /etc/policy.xml; ls /etc/shadow 2>/dev/null"
             "; ls /etc/debian_version 2>/dev/null; ls /etc/ssl 2>/dev/null"
             "; echo no more"),
      "NAME=Tiny\nits own\nno more\n");
  EXPECT_EQ(Prints("(echo x > /usr/MARK) 2>/dev/null || echo read-only"),
            "read-only\n");
  // Again and again, also once such jails are made ahead.
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Prints("cat /usr/MARK"), "an image of its own\n");
    EXPECT_EQ(Prints("cat /usr/MARK 2>/dev/null || echo none", "default"),
              "none\n");
  }
  StopDaemon();
}

TEST_F(Image, AnImageHasTheLanguagesInstalledInIt) {
  // They lead to the host's, seen from the host.
  fs::create_symlink("/usr/bin/python3", place_ + "/tiny/usr/bin/python3");
  fs::create_symlink("../../../../../../../../usr/bin/perl",
                     place_ + "/tiny/usr/bin/perl");
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options()));
  for (const char* language : {"python", "perl", "ruby", "go", "java"}) {
    EXPECT_THAT(Refusal(language),
                HasSubstr("is not installed in the image \"tiny\""));
  }
  EXPECT_EQ(client().Run(Python("print(6 * 7)")).response.stdout().data(),
            "42\n");

  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  for (const v1::ProfileInfo& profile : info.profiles()) {
    const bool tiny = profile.name() == "tiny";
    EXPECT_EQ(profile.image(), tiny ? "tiny" : "host");
    if (!tiny) continue;
    EXPECT_THAT(profile.languages(), ElementsAre("bash"));
  }
}

TEST_F(Image, SessionsAndCommandsRunInTheImage) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options()));
  v1::CreateSessionRequest request;
  request.set_language("bash");
  request.set_profile("tiny");
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(session.Run("cat /usr/MARK > kept").response.outcome(),
            v1::OUTCOME_OK);
  EXPECT_EQ(session.Run("cat kept; ls /usr/bin").response.stdout().data(),
            "an image of its own\nbash\ncat\nls\n");
}

TEST_F(Image, AProfileWithAnUnknownImageIsRefused) {
  WriteProfile("other", R"({"description": "d", "image": "slim"})");
  EXPECT_THAT(FailedStart(Options()),
              HasSubstr("profile other: /image: there is no image"));
  fs::remove(policy_ + "/profiles/other.json");
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options()));
  const auto check = [&](const std::string& image) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::CheckProfileRequest request;
    request.set_name("other");
    request.set_text(
        absl::StrCat(R"({"description": "d", "image": ")", image, "\"}"));
    v1::CheckProfileResponse response;
    EXPECT_THAT(client().policy().CheckProfile(&context, request, &response),
                IsOk());
    return response;
  };
  EXPECT_THAT(check("slim").problems(),
              ElementsAre(HasSubstr("there are: host, tiny")));
  EXPECT_THAT(check("tiny").problems(), IsEmpty());
  EXPECT_THAT(check("tiny").meaning(),
              Contains(HasSubstr("Programs see the image \"tiny\"")));
}

TEST_F(Image, AnImageThatOthersCanChangeIsRefused) {
  ASSERT_EQ(::chmod((place_ + "/tiny").c_str(), 0777), 0);
  EXPECT_THAT(FailedStart(Options()),
              HasSubstr("can be changed by others than root"));
}

TEST_F(Image, AnImageHasItsOwnCanaries) {
  // A shell that takes every script for a file to print.
  fs::copy_file("/bin/cat", place_ + "/tiny/usr/bin/bash",
                fs::copy_options::overwrite_existing);
  DaemonOptions options = Options();
  options.canaries = true;
  options.serving = "sandglass.v1.SandboxService";
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  EXPECT_THAT(Refusal("bash"),
              AllOf(HasSubstr("canary failed under profile tiny"),
                    HasSubstr("in the image tiny")));
  EXPECT_EQ(Prints("echo fine", "default"), "fine\n");
}

// A shell that does whatever it is asked to do, or says so.
constexpr char kEscapes[] =
    "#!/bin/bash\necho 'does: mount'\necho 'end: of the script'\n";

TEST_F(Image, AJailThatDoesNotHoldStopsAllRunsUntilItHolds) {
  const std::string shell = place_ + "/tiny/usr/bin/sh";
  const auto replace_shell = [&](const auto& make) {
    fs::remove(shell);
    make();
    daemon().Signal(SIGHUP);
  };
  const auto runs = [&] {
    return client().Run(In("default", "bash", "echo fine")).status;
  };
  const auto run_until = [&](const auto& good) {
    grpc::Status last;
    EXPECT_TRUE(WaitUntil(
        [&] {
          last = runs();
          return good(last);
        },
        absl::Seconds(60)))
        << last.error_message();
  };
  const auto refused = [](const grpc::Status& status) {
    return DetailsOf(status).reason == "ISOLATION_BROKEN";
  };
  const auto bash_is_it = [&] { fs::copy_file("/bin/bash", shell); };
  bash_is_it();
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options()));
  v1::CreateSessionRequest request;
  request.set_language("bash");
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  const auto execs = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  const auto command = [&] {
    return Execute(*execs, Command(session.id(), "echo fine")).status;
  };
  ASSERT_THAT(command(), IsOk());

  replace_shell([&] {
    Write("tiny/usr/bin/sh", kEscapes);
    ASSERT_EQ(::chmod(shell.c_str(), 0755), 0);
  });
  run_until(refused);
  // Jails of other profiles hold; nothing is run in them either.
  EXPECT_EQ(DetailsOf(session.Run("echo fine").status).reason,
            "ISOLATION_BROKEN");
  EXPECT_EQ(DetailsOf(command()).reason, "ISOLATION_BROKEN");
  EXPECT_FALSE(client().Serving());
  EXPECT_FALSE(client().Serving("sandglass.v1.SandboxService"));
  EXPECT_TRUE(client().Serving("sandglass.v1.OperatorService"));
  EXPECT_THAT(daemon().LogTail(200),
              AllOf(HasSubstr("of profile tiny"), HasSubstr("it does mount")));

  // That it can't be tried any more is no reason to believe in it.
  replace_shell([] {});
  EXPECT_TRUE(WaitUntil(
      [&] {
        const std::string log = daemon().LogTail(200);
        const size_t tried = log.rfind("isolation_not_tried");
        return tried != std::string::npos &&
               absl::StrContains(log.substr(tried, 300), "of profile tiny");
      },
      absl::Seconds(120)));
  const absl::Time until = absl::Now() + absl::Seconds(3);
  while (absl::Now() < until) {
    ASSERT_TRUE(refused(runs()));
    absl::SleepFor(absl::Milliseconds(100));
  }

  replace_shell(bash_is_it);
  run_until([](const grpc::Status& status) { return status.ok(); });
  EXPECT_THAT(command(), IsOk());
  EXPECT_THAT(session.Run("echo fine").status, IsOk());
  EXPECT_TRUE(WaitUntil([&] { return client().Serving(); }, absl::Seconds(60)));
}

TEST_F(Image, AnImageHasItsOwnPreparedFiles) {
  MakeImage("node", "/usr/bin/node /bin/bash /bin/sh /bin/cp");
  // Debian 13's node has some of its own modules there.
  EXPECT_EQ(RunShell(absl::StrCat(
                "for module in acorn acorn-walk cjs-module-lexer minimatch "
                "undici; do from=/usr/share/nodejs/$module; [ ! -d $from ] || "
                "cp -rL --parents $from ",
                place_, "/node || echo $module; done")),
            "");
  WriteProfile("tiny", R"({"description": "d", "image": "node"})");
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options("node")));
  const auto start_of = [&](const std::string& profile) {
    const RunResult result = client().Run(
        In(profile, "javascript", "console.log(process.argv0, 6 * 7)"));
    EXPECT_EQ(result.response.outcome(), v1::OUTCOME_OK)
        << result.status.error_message() << result.response.ShortDebugString();
    return result.response.stdout().data();
  };
  EXPECT_EQ(start_of("tiny"), start_of("default"));
  // Its own beside the host's, since the packages are others.
  EXPECT_THAT(Prints("cd /var/cache/sandglass && echo javascript-*/start.cjs"),
              HasSubstr(".cjs javascript-"));
}

// As large as the host's, whose directories it is made of.
class WholeImage : public Image {
 protected:
  void SetUp() override {
    ASSERT_EQ(whole_.problem(), "");
    WriteProfile("whole", R"({"description": "d", "image": "whole", "rules": [
        {"id": "files", "severity": "warn", "message": "m",
         "modules": ["os", "fs", "java.io", "fileutils"]}]})");
    fs::remove(policy_ + "/profiles/tiny.json");
    DaemonOptions options = Options("whole");
    options.canaries = true;
    ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  }

 private:
  const HostImage whole_{place_ + "/whole"};
};

TEST_F(WholeImage, RunsAllLanguagesWarmWithTheirRules) {
  struct Sample {
    const char* language;
    const char* code;
    const char* waits_as;  // the kind of jails in the pool; null: none
    bool has_finding;
  };
  const Sample samples[] = {
      {"python", "import os; print(6 * 7)", "python-lean-whole", true},
      {"ruby", "require 'fileutils'; puts 6 * 7", "ruby-lean-whole", true},
      {"javascript", "require('fs'); console.log(6 * 7)", "javascript-run",
       true},
      {"java",
       "import java.io.File; public class Main { public static void "
       "main(String[] a) { new File(\"x\"); System.out.println(6 * 7); } }",
       "java-run", true},
      {"go",
       "package main\nimport (\"fmt\"; \"os\")\n"
       "func main() { fmt.Fprintln(os.Stdout, 6 * 7) }",
       nullptr, true},
      {"cpp", "#include <iostream>\nint main() { std::cout << 42 << '\\n'; }",
       nullptr, false},
      {"perl", "print 6 * 7, qq(\\n);", nullptr, false},
  };
  for (const Sample& sample : samples) {
    for (int i = 0; i < 2; ++i) {
      const RunResult result =
          client().Run(In("whole", sample.language, sample.code));
      EXPECT_THAT(result.status, IsOk());
      EXPECT_EQ(result.response.stdout().data(), "42\n")
          << result.response.ShortDebugString();
      EXPECT_EQ(result.response.findings_size() > 0, sample.has_finding)
          << sample.language;
    }
  }
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  // That of C++ and Go compiled once.
  EXPECT_GE(info.compile_cache().hits(), 2u);
  for (const Sample& sample : samples) {
    if (sample.waits_as == nullptr) continue;
    const bool waits = std::any_of(
        info.pool().begin(), info.pool().end(), [&](const v1::PoolKind& kind) {
          return kind.kind() == sample.waits_as && kind.profile() == "whole";
        });
    EXPECT_TRUE(waits) << sample.waits_as;
  }
}

TEST_F(WholeImage, SessionsKeepTheirState) {
  for (const auto& [language, first, second] :
       {std::tuple("python", "x = 42", "print(x)"),
        std::tuple("javascript", "var x = 42", "console.log(x)"),
        std::tuple("ruby", "x = 42", "puts x"),
        std::tuple("java", "int x = 42;", "System.out.println(x);"),
        std::tuple("bash", "x=42", "echo $x")}) {
    v1::CreateSessionRequest request;
    request.set_language(language);
    request.set_profile("whole");
    TestSession session(client(), request);
    ASSERT_THAT(session.status(), IsOk());
    EXPECT_EQ(session.Run(first).response.outcome(), v1::OUTCOME_OK);
    EXPECT_EQ(session.Run(second).response.stdout().data(), "42\n") << language;
  }
}

}  // namespace
}  // namespace sandglass::testing
