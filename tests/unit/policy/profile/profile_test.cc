#include "policy/profile/profile.h"

#include <fstream>
#include <ostream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/limits/limit_fields.h"
#include "policy/profile/profile_words.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr uint64_t kMiB = uint64_t{1} << 20;

absl::StatusOr<std::vector<Profile>> LoadText(std::string_view text,
                                              const std::string& file) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(directory.Path(file), std::string(text));
  return LoadProfiles(directory.path());
}

Profile MustLoad(std::string_view text) {
  auto profiles = LoadText(text, "p.json");
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  return profiles.ok() ? profiles->at(0) : Profile();
}

TEST(ShippedProfiles, DefaultHasTheProductsLimits) {
  const auto profiles =
      LoadProfiles(SANDGLASS_SOURCE_DIR "/policy/data/profiles");
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  const auto found =
      std::find_if(profiles->begin(), profiles->end(),
                   [](const auto& p) { return p.name == "default"; });
  ASSERT_NE(found, profiles->end());
  EXPECT_EQ(found->limits.wall_time, absl::Seconds(30));
  EXPECT_EQ(found->limits.cpu_time, absl::Seconds(30));
  EXPECT_EQ(found->limits.memory_bytes, 256 * kMiB);
  EXPECT_EQ(found->limits.cpu_millis, 1000u);
  EXPECT_EQ(found->limits.max_processes, 64u);
  EXPECT_EQ(found->limits.tmp_bytes, 64 * kMiB);
  EXPECT_EQ(found->limits.output_bytes, 1 * kMiB);
  EXPECT_EQ(found->limits, Limits())
      << "the file says what the code defaults to";
  EXPECT_EQ(found->maximum, found->limits) << "requests may only tighten";
  EXPECT_EQ(found->seccomp, "default");
  EXPECT_EQ(found->compile_cache, CompileSharing::kOwn);
  EXPECT_THAT(found->languages, IsEmpty());
}

TEST(ProfileCommands, AreDeniedWhereARuleGatesUnlessTheProfileSays) {
  const auto with = [](const std::string& severity, const std::string& more) {
    return MustLoad(
        R"({"description": "d", "rules": [{"id": "a", "severity": ")" +
        severity + R"(", "languages": ["python"], "modules": ["os"]}])" + more +
        "}");
  };
  EXPECT_EQ(MustLoad(R"({"description": "d"})").commands,
            SessionCommands::kAllow);
  EXPECT_EQ(with("note", "").commands, SessionCommands::kAllow);
  EXPECT_EQ(with("warn", "").commands, SessionCommands::kAllow);
  EXPECT_EQ(with("require_approval", "").commands, SessionCommands::kDeny);
  EXPECT_EQ(with("deny", "").commands, SessionCommands::kDeny);
  EXPECT_EQ(with("deny", R"(, "commands": "allow")").commands,
            SessionCommands::kAllow);
  EXPECT_EQ(with("note", R"(, "commands": "deny")").commands,
            SessionCommands::kDeny);
  const auto wrong =
      LoadText(R"({"description": "d", "commands": "ask"})", "p.json");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()),
              HasSubstr("/commands: expected \"allow\" or \"deny\""));
}

TEST(LoadProfiles, AFileCutShortAnywhereIsRefused) {
  std::ifstream file(SANDGLASS_SOURCE_DIR "/policy/data/profiles/default.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind('}');
  ASSERT_NE(end, std::string::npos);
  for (size_t size = 0; size <= end; size += 7) {
    EXPECT_FALSE(LoadText(text.substr(0, size), "p.json").ok()) << size;
  }
  EXPECT_TRUE(LoadText(text, "p.json").ok());
}

TEST(LoadProfiles, EmptyKeysMeanTheBuiltInLimits) {
  const Profile profile = MustLoad(R"({"description": "d"})");
  EXPECT_EQ(profile.name, "p");
  EXPECT_EQ(profile.limits, Limits());
  EXPECT_EQ(profile.maximum, Limits());
  EXPECT_EQ(profile.seccomp, "default");
  EXPECT_THAT(profile.seccomp_add, IsEmpty());
  EXPECT_EQ(profile.compile_cache, CompileSharing::kOwn);
}

TEST(LoadProfiles, MaximumFollowsTheLimitsWhereItIsSilent) {
  const Profile profile = MustLoad(R"({"description": "d",
    "limits": {"wall_time": "10s", "memory_bytes": "512MiB"},
    "maximum": {"wall_time": "5m"}})");
  EXPECT_EQ(profile.limits.wall_time, absl::Seconds(10));
  EXPECT_EQ(profile.maximum.wall_time, absl::Minutes(5));
  EXPECT_EQ(profile.maximum.memory_bytes, 512 * kMiB);
}

