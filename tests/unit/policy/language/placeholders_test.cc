#include "policy/language/placeholders.h"

#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/profile/profile.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

PlaceholderValues Values() {
  PlaceholderValues values;
  values.source = "main.toy";
  values.sources = {"main.toy", "lib/a b.toy"};
  values.prepared = "/var/cache/sandglass/toy-1";
  values.limits.memory_bytes = 256 * kMiB;
  values.limits.cpu_millis = 1500;
  values.heap_percent = 60;
  return values;
}

TEST(Placeholders, PlaceholdersAreReplacedByTheirValues) {
  EXPECT_EQ(Expand("${source}", Values()), "main.toy");
  EXPECT_EQ(Expand("-I${prepared}/x", Values()),
            "-I/var/cache/sandglass/toy-1/x");
  EXPECT_EQ(Expand("${memory_mib}", Values()), "256");
  EXPECT_EQ(Expand("-Xmx${heap_mib}m", Values()), "-Xmx153m");
  EXPECT_EQ(Expand("${cpus}${cpus}", Values()), "22");
  EXPECT_EQ(Expand("$source $$ {source}", Values()), "$source $$ {source}");
}

TEST(Placeholders, ProcessorsAreRoundedUpAndHeapsAreNeverNothing) {
  PlaceholderValues values = Values();
  values.limits.cpu_millis = 10;
  values.limits.memory_bytes = 1;
  EXPECT_EQ(Expand("${cpus} ${heap_mib}", values), "1 1");
}

TEST(Placeholders, SourcesAreAWordEach) {
  EXPECT_THAT(
      ExpandCommand({"/bin/cc", "${sources}", "-o", "${source}.o"}, Values()),
      ElementsAre("/bin/cc", "main.toy", "lib/a b.toy", "-o", "main.toy.o"));
}

TEST(Placeholders, AJvmsNetworkIsAWordEachOrNone) {
  PlaceholderValues values = Values();
  EXPECT_THAT(ExpandCommand({"/bin/java", "${jvm_network}", "A"}, values),
              ElementsAre("/bin/java", "A"));
  values.jvm_network = {"-Da=b", "-Dc=d"};
  EXPECT_THAT(ExpandCommand({"/bin/java", "${jvm_network}", "A"}, values),
              ElementsAre("/bin/java", "-Da=b", "-Dc=d", "A"));
}

// What a value holds is not looked at again.
TEST(Placeholders, ValuesAreNotExpanded) {
  PlaceholderValues values = Values();
  values.source = "${prepared}";
  EXPECT_EQ(Expand("${source}", values), "${prepared}");
}

struct TextCase {
  const char* name;
  const char* text;
  PlaceholderUse use;
  const char* message;
};
void PrintTo(const TextCase& c, std::ostream* out) { *out << c.name; }

class RefusedPlaceholder : public ::testing::TestWithParam<TextCase> {};

TEST_P(RefusedPlaceholder, IsReported) {
  EXPECT_THAT(CheckPlaceholders(GetParam().text, GetParam().use),
              HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Placeholders, RefusedPlaceholder,
    ::testing::Values(
        TextCase{"Unknown", "a${output}", PlaceholderUse::kCommand,
                 "there is no \"${output}\" here"},
        TextCase{"SecondUnknown", "${source}${x}", PlaceholderUse::kCommand,
                 "there is no \"${x}\""},
        TextCase{"Open", "${source", PlaceholderUse::kCommand, "no \"}\""},
        TextCase{"PartOfAWord", "x${sources}", PlaceholderUse::kCommand,
                 "word of its own"},
        TextCase{"NetworkAsAPart", "-D${jvm_network}", PlaceholderUse::kCommand,
                 "word of its own"},
        TextCase{"NetworkInEnv", "${jvm_network}", PlaceholderUse::kWithSource,
                 "there is no \"${jvm_network}\""},
        TextCase{"NetworkOfNothing", "${jvm_network}",
                 PlaceholderUse::kWithoutCode,
                 "there is no \"${jvm_network}\""},
        TextCase{"SourceAhead", "${source}", PlaceholderUse::kAhead,
                 "there are: ${jvm_network}, ${prepared}"},
        TextCase{"SourcesInEnv", "${sources}", PlaceholderUse::kWithSource,
                 "there is no \"${sources}\""},
        TextCase{"SourceOfNothing", "${source}", PlaceholderUse::kWithoutCode,
                 "there is no \"${source}\""},
        TextCase{"Nested", "${${source}}", PlaceholderUse::kCommand,
                 "there is no \"${${source}\""}),
    [](const auto& test) { return test.param.name; });

TEST(LimitFloors, RaiseWhatIsLowerAndNothingElse) {
  Limits limits;
  const Limits before = limits;
  RaiseTo({{LimitKind::kMemory, 512 * kMiB}, {LimitKind::kProcesses, 8}},
          limits);
  EXPECT_EQ(limits.memory_bytes, 512 * kMiB);
  EXPECT_EQ(limits.max_processes, before.max_processes);
  EXPECT_EQ(limits.wall_time, before.wall_time);
}

TEST(LimitFloors, RaiseAProfilesMaximumToo) {
  Profile profile;
  profile.name = "p";
  const Profile raised = RaisedTo({{LimitKind::kMemory, 512 * kMiB}}, profile);
  EXPECT_EQ(raised.name, "p");
  EXPECT_EQ(raised.limits.memory_bytes, 512 * kMiB);
  EXPECT_EQ(raised.maximum.memory_bytes, 512 * kMiB);
}

TEST(LimitFloors, HigherOfTakesEachLimitsHigherOne) {
  Limits a, b;
  a.memory_bytes = 2 * kMiB;
  b.memory_bytes = kMiB;
  a.wall_time = absl::Seconds(1);
  b.wall_time = absl::Seconds(2);
  const Limits higher = HigherOf(a, b);
  EXPECT_EQ(higher.memory_bytes, 2 * kMiB);
  EXPECT_EQ(higher.wall_time, absl::Seconds(2));
}

}  // namespace
}  // namespace sandglass::policy
