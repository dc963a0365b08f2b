#include "sandbox/host/host_helpers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

// The layer of a host that has nothing against it but what is given.
Layer Judged(const std::string& name, const HelperSettings& settings) {
  for (const Layer& layer : JudgeHelpers(settings)) {
    EXPECT_FALSE(layer.required) << layer.name;
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name;
  return {};
}

Layer Crashes(const std::string& pattern, bool can_forbid) {
  return Judged("core-limit", {.kernel = "6.1.0",
                               .core_pattern = pattern,
                               .can_forbid_crash_helper = can_forbid});
}

Layer Modules(const std::string& kernel,
              const std::optional<std::string>& modprobe) {
  return Judged("module-search", {.kernel = kernel, .modprobe = modprobe});
}

TEST(HostHelpers, ALimitOfOneStopsWhatIsStartedForACrash) {
  EXPECT_EQ(Crashes("|/usr/lib/helper %P", true).state, LayerState::kInForce);
  EXPECT_EQ(Crashes("core", true).state, LayerState::kInForce);
}

TEST(HostHelpers, WithoutRoomForTheLimitThePatternIsNamed) {
  const Layer layer = Crashes("|/usr/lib/helper %P", false);
  EXPECT_EQ(layer.state, LayerState::kNotAvailable);
  EXPECT_THAT(layer.detail, HasSubstr("it is \"|/usr/lib/helper %P\" now"));
  // Another may come at any time.
  EXPECT_EQ(Crashes("core", false).state, LayerState::kNotAvailable);
}

TEST(HostHelpers, ASocketIsToldOfCrashesWhateverTheLimit) {
  const Layer layer = Crashes("@/run/crashes", true);
  EXPECT_EQ(layer.state, LayerState::kNotAvailable);
  EXPECT_THAT(layer.detail, HasSubstr("\"@/run/crashes\""));
}

TEST(HostHelpers, OldKernelsLookForModules) {
  for (const char* kernel :
       {"5.15.0-1", "6.1.0-56-cloud-amd64", "6.13.9", "6", "nonsense", ""}) {
    const Layer layer = Modules(kernel, "/sbin/modprobe");
    EXPECT_EQ(layer.state, LayerState::kNotAvailable) << kernel;
    EXPECT_THAT(layer.detail, HasSubstr("starts /sbin/modprobe,"));
    EXPECT_EQ(Modules(kernel, "").state, LayerState::kInForce);
    EXPECT_EQ(Modules(kernel, std::nullopt).state, LayerState::kInForce);
  }
}

TEST(HostHelpers, NewKernelsDoNot) {
  for (const char* kernel :
       {"6.14.0", "6.14-rc1", "6.18.44-fc", "7.0", "10.2"}) {
    EXPECT_EQ(Modules(kernel, "/sbin/modprobe").state, LayerState::kInForce)
        << kernel;
  }
}

// What is read here is what the host says, as far as it has it.
TEST(HostHelpers, ReadsTheSysctls) {
  HelperSettings settings{.kernel = "6.1", .core_pattern = "unread"};
  ReadHelperSysctls(settings);
  EXPECT_NE(settings.core_pattern, "unread");
  EXPECT_EQ(settings.core_pattern.find('\n'), std::string::npos);
  EXPECT_EQ(settings.kernel, "6.1");
}

}  // namespace
}  // namespace sandglass::sandbox