TEST(LoadProfiles, ReadsEveryKey) {
  const Profile profile = MustLoad(R"({"description": "d",
    "limits": {"wall_time": "1s", "cpu_time": "2s", "memory_bytes": "64MiB",
      "max_processes": 3, "cpu_millis": 500, "tmp_bytes": "1MiB",
      "workspace_bytes": "2MiB", "max_files": 100, "output_bytes": 1000,
      "output_total_bytes": 2000, "open_files": 99, "file_size_bytes": 8192},
    "languages": ["python"], "env": {"A": "b"}, "seccomp": "strict-1",
    "seccomp_add": ["debugging", "x-1"], "compile_cache": "shared"})");
  EXPECT_EQ(profile.limits, (Limits{.wall_time = absl::Seconds(1),
                                    .cpu_time = absl::Seconds(2),
                                    .memory_bytes = 64 * kMiB,
                                    .max_processes = 3,
                                    .cpu_millis = 500,
                                    .tmp_bytes = kMiB,
                                    .workspace_bytes = 2 * kMiB,
                                    .max_files = 100,
                                    .output_bytes = 1000,
                                    .output_total_bytes = 2000,
                                    .open_files = 99,
                                    .file_size_bytes = 8192}));
  EXPECT_THAT(profile.languages, ElementsAre("python"));
  EXPECT_THAT(profile.env, ElementsAre(Pair("A", "b")));
  EXPECT_EQ(profile.seccomp, "strict-1");
  EXPECT_THAT(profile.seccomp_add, ElementsAre("debugging", "x-1"));
  EXPECT_EQ(profile.compile_cache, CompileSharing::kShared);
  EXPECT_EQ(
      MustLoad(R"({"description": "d", "compile_cache": "off"})").compile_cache,
      CompileSharing::kOff);
}

TEST(LoadProfiles, DiskCapsAreReadAndToldInWords) {
  EXPECT_FALSE(MustLoad(R"({"description": "d"})").disk_io.any());
  EXPECT_FALSE(
      MustLoad(R"({"description": "d", "disk_io": {}})").disk_io.any());
  const Profile profile = MustLoad(R"({"description": "d", "disk_io": {
      "read_bytes_per_second": "10MiB", "write_bytes_per_second": 65536,
      "reads_per_second": 100, "writes_per_second": 50}})");
  EXPECT_EQ(profile.disk_io, (DiskCap{.read_bytes = 10 * kMiB,
                                      .write_bytes = 65536,
                                      .reads = 100,
                                      .writes = 50}));
  EXPECT_THAT(DescribeProfile(profile),
              Contains("Disk I/O, at most: reads 10 MiB/s and 100 "
                       "operations/s, writes 64 KiB/s and 50 operations/s."));
  EXPECT_THAT(DescribeProfile(profile, "no controller"),
              Contains(HasSubstr("Not in force on this host: no controller")));
  EXPECT_EQ(DiskCapWords({.write_bytes = kMiB}), "writes 1 MiB/s");
  EXPECT_THAT(DescribeProfile(MustLoad(R"({"description": "d"})")),
              Not(Contains(HasSubstr("Disk I/O"))));
}

TEST(LoadProfiles, TheImageIsTheHostsUnlessItIsNamed) {
  const Profile host = MustLoad(R"({"description": "d"})");
  EXPECT_EQ(host.image, "host");
  EXPECT_THAT(DescribeProfile(host), Not(Contains(HasSubstr("image"))));
  const Profile tiny = MustLoad(R"({"description": "d", "image": "tiny"})");
  EXPECT_EQ(tiny.image, "tiny");
  EXPECT_THAT(DescribeProfile(tiny),
              Contains(HasSubstr("see the image \"tiny\" and nothing of the "
                                 "host's /usr")));
}

struct RefusalCase {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.name; }

