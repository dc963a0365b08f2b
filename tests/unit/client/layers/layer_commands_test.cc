#include "client/layers/layer_commands.h"

#include <string>
#include <utility>
#include <vector>

#include "client/cli/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Options>
Options Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "layers");
  const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments));
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  const auto* layers = std::get_if<LayersOptions>(&parsed.command->command);
  EXPECT_NE(layers, nullptr);
  const auto* options =
      layers == nullptr ? nullptr : std::get_if<Options>(layers);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? Options() : *options;
}

std::string Refused(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "layers");
  const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments));
  EXPECT_FALSE(parsed.command.has_value());
  EXPECT_NE(parsed.exit_code, 0);
  return parsed.text;
}

TEST(LayerCommandLineTest, WithoutACommandItLists) {
  EXPECT_FALSE(Parse<ListLayersOptions>({}).json);
  EXPECT_TRUE(Parse<ListLayersOptions>({"--json"}).json);
  EXPECT_EQ(Parse<ListLayersOptions>({"list", "-l", "py"}).language, "py");
}

TEST(LayerCommandLineTest, TakesWhatToBuild) {
  const BuildLayerOptions options = Parse<BuildLayerOptions>(
      {"build", "python", "six==1.16.0", "requests[socks]", "--profile", "p"});
  EXPECT_EQ(options.language, "python");
  EXPECT_THAT(options.libraries, ElementsAre("six==1.16.0", "requests[socks]"));
  EXPECT_EQ(options.profile, "p");
  EXPECT_EQ(options.lock_file, std::nullopt);
  EXPECT_FALSE(options.quiet);
  EXPECT_THAT(Parse<BuildLayerOptions>({"build", "js", "lodash@^4"}).libraries,
              ElementsAre("lodash@^4"));
}

TEST(LayerCommandLineTest, ALockWillDoWithoutNames) {
  const BuildLayerOptions options = Parse<BuildLayerOptions>(
      {"build", "js", "--library-lock", "package-lock.json", "-q"});
  EXPECT_THAT(options.libraries, IsEmpty());
  EXPECT_EQ(options.lock_file, "package-lock.json");
  EXPECT_TRUE(options.quiet);
  EXPECT_THAT(Refused({"build", "js"}),
              HasSubstr("give a LIBRARY or --library-lock"));
}

TEST(LayerCommandLineTest, RemovesOneOrMore) {
  EXPECT_THAT(Parse<RemoveLayersOptions>({"rm", "01234567", "89abcdef"}).ids,
              ElementsAre("01234567", "89abcdef"));
  EXPECT_THAT(Refused({"rm"}), HasSubstr("LAYER_ID"));
}

TEST(LayersTextTest, HasALineForEachAndASum) {
  v1::ListLayersResponse layers;
  v1::Layer& layer = *layers.add_layers();
  layer.set_layer_id("0123456789abcdef0123456789abcdef");
  layer.set_language("python");
  layer.add_sets("six==1.16.0");
  layer.add_sets("six");
  layer.set_bytes(2 << 20);
  layer.set_files(12);
  layer.set_in_use(true);
  layers.set_bytes(2 << 20);
  layers.set_max_bytes(uint64_t{8} << 30);
  const std::string text = LayersText(layers);
  EXPECT_THAT(text, HasSubstr("0123456789abcdef  python"));
  EXPECT_THAT(text, HasSubstr("six==1.16.0 | six"));
  EXPECT_THAT(text, HasSubstr("1 layer; all: 2 MiB of at most 8 GiB\n"));
}

TEST(LayersTextTest, ShowsNoControlCharacters) {
  v1::ListLayersResponse layers;
  layers.add_layers()->add_sets("a\x1b[31m");
  EXPECT_THAT(LayersText(layers), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sandglass::client
