#include "client/service/up_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::GetServerInfoResponse Info() {
  v1::GetServerInfoResponse info;
  info.set_version("1.2.3");
  info.add_isolation()->set_state(v1::LAYER_STATE_IN_FORCE);
  v1::LanguageInfo& python = *info.add_languages();
  python.set_id("python");
  python.set_available(true);
  v1::LanguageInfo& java = *info.add_languages();
  java.set_id("java");
  java.set_preparing(true);
  java.set_unavailable_reason("is being prepared");
  v1::LanguageInfo& go = *info.add_languages();
  go.set_id("go");
  go.set_unavailable_reason("Go is not installed (package golang-go)");
  return info;
}

UpWords Words() {
  return {
      .address = "unix:/run/x.sock", .users = "root", .program = "sandglass"};
}

TEST(UpText, SaysWhereWhatAndHowToGoOn) {
  const std::string text = UpText(Info(), Words());
  EXPECT_EQ(text,
            "sandglassd 1.2.3 is up\n"
            "  listens     unix:/run/x.sock, for root\n"
            "  isolation   all 1 layers in force\n"
            "  languages   python\n"
            "              being prepared, slower until then: java\n"
            "  not there   go: Go is not installed (package golang-go)\n"
            "  try         sandglass run -l python -c 'print(6 * 7)'\n"
            "  look        sandglass doctor; sandglass logs\n"
            "  stop        sandglass down\n");
}

TEST(UpText, ALayerThatIsMissingIsNamed) {
  v1::GetServerInfoResponse info = Info();
  v1::IsolationLayer& layer = *info.add_isolation();
  layer.set_name("landlock");
  layer.set_state(v1::LAYER_STATE_EXCUSED);
  EXPECT_THAT(UpText(info, Words()),
              HasSubstr("isolation   1 layers in force, without landlock\n"));
}

TEST(UpText, AnUnusualAddressIsPartOfEachCommand) {
  UpWords words = Words();
  words.is_usual = false;
  const std::string text = UpText(Info(), words);
  EXPECT_THAT(text, HasSubstr("sandglass --address unix:/run/x.sock run"));
}

TEST(UpText, ColoursAreForTerminalsAlone) {
  UpWords words = Words();
  EXPECT_THAT(UpText(Info(), words), Not(HasSubstr("\x1b")));
  words.colours = true;
  EXPECT_THAT(UpText(Info(), words), HasSubstr("\x1b[1msandglassd 1.2.3"));
}

TEST(UpText, NothingOfTheDaemonsReachesTheTerminalAsItIs) {
  v1::GetServerInfoResponse info = Info();
  info.set_version("1\x1b[2J");
  info.mutable_languages(2)->set_unavailable_reason("\x1b]0;x\a");
  EXPECT_THAT(UpText(info, Words()), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sandglass::client