class RefusedProfile : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedProfile, IsReportedWithFileAndPointer) {
  const auto profiles = LoadText(GetParam().text, "p.json");
  ASSERT_FALSE(profiles.ok());
  EXPECT_EQ(profiles.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(profiles.status().message()),
              HasSubstr(std::string("/p.json: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    LoadProfiles, RefusedProfile,
    ::testing::Values(
        RefusalCase{"Syntax", "{", "parse error at line 1"},
        RefusalCase{"NoDescription", "{}", "/description: missing"},
        RefusalCase{"EmptyDescription", R"({"description": ""})",
                    "/description: is empty"},
        RefusalCase{"UnknownKey", R"({"description": "d", "limit": {}})",
                    "/limit: unknown key; did you mean \"limits\"?"},
        RefusalCase{"UnknownLimit",
                    R"({"description": "d", "limits": {"memory": 1}})",
                    "/limits/memory: unknown key"},
        RefusalCase{"UnknownMaximum",
                    R"({"description": "d", "maximum": {"wal_time": "1s"}})",
                    "/maximum/wal_time: unknown key; did you mean "
                    "\"wall_time\"?"},
        RefusalCase{"Duplicate",
                    R"({"description": "d", "limits":
                       {"open_files": 100, "open_files": 200}})",
                    "/limits/open_files: the key is given twice"},
        RefusalCase{"TimeAsNumber",
                    R"({"description": "d", "limits": {"wall_time": 30}})",
                    "/limits/wall_time: expected a duration"},
        RefusalCase{"ZeroTime",
                    R"({"description": "d", "limits": {"cpu_time": "0s"}})",
                    "/limits/cpu_time: \"0s\" is out of range; it takes 1ms"},
        RefusalCase{"TinyMemory",
                    R"({"description": "d", "limits": {"memory_bytes": "1M"}})",
                    "/limits/memory_bytes: 1 MiB is out of range"},
        RefusalCase{"ZeroProcesses",
                    R"({"description": "d", "limits": {"max_processes": 0}})",
                    "/limits/max_processes: 0 is out of range"},
        RefusalCase{"ProcessesOver32Bits",
                    R"({"description": "d",
                       "limits": {"max_processes": 4294967297}})",
                    "/limits/max_processes: 4294967297 is out of range"},
        RefusalCase{"OutputOverOneMessage",
                    R"({"description": "d", "limits": {"output_bytes": "7M"}})",
                    "/limits/output_bytes: 7 MiB is out of range"},
        RefusalCase{"DisksOverHalfTheMemory",
                    R"({"description": "d", "limits": {"tmp_bytes": "65M"}})",
                    "/limits/tmp_bytes: tmp_bytes (65 MiB) and workspace_bytes "
                    "(64 MiB) live in memory and together may take at most "
                    "half of memory_bytes, 128 MiB"},
        RefusalCase{"MaximumDisksOverHalfTheMemory",
                    R"({"description": "d",
                       "maximum": {"workspace_bytes": "70M"}})",
                    "/maximum/workspace_bytes: tmp_bytes"},
        RefusalCase{"DefaultAboveMaximum",
                    R"({"description": "d", "maximum": {"wall_time": "20s"}})",
                    "/maximum/wall_time: 20 s is below the default in /limits, "
                    "30 s"},
        RefusalCase{"LanguageSpelling",
                    R"({"description": "d", "languages": ["python", "C++"]})",
                    "/languages/1: expected a language's id"},
        RefusalCase{"LanguageTwice",
                    R"({"description": "d", "languages": ["go", "go"]})",
                    "/languages/1: \"go\" is given twice"},
        RefusalCase{"EnvName", R"({"description": "d", "env": {"A=B": "c"}})",
                    "/env/A=B: names match"},
        RefusalCase{"EnvNul",
                    R"({"description": "d", "env": {"A": "b\u0000"}})",
                    "/env/A: the value has a NUL"},
        RefusalCase{"DiskCapTooSmall",
                    R"({"description": "d",
                        "disk_io": {"read_bytes_per_second": 1000}})",
                    "/disk_io/read_bytes_per_second: "},
        RefusalCase{"DiskCapOfNone",
                    R"({"description": "d",
                        "disk_io": {"writes_per_second": 0}})",
                    "/disk_io/writes_per_second: "},
        RefusalCase{"DiskCapUnknown",
                    R"({"description": "d", "disk_io": {"read": "1MiB"}})",
                    "/disk_io/read: "},
        RefusalCase{"DiskCapType", R"({"description": "d", "disk_io": "1MiB"})",
                    "/disk_io: "},
        RefusalCase{"ImagePath", R"({"description": "d", "image": "../x"})",
                    "/image: expected an image's name"},
        RefusalCase{"SeccompPath", R"({"description": "d", "seccomp": "../x"})",
                    "/seccomp: expected a system call policy's name"},
        RefusalCase{"AdditionPath",
                    R"({"description": "d", "seccomp_add": ["a", "../x"]})",
                    "/seccomp_add/1: expected an addition's name"},
        RefusalCase{"AdditionTwice",
                    R"({"description": "d", "seccomp_add": ["a", "b", "a"]})",
                    "/seccomp_add/2: \"a\" is given twice"},
        RefusalCase{"AdditionsAreNoList",
                    R"({"description": "d", "seccomp_add": "debugging"})",
                    "/seccomp_add: "},
        RefusalCase{"AdditionIsNoText",
                    R"({"description": "d", "seccomp_add": [1]})",
                    "/seccomp_add/0: "},
        RefusalCase{"CompileCacheWord",
                    R"({"description": "d", "compile_cache": "all"})",
                    "/compile_cache: expected \"own\", \"shared\" or"},
        RefusalCase{"CompileCacheType",
                    R"({"description": "d", "compile_cache": true})",
                    "/compile_cache: "}),
    [](const auto& test) { return test.param.name; });

