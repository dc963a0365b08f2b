#include "server/session/kernel_protocol.h"

#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr auto kJson = policy::KernelRecipe::Commands::kJson;
constexpr auto kBytes = policy::KernelRecipe::Commands::kBytes;

template <typename Event>
Event Parsed(const std::string& line) {
  const absl::StatusOr<KernelEvent> event = ParseKernelEvent(line);
  EXPECT_TRUE(event.ok()) << event.status();
  if (!event.ok() || !std::holds_alternative<Event>(*event)) {
    ADD_FAILURE() << "is another event: " << line;
    return Event();
  }
  return std::get<Event>(*event);
}

TEST(RunCommand, IsOneLineWithAllOfTheCell) {
  const std::string line = RunCommand(
      kJson, 7, "print(\"a\")\nb", std::string("in\0put", 6), {.rich = true});
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["op"], "run");
  EXPECT_EQ(json["id"], 7);
  EXPECT_EQ(json["code"], "print(\"a\")\nb");
  EXPECT_EQ(json["stdin"], "aW4AcHV0");
  EXPECT_EQ(json["rich"], true);
  EXPECT_FALSE(json.contains("last"));
  const auto last =
      nlohmann::json::parse(RunCommand(kJson, 1, "", "", {.last = true}));
  EXPECT_FALSE(last.contains("stdin"));
  EXPECT_EQ(last["last"], true);
}

TEST(RunCommand, InBytesSaysItsLengths) {
  EXPECT_EQ(RunCommand(kBytes, 7, "echo\n\xff", std::string("in\0put", 6), {}),
            "run 7 6 8 0\necho\n\xff"
            "aW4AcHV0");
  EXPECT_EQ(RunCommand(kBytes, 8, "", "", {}), "run 8 0 0 0\n");
  EXPECT_EQ(RunCommand(kBytes, 8, "", "", {.last = true}),
            "run 8 0 0 0 last\n");
  EXPECT_EQ(RunCommand(kBytes, 8, "x", "", {}, {"a", "", "b"}),
            "run 8 1 0 8\nxYQAAYgA=");
}

TEST(KernelCommands, ACellMayHaveArguments) {
  const auto command = nlohmann::json::parse(
      RunCommand(kJson, 7, "1", "", {.rich = true}, {"a b", "\"\n"}));
  EXPECT_EQ(command["args"], nlohmann::json({"a b", "\"\n"}));
  EXPECT_EQ(command["id"], 7);
}

TEST(RunCommand, LeavesOutAByteOrderMark) {
  EXPECT_EQ(RunCommand(kBytes, 7,
                       "\xEF\xBB\xBF"
                       "x\xEF\xBB\xBF",
                       "", {.rich = true}),
            "run 7 4 0 0\nx\xEF\xBB\xBF");
  EXPECT_EQ(nlohmann::json::parse(RunCommand(kJson, 1,
                                             "\xEF\xBB\xBF"
                                             "x",
                                             "", {.rich = true}))["code"],
            "x");
}

TEST(RunCommand, CodeNeedNotBeText) {
  const auto json =
      nlohmann::json::parse(RunCommand(kJson, 1, "a\xff", "", {}));
  EXPECT_EQ(json["code"], "a\xef\xbf\xbd");
}

TEST(KernelEvents, EachKindIsParsed) {
  EXPECT_EQ(Parsed<KernelReady>(R"({"ev":"ready","pid":12})").pid, 12);
  const auto done = Parsed<KernelDone>(
      R"({"ev":"done","id":3,"status":"ok","exit_code":4,"count":9})");
  EXPECT_EQ(done.cell, 3u);
  EXPECT_EQ(done.exit_code, 4);
  const auto error = Parsed<KernelError>(
      R"({"ev":"error","id":3,"name":"E","value":"v","traceback":"t"})");
  EXPECT_EQ(error.words.name, "E");
  EXPECT_EQ(error.words.traceback, "t");
  EXPECT_EQ(Parsed<KernelClear>(R"({"ev":"clear","id":3,"wait":true})").cell,
            3u);
  EXPECT_EQ(
      Parsed<KernelDropped>(R"({"ev":"dropped","id":3,"count":2,"bytes":100})")
          .bytes,
      100u);
}

TEST(KernelEvents, AValueComesInItsTypesPlainTextFirst) {
  const auto display = Parsed<KernelDisplay>(
      R"({"ev":"display","id":1,"kind":"result","metadata":{},"data":{
          "application/json":{"a":[1,2]},"image/png":"iVBORw==",
          "image/svg+xml":"<svg/>","text/html":"<b>","text/plain":"x"}})");
  EXPECT_TRUE(display.output.is_value);
  EXPECT_FALSE(display.waits);
  EXPECT_THAT(
      display.output.data,
      ElementsAre(Pair("text/plain", "x"),
                  Pair("application/json", R"({"a":[1,2]})"),
                  Pair("image/png", "\x89PNG"), Pair("image/svg+xml", "<svg/>"),
                  Pair("text/html", "<b>")));
}

