// Layers of libraries in jails. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/wire/setup_step.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

// A layer with one module, a program and a set-id one.
std::string MakeLayer(char digit, const std::string& word) {
  std::string id(64, digit);
  const std::string tree = absl::StrCat(g_layers, "/", id, "/tree");
  std::filesystem::create_directories(tree);
  std::ofstream(tree + "/toy.py") << "word = '" << word << "'\n";
  std::ofstream(tree + "/tool") << "#!/bin/sh\necho tool " << word << "\n";
  std::filesystem::copy_file("/usr/bin/id", tree + "/id",
                             std::filesystem::copy_options::skip_existing);
  EXPECT_EQ(::chmod((tree + "/tool").c_str(), 0755), 0);
  EXPECT_EQ(::chmod((tree + "/id").c_str(), 04755), 0);
  return id;
}

std::string Output(TestSession& jail, const std::string& code) {
  const Seen& seen = jail.Ended(Shell("{ " + code + "; } 2>&1"));
  return seen.out;
}

TEST(Layer, AJailSeesItsLayerReadOnly) {
  const std::string id = MakeLayer('a', "one");
  TestSession jail(ReadyJail(kExecKind, {}, id));
  EXPECT_EQ(Output(jail, "cat /opt/libraries/toy.py"), "word = 'one'\n");
  EXPECT_EQ(Output(jail, "/opt/libraries/tool"), "tool one\n");
  EXPECT_EQ(Output(jail, "/opt/libraries/id -u"), "1000\n");
  EXPECT_THAT(Output(jail, "echo x > /opt/libraries/toy.py"),
              HasSubstr("Read-only file system"));
  EXPECT_THAT(Output(jail, "echo x > /opt/libraries/new"),
              HasSubstr("Read-only file system"));
  EXPECT_THAT(Output(jail, "grep /opt/libraries /proc/self/mounts"),
              HasSubstr(" ro,nosuid,nodev,"));
  // Its runs can come after another.
  EXPECT_EQ(Output(jail, "cat /opt/libraries/toy.py"), "word = 'one'\n");
  // Nothing of the yard came with it.
  EXPECT_EQ(Output(jail, "ls /opt; ls /layers || true; ls /opt/libraries"),
            "libraries\nsandglass\n"
            "ls: cannot access '/layers': No such file or directory\n"
            "id\ntool\ntoy.py\n");
}

TEST(Layer, EachJailHasItsOwnLayer) {
  TestSession one(ReadyJail(kExecKind, {}, MakeLayer('a', "one")));
  TestSession two(ReadyJail(kExecKind, {}, MakeLayer('b', "two")));
  TestSession none;
  EXPECT_EQ(Output(one, "/opt/libraries/tool"), "tool one\n");
  EXPECT_EQ(Output(two, "/opt/libraries/tool"), "tool two\n");
  EXPECT_EQ(Output(none, "ls -A /opt/libraries"), "");
}

// Those that were raised before anybody asked, and those that weren't.
TEST(Layer, SpareJailsGetALayerToo) {
  const std::string id = MakeLayer('c', "spare");
  bool ahead = false;
  for (int i = 0; i < 8; ++i) {
    std::unique_ptr<Jail> jail = ReadyJail(kExecKind, {}, id);
    ahead = ahead || jail->made_ahead();
    bool mounted = false;
    for (const StepTiming& step : jail->steps()) {
      mounted = mounted || step.step == SetupStep::kMountLayer;
    }
    EXPECT_TRUE(mounted);
    TestSession session(std::move(jail));
    EXPECT_EQ(Output(session, "/opt/libraries/tool"), "tool spare\n");
  }
  EXPECT_TRUE(ahead);
}

TEST(Layer, ARunnersJailHasTheLayer) {
  const std::string id = MakeLayer('d', "runner");
  std::unique_ptr<Jail> jail = ReadyJail(kPythonKind, {}, id);
  ASSERT_TRUE(jail->has_runner());
  ProgramSpec program;
  program.argv = {"main.py"};
  program.env = {"PATH=/usr/bin:/bin"};
  const std::string code =
      "import sys; sys.path.insert(0, '/opt/libraries')\n"
      "import subprocess, toy\n"
      "subprocess.run(['/opt/libraries/tool'], check=True)\n"
      "sys.exit(17 if toy.word == 'runner' else 1)\n";
  program.files = {{"main.py", code, 0644}};
  program.cpu_time = absl::Seconds(10);
  program.file_size_bytes = 1 << 20;
  ASSERT_TRUE(jail->StartProgram(program).ok());
  TestSession session(std::move(jail));
  ASSERT_TRUE(session.Await([&] { return session.main_exited().has_value(); }));
  EXPECT_TRUE(WIFEXITED(session.main_exited()->wait_status));
  EXPECT_EQ(WEXITSTATUS(session.main_exited()->wait_status), 17);
}

// What is in a directory of layers is no way to other files.
TEST(Layer, LinksAreRefusedAsLayers) {
  const std::string tree_link(64, 'e'), own_link(64, 'f'), absent(64, '0');
  std::filesystem::create_directories(g_layers + "/" + tree_link);
  std::filesystem::create_directory_symlink(
      "/images", absl::StrCat(g_layers, "/", tree_link, "/tree"));
  std::filesystem::create_directory_symlink("..", g_layers + "/" + own_link);
  for (const std::string& id : {tree_link, own_link, absent}) {
    const auto jail = g_sandbox->CreateJail(kExecKind, "default", {}, kPatience,
                                            FillFor::kStock, id);
    EXPECT_TRUE(absl::IsInternal(jail.status())) << jail.status();
    EXPECT_THAT(std::string(jail.status().message()), HasSubstr("open_layer"));
  }
  // Others aren't affected.
  TestSession jail(ReadyJail(kExecKind, {}, MakeLayer('a', "one")));
  EXPECT_EQ(Output(jail, "/opt/libraries/tool"), "tool one\n");
}

TEST(Layer, ARemovedLayerStaysInItsJails) {
  const std::string id = MakeLayer('9', "gone");
  TestSession jail(ReadyJail(kExecKind, {}, id));
  std::filesystem::rename(g_layers + "/" + id, g_layers + "/old");
  EXPECT_EQ(Output(jail, "/opt/libraries/tool"), "tool gone\n");
  std::filesystem::remove_all(g_layers + "/old");
  EXPECT_THAT(Output(jail, "/opt/libraries/tool"), HasSubstr("not found"));
  EXPECT_EQ(Output(jail, "echo lives"), "lives\n");
}

}  // namespace
}  // namespace sandglass::sandbox