TEST(LoadProfiles, FileNameThatIsNoProfileNameIsRefused) {
  const auto profiles = LoadText(R"({"description": "d"})", "My Profile.json");
  EXPECT_THAT(std::string(profiles.status().message()),
              HasSubstr("/: the file's name is the profile's"));
}

TEST(LoadProfiles, ProblemsOfAllFilesAreTold) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(directory.Path("a.json"), "{");
  sandglass::testing::WriteFile(directory.Path("b.json"), "{}");
  EXPECT_THAT(
      std::string(LoadProfiles(directory.path()).status().message()),
      AllOf(HasSubstr("/a.json: "), HasSubstr("\n"), HasSubstr("/b.json: ")));
}

TEST(LoadProfiles, MissingDirectoryIsNotFound) {
  EXPECT_EQ(LoadProfiles("/no/such").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(LimitFields, StandInTheOrderOfTheirKinds) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kLimitFields.size(); ++i) {
    const LimitField& field = kLimitFields[i];
    EXPECT_EQ(static_cast<size_t>(field.kind), i + 1);
    EXPECT_EQ(&FieldOf(field.kind), &field);
    EXPECT_TRUE(names.insert(LimitName(field.kind)).second);
    EXPECT_LT(field.min, field.max);
  }
}

TEST(LimitFields, GetGivesWhatSetTook) {
  for (const LimitField& field : kLimitFields) {
    Limits limits;
    for (uint64_t value : {field.min, field.max}) {
      field.set(limits, value);
      EXPECT_EQ(field.get(limits), value) << LimitName(field.kind);
    }
    // Nothing else changed.
    field.set(limits, field.get(Limits()));
    EXPECT_EQ(limits, Limits()) << LimitName(field.kind);
  }
}

TEST(CheckLimits, BuiltInLimitsAreFine) {
  EXPECT_THAT(CheckLimits(Limits(), "limits"), IsEmpty());
}

TEST(CheckLimits, NamesEachZeroUnderThePrefix) {
  const Limits zero = {absl::ZeroDuration(), absl::ZeroDuration()};
  Limits limits = zero;
  for (const LimitField& field : kLimitFields) field.set(limits, 0);
  const auto problems = CheckLimits(limits, "limits");
  ASSERT_THAT(problems, SizeIs(kLimitFields.size()));
  EXPECT_THAT(problems,
              Each(Field(&FieldViolation::field, StartsWith("limits."))));
  EXPECT_THAT(problems, Each(Field(&FieldViolation::description,
                                   HasSubstr("too small to work"))));
}

TEST(CheckLimits, PointerPrefixMakesPointers) {
  EXPECT_EQ(CheckLimits({.open_files = 1}, "/limits").at(0).field,
            "/limits/open_files");
}

TEST(CheckLimits, NegativeAndInfiniteTimesAreRefused) {
  EXPECT_EQ(CheckLimits({.wall_time = -absl::Seconds(1)}, "l").at(0).field,
            "l.wall_time");
  EXPECT_THAT(CheckLimits({.cpu_time = absl::InfiniteDuration()}, "l")
                  .at(0)
                  .description,
              HasSubstr("too large"));
}

TEST(CheckLimits, DiskCapsThatOverflowTogetherAreRefused) {
  const uint64_t huge = FieldOf(LimitKind::kTmpBytes).max;
  EXPECT_THAT(CheckLimits({.tmp_bytes = huge, .workspace_bytes = huge}, "l"),
              SizeIs(1));
}

}  // namespace
}  // namespace sandglass::policy