TEST(KernelEvents, MalformedEventsAreRefused) {
  for (const char* line : {
           "",
           "null",
           "[]",
           "{",
           "{}",
           R"({"ev":7})",
           R"({"ev":"none"})",
           R"({"ev":"ready"})",
           R"({"ev":"ready","pid":-1})",
           R"({"ev":"ready","pid":99999999})",
           R"({"ev":"ready","pid":"1"})",
           R"({"ev":"done","id":1,"exit_code":256,"count":1})",
           R"({"ev":"done","id":1.5,"exit_code":0,"count":1})",
           R"({"ev":"done","id":-1,"exit_code":0})",
           R"({"ev":"error","id":1,"name":"a","value":1,"traceback":""})",
           R"({"ev":"display","id":1,"kind":"result"})",
           R"({"ev":"display","id":1,"kind":"result","data":[]})",
           "{\"ev\":\"\xff\"}",
       }) {
    SCOPED_TRACE(line);
    EXPECT_FALSE(ParseKernelEvent(line).ok());
  }
}

TEST(KernelEvents, AnInvalidValueIsLeftOutAlone) {
  const auto display = Parsed<KernelDisplay>(
      R"({"ev":"display","id":1,"kind":"x","data":{"":"x","a\nb":"x",
          "image/png":"not base64!","text/plain":"kept","text/html":1,
          "application/x-thing":"*","\u00e4/b":"x"}})");
  EXPECT_THAT(display.output.data, ElementsAre(Pair("text/plain", "kept")));
  EXPECT_EQ(display.left_out, 6u);
  nlohmann::json many = {
      {"ev", "display"}, {"id", 1}, {"kind", "x"}, {"data", {}}};
  for (int i = 0; i < 40; ++i) {
    many["data"]["text/x-" + std::to_string(i)] = "v";
  }
  EXPECT_EQ(Parsed<KernelDisplay>(many.dump()).left_out, 8u);
}

TEST(KernelEvents, NestedValuesComeAsTheyWere) {
  for (const char* json :
       {"null", "true", "-1", "18446744073709551615", "0.5", R"("a\"\n,")",
        "[]", "{}", "[[],{},[1,2]]", R"({"b":{"a":[null,"x,"]},"":0})"}) {
    SCOPED_TRACE(json);
    const auto display = Parsed<KernelDisplay>(absl::StrCat(
        R"({"metadata":{"data":{"text/plain":"y"}},"data":{"a/b":[)", json,
        R"(],"text/html":{"a":[1]},"application/json": )", json,
        R"(},"id":1,"kind":"x","ack":true,"ev":"display"})"));
    EXPECT_THAT(display.output.data,
                ElementsAre(Pair("application/json", json)));
    EXPECT_EQ(display.left_out, 2u);
    EXPECT_TRUE(display.waits);
  }
}

TEST(KernelEvents, ManySmallValuesTakeNoMoreRoomThanTheirText) {
  const auto peak_kib = [] {
    struct rusage usage = {};
    EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
  };
  constexpr size_t kValues = kMaxEventBytes / 8;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // They keep what was freed, and more around all there is.
  constexpr int64_t kMaxGrownKib = int64_t{4} << 20;
#else
  constexpr int64_t kMaxGrownKib = 8 * (kMaxEventBytes >> 10);
#endif
  for (const char* value : {"{}", "[]", "0", R"({"":0})"}) {
    for (const char* begin :
         {R"({"data":{"application/json":[)", R"({"metadata":[)"}) {
      SCOPED_TRACE(value);
      std::string line = begin;
      for (size_t i = 0; i < kValues; ++i) absl::StrAppend(&line, value, ",");
      line += "0]}";
      const int64_t before = peak_kib();
      EXPECT_FALSE(ParseKernelEvent(line).ok());
      EXPECT_LT(peak_kib() - before, kMaxGrownKib);
    }
  }
}

TEST(KernelEvents, DepthAndLengthAreBounded) {
  const std::string deep = R"({"ev":"display","id":1,"kind":"result","data":)"
                           R"({"application/json":)" +
                           std::string(200'000, '[') +
                           std::string(200'000, ']') + "}}";
  EXPECT_FALSE(ParseKernelEvent(deep).ok());
  const auto error = Parsed<KernelError>(
      R"({"ev":"error","id":3,"name":"E","value":"v","traceback":")" +
      std::string(kMaxErrorBytes, 'x') + R"(the end"})");
  EXPECT_THAT(error.words.traceback, SizeIs(kMaxErrorBytes));
  EXPECT_EQ(error.words.traceback.substr(kMaxErrorBytes - 7), "the end");
}

TEST(KernelLines, LinesAreSplitHoweverTheyAreCut) {
  KernelLines lines;
  EXPECT_EQ(lines.Next(), std::nullopt);
  EXPECT_TRUE(lines.Append("a"));
  EXPECT_EQ(lines.Next(), std::nullopt);
  EXPECT_TRUE(lines.Append("b\nc\n\nd"));
  EXPECT_EQ(lines.Next(), "ab");
  EXPECT_EQ(lines.Next(), "c");
  EXPECT_EQ(lines.Next(), "");
  EXPECT_EQ(lines.Next(), std::nullopt);
  EXPECT_TRUE(lines.Append("\n"));
  EXPECT_EQ(lines.Next(), "d");
}

TEST(KernelLines, AnEndlessLineIsRefused) {
  KernelLines lines;
  const std::string piece(1 << 20, 'x');
  bool fits = true;
  for (size_t i = 0; fits && i <= kMaxEventBytes / piece.size(); ++i) {
    fits = lines.Append(piece);
    EXPECT_EQ(lines.Next(), std::nullopt);
  }
  EXPECT_FALSE(fits);
}

}  // namespace
}  // namespace sandglass::server
