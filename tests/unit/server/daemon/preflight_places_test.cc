// What an operator gets to read who gives the daemon a place that it can't use:
// one line, with the page that helps.
#include "server/daemon/preflight_places.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/base/state_dir.h"
#include "server/base/unix_socket.h"
#include "server/daemon/config.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

struct Said {
  int status;
  std::string lines;  // standard error
};

// Runs a script with the daemon as $D and a directory of its own as $T, which
// a mount of its own can be made at.
Said Script(const std::string& text) {
  const TempDir dir;
  const std::string command =
      absl::StrCat("D=", SANDGLASSD, " T=", dir.path(),
                   " unshare --mount sh -c '", text, "' 2>&1 >/dev/null");
  FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return {};
  Said said;
  std::array<char, 4096> buffer;
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    said.lines.append(buffer.data(), got);
  }
  said.status = WEXITSTATUS(::pclose(pipe));
  return said;
}

struct Place {
  const char* name;
  const char* script;  // ends with the daemon
  std::vector<const char*> words;
};

constexpr char kCheck[] =
    "$D --check --state-dir $T/s --cache-dir "
    "$T/c ";

const Place kPlaces[] = {
    {"StateReadOnly",
     "mkdir $T/s; mount -t tmpfs -o ro none $T/s; $CHECK",
     {"state_dir: can't write to ", "/s: Read-only file system"}},
    {"StateFull",
     "mkdir $T/s; mount -t tmpfs -o size=1m none $T/s; "
     "head -c 1m /dev/zero >$T/s/x; $CHECK",
     {"state_dir: ", "/s has only 0 bytes left"}},
    {"AuditBesideOthersLogs",
     "mkdir -p $T/logs/lost+found; touch $T/logs/syslog; "
     "echo \"{\\\"audit\\\": {\\\"dir\\\": \\\"$T/logs\\\"}}\" >$T/c.json; "
     "$CHECK --config $T/c.json",
     {"audit.dir: ", "/logs has what isn't this server's (\"syslog\")",
      "for example ", "/logs/sandglass"}},
    {"StateOfAnother",
     "mkdir $T/s; chown 12345 $T/s; $CHECK",
     {"state_dir: ", "/s belongs to uid 12345"}},
    {"StateBelowAnothers",
     "mkdir -p $T/o/s; chown 12345 $T/o; $D --check --cache-dir $T/c "
     "--state-dir $T/o/s",
     {"state_dir: ", "/o belongs to uid 12345", "give it to root"}},
    {"StateOpenToAll",
     "mkdir $T/s; chmod 777 $T/s; $CHECK",
     {"state_dir: everybody may write to ", "/s, ", "run chmod o-w "}},
    {"CacheOpenToAll",
     "mkdir $T/c; chmod 777 $T/c; $CHECK",
     {"cache_dir: everybody may write to "}},
    {"SocketWhereAllMayWrite",
     "mkdir $T/x; chmod 777 $T/x; $CHECK --listen unix:$T/x/sock",
     {"listen: everybody may write to ", "/x, "}},
    {"StateInProc",
     "$D --check --cache-dir $T/c --state-dir /proc/sandglass",
     {"state_dir: /proc is no place for files"}},
    {"CacheInSys",
     "$D --check --cache-dir /sys/sandglass --state-dir $T/s",
     {"cache_dir: /sys is no place for files"}},
    {"NoSecrets",
     "echo \"{\\\"egress\\\": {\\\"secrets_dir\\\": "
     "\\\"$T/none\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"egress.secrets_dir: ", "/none: No such file"}},
    {"NoAuthorities",
     "echo \"{\\\"egress\\\": {\\\"ca_file\\\": "
     "\\\"$T/none\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"egress.ca_file: ", "/none: No such file"}},
    {"NoCertificate",
     "echo x >$T/ca; echo \"{\\\"libraries\\\": {\\\"ca_file\\\": "
     "\\\"$T/ca\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"libraries.ca_file: ", "/ca has no certificate in PEM"}},
    {"BadCertificate",
     "printf -- \"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END "
     "CERTIFICATE-----\\n\" >$T/ca; echo \"{\\\"egress\\\": "
     "{\\\"ca_file\\\": \\\"$T/ca\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"egress.ca_file: ", "/ca has a certificate that isn"}},
    {"OnePortForTwo",
     "$CHECK --listen 127.0.0.1:47213 --metrics 47213",
     {"metrics.listen: 127.0.0.1:47213 is the address of listen, too"}},
    {"NoHelper",
     "$CHECK --spawner /bin/true",
     {"/bin/true is no sandglass-spawner ", "it says \"true (GNU coreutils) ",
      "set \"spawner\""}},
    {"AnothersHelper",
     "echo \"{\\\"egress\\\": {\\\"path\\\": \\\"${D%d}-spawner\\\"}}\" "
     ">$T/j; $CHECK --config $T/j",
     {" is no sandglass-egress ", "it says \"sandglass-spawner "}},
    {"NoMemoryForAnyProgram",
     "echo \"{\\\"admission\\\": {\\\"memory_budget\\\": "
     "\\\"64MiB\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"admission.memory_budget: 64 MiB is less than a program of profile "
      "default counts for (272 MiB)"}},
    {"StateIsAFile",
     "touch $T/s; $CHECK",
     {"state_dir: ", "/s is no directory"}},
    {"StateBelowAFile",
     "touch $T/f; $D --check --cache-dir $T/c --state-dir $T/f/s",
     {"state_dir: can't look at ", "/f/s: Not a directory"}},
    {"CacheReadOnly",
     "mkdir $T/c; mount -t tmpfs -o ro none $T/c; $CHECK",
     {"cache_dir: can't write to ", "/c: Read-only file system"}},
    {"AuditOfAnother",
     "mkdir $T/a; chown 12345 $T/a; echo \"{\\\"audit\\\": {\\\"dir\\\": "
     "\\\"$T/a\\\"}}\" >$T/j; $CHECK --config $T/j",
     {"audit.dir: ", "/a belongs to uid 12345"}},
    {"NoSocket",
     "touch $T/sock; $CHECK --listen unix:$T/sock",
     {"listen: ", "/sock is there and is no socket"}},
    {"NoAccount",
     "echo \"{\\\"user\\\": \\\"nobody-such\\\"}\" >$T/j; $CHECK --config $T/j",
     {"user: \"nobody-such\" is neither an account"}},
    {"NoPolicy", "$CHECK --policy-dir $T/p", {"/p/languages: can't be listed"}},
    {"NoSpawner",
     "$CHECK --spawner $T/none",
     {"there is no executable ", "/none; set \"spawner\""}},
    {"NoFile", "$D --check --config $T/none", {"/none: no such file"}},
    {"WrongKey",
     "echo \"{\\\"admission\\\": {\\\"max_running\\\": 0}}\" >$T/j; "
     "$CHECK --config $T/j",
     {"/j: /admission/max_running: 0 is out of range; it takes 1 to 2000",
      "docs/configuration.md"}},
    {"PortTaken",
     "python3 -c \"import socket, time; s = socket.create_server("
     "(\\\"127.0.0.1\\\", 0)); print(s.getsockname()[1], flush=True); "
     "time.sleep(60)\" >$T/port & "
     "P=$!; while kill -0 $P && ! [ -s $T/port ]; do sleep 0.1; done; "
     "$CHECK --listen 127.0.0.1:$(cat $T/port); E=$?; kill $P; exit $E",
     {"listen: can't listen on 127.0.0.1:", ": Address already in use"}},
};

class PlaceTest : public ::testing::TestWithParam<Place> {};

TEST_P(PlaceTest, IsOneLineWithAPage) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::string script = GetParam().script;
  const size_t at = script.find("$CHECK");
  if (at != std::string::npos) script.replace(at, 6, kCheck);
  const Said said = Script(script);
  EXPECT_EQ(said.status, 78) << said.lines;
  for (const char* word : GetParam().words) {
    EXPECT_THAT(said.lines, HasSubstr(word));
  }
  EXPECT_THAT(said.lines, HasSubstr(". See docs/"));
  // Of the spawner's place it is told before what runs do without it.
  std::vector<std::string> lines =
      absl::StrSplit(said.lines, '\n', absl::SkipEmpty());
  std::erase_if(lines, [](const std::string& line) {
    return absl::StrContains(line, " warning no_zygotes ");
  });
  EXPECT_THAT(lines, SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(All, PlaceTest, ::testing::ValuesIn(kPlaces),
                         [](const auto& each) { return each.param.name; });

TEST(PlaceCheck, PortsOfARunningDaemonAreNotChecked) {
  const TempDir dir;
  Config config;
  config.state_dir = dir.path();
  config.cache_dir = dir.Path("c");
  config.libraries.dir = "";
  config.listen = {.tcp_address = "192.0.2.1:1"};  // nobody's
  EXPECT_THAT(CheckPlaces(config, ::geteuid()), SizeIs(1));
  const auto lock = LockStateDir(config.state_dir);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT(CheckPlaces(config, ::geteuid()), IsEmpty());
}

TEST(PlaceCheck, AnotherDaemonIsFoundByItsSocketOrItsState) {
  const TempDir dir;
  Config config;
  config.state_dir = dir.Path("s");
  config.cache_dir = dir.Path("c");
  config.libraries.dir = "";
  config.listen = {.unix_path = dir.Path("sock")};
  ASSERT_EQ(MakeDirectories(config.state_dir), absl::OkStatus());
  EXPECT_THAT(CheckPlaces(config, ::geteuid()), IsEmpty());
  auto listener = ListenOnUnixSocket({.path = config.listen.unix_path,
                                      .owner = ::geteuid(),
                                      .group = ::getegid()});
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT(CheckPlaces(config, ::geteuid()),
              ElementsAre(HasSubstr("another server answers on ")));
  const auto lock = LockStateDir(config.state_dir);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT(CheckPlaces(config, ::geteuid()), IsEmpty());  // itself
  listener->reset();
  EXPECT_THAT(CheckPlaces(config, ::geteuid()),
              ElementsAre(HasSubstr("a sandglassd that doesn't listen on ")));
}

// Every key of the configuration with a value of another kind.
TEST(EveryKey, WithAValueOfAnotherKindIsNamed) {
  const auto defaults = LoadConfig({});
  ASSERT_TRUE(defaults.ok());
  const TempDir dir;
  const std::string file = dir.Path("config.json");
  const Json whole = Json::parse(ConfigToJson(*defaults));
  const Json flat = whole.flatten();
  const std::set<std::string> names = {"/user", "/socket/group",
                                       "/cgroup_parent"};
  int tried = 0;
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& wrong :
         {Json(Json::object({{"x", 1}})), Json(-1), Json("\x01?"), Json(1e300),
          Json::array({Json::array()}), Json(nullptr)}) {
      if (value.is_array() && wrong.is_array()) continue;
      Json changed = Json::object();
      changed[Json::json_pointer(pointer)] = wrong;
      std::ofstream(file) << changed.dump();
      const auto config = LoadConfig({.config_file = file});
      // Accounts, groups and control groups are looked for later.
      if (config.ok() && names.contains(pointer)) continue;
      ASSERT_FALSE(config.ok()) << changed;
      const std::string key = pointer.substr(0, pointer.find("/0"));
      EXPECT_THAT(std::string(config.status().message()),
                  HasSubstr(absl::StrCat("config.json: ", key)))
          << changed;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

}  // namespace
}  // namespace sandglass::server
