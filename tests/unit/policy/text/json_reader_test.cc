#include "policy/text/json_reader.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// The message of `status` with abseil's view made a std::string.
std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

JsonDocument MustParse(std::string_view text) {
  absl::StatusOr<JsonDocument> document = JsonDocument::Parse(text, "f.json");
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) std::abort();
  return *std::move(document);
}

struct SyntaxCase {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const SyntaxCase& c, std::ostream* out) { *out << c.name; }

class RefusedSyntax : public ::testing::TestWithParam<SyntaxCase> {};

TEST_P(RefusedSyntax, IsReportedWithFileAndCause) {
  const absl::StatusOr<JsonDocument> document =
      JsonDocument::Parse(GetParam().text, "f.json");
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(document.status()),
              AllOf(StartsWith("f.json: "), HasSubstr(GetParam().message),
                    Not(HasSubstr("json.exception"))));
}

INSTANTIATE_TEST_SUITE_P(
    JsonDocument, RefusedSyntax,
    ::testing::Values(
        SyntaxCase{"Empty", "", "line 1, column 1"},
        SyntaxCase{"OnlyAComment", "// nothing\n", "line 2"},
        SyntaxCase{"HashComment", "{}\n# no", "line 2, column 1"},
        SyntaxCase{"OpenComment", "{} /* no end", "missing closing '*/'"},
        SyntaxCase{"TrailingComma", "{\n \"a\": 1,\n}", "line 3, column 1"},
        SyntaxCase{"TwoRoots", "{}{}", "line 1, column 3"},
        SyntaxCase{"SingleQuotes", "{'a': 1}", "line 1, column 2"},
        SyntaxCase{"CutShort", "{\"a\": [1, ", "unexpected end of input"},
        SyntaxCase{"RootList", "[]", "/: expected an object"},
        SyntaxCase{"RootNumber", "5", "/: expected an object"},
        SyntaxCase{"NotUtf8", "{\"a\": \"\xff\xfe\"}", "UTF-8"},
        SyntaxCase{"OverlongUtf8", "{\"a\": \"\xc0\xaf\"}", "UTF-8"},
        SyntaxCase{"Nul", std::string("{}\0 garbage", 11),
                   "NUL byte at offset 2"},
        SyntaxCase{"HugeNumber", "{\"a\": 1e999}", "number overflow"},
        SyntaxCase{"DuplicateAtRoot", "{\"a\": 1, \"a\": 1}",
                   "/a: the key is given twice"},
        SyntaxCase{"DuplicateBelow",
                   R"({"x": [1, {"b/c": {"d": 1, "e": 2, "d": 3}}]})",
                   "/x/1/b~1c/d: the key is given twice"},
        SyntaxCase{"DuplicateByEscape", R"({"a": 1, "\u0061": 2})",
                   "/a: the key is given twice"},
        SyntaxCase{
            "TooDeep",
            "{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}",
            "more than 32 levels deep"},
        SyntaxCase{"TooLarge", "{}" + std::string(JsonDocument::kMaxBytes, ' '),
                   "more than 1048576 bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(JsonDocument, AcceptsBothKindsOfComment) {
  JsonDocument document = MustParse("// one\n{ /* two */ \"a\": \"//no\" }");
  EXPECT_EQ(document.root().String("a"), "//no");
  EXPECT_TRUE(document.Finish().ok());
}

TEST(JsonDocument, SameKeyInDifferentObjectsIsNoDuplicate) {
  JsonDocument document = MustParse(R"({"a": {"k": 1}, "b": {"k": 2}})");
  EXPECT_EQ(document.root().Object("a").Unsigned("k"), 1u);
  EXPECT_EQ(document.root().Object("b").Unsigned("k"), 2u);
  EXPECT_TRUE(document.Finish().ok());
}

TEST(JsonDocument, MissingFileIsNotFound) {
  const auto document = JsonDocument::ReadFile("/no/such/file.json");
  EXPECT_EQ(document.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(document.status()), HasSubstr("/no/such/file.json"));
}

TEST(JsonDocument, DirectoryIsRefused) {
  EXPECT_EQ(JsonDocument::ReadFile("/tmp").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(JsonDocument, FifoIsRefusedWithoutWaitingForAWriter) {
  const sandglass::testing::TempDir directory;
  const std::string path = directory.Path("fifo.json");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(Message(JsonDocument::ReadFile(path).status()),
              HasSubstr("not a regular file"));
}

TEST(JsonDocument, ReadsAFileAndNamesItInErrors) {
  const sandglass::testing::TempDir directory;
  const std::string path = directory.Path("read.json");
  std::ofstream(path) << "{ \"a\": 1 } // c\n";
  absl::StatusOr<JsonDocument> document = JsonDocument::ReadFile(path);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root().String("a"), "");
  EXPECT_EQ(Message(document->Finish()),
            path + ": /a: expected a string, got 1");
}

TEST(JsonDocument, FileOverTheSizeLimitIsRefused) {
  const sandglass::testing::TempDir directory;
  const std::string path = directory.Path("large.json");
  std::ofstream(path) << "{}" << std::string(JsonDocument::kMaxBytes, '\n');
  EXPECT_THAT(Message(JsonDocument::ReadFile(path).status()),
              HasSubstr("more than 1048576 bytes"));
}

// Asks for every type that there is; all keys are optional.
absl::Status ReadAll(std::string_view text) {
  JsonDocument document = MustParse(text);
  JsonObject root = document.root();
  root.String("name", "");
  root.Bool("enabled", false);
  root.Unsigned("count", {.min = 1, .max = 10}, 1);
  root.Duration("grace", {.min = absl::Milliseconds(1), .max = absl::Hours(1)},
                absl::Seconds(1));
  root.ByteSize("memory_bytes", {.min = 1024, .max = 1 << 20}, 1024);
  root.Strings("words", std::vector<std::string>());
  root.StringMap("env", JsonObject::StringPairs());
  if (auto limits = root.OptionalObject("limits")) limits->Unsigned("open", {});
  if (root.Has("rules")) {
    for (JsonObject& rule : root.Objects("rules")) rule.String("call");
  }
  return document.Finish();
}

struct ValueCase {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const ValueCase& c, std::ostream* out) { *out << c.name; }

class RefusedValue : public ::testing::TestWithParam<ValueCase> {};

TEST_P(RefusedValue, IsReportedWithFileAndPointer) {
  const absl::Status status = ReadAll(GetParam().text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status),
              StartsWith(std::string("f.json: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    JsonObject, RefusedValue,
    ::testing::Values(
        ValueCase{"StringGotNumber", R"({"name": 3})",
                  "/name: expected a string, got 3"},
        ValueCase{"StringGotNull", R"({"name": null})",
                  "/name: expected a string, got null"},
        ValueCase{"BoolGotString", R"({"enabled": "true"})",
                  R"(/enabled: expected true or false, got "true")"},
        ValueCase{"BoolGotOne", R"({"enabled": 1})",
                  "/enabled: expected true or false, got 1"},
        ValueCase{"UnsignedGotNegative", R"({"count": -1})",
                  "/count: expected a whole number, zero or more, got -1"},
        ValueCase{"UnsignedGotFraction", R"({"count": 1.5})",
                  "/count: expected a whole number, zero or more, got 1.5"},
        ValueCase{"UnsignedGotString", R"({"count": "5"})",
                  "/count: expected a whole number"},
        ValueCase{"UnsignedTooSmall", R"({"count": 0})",
                  "/count: 0 is out of range; it takes 1 to 10"},
        ValueCase{"UnsignedTooLarge", R"({"count": 11})",
                  "/count: 11 is out of range; it takes 1 to 10"},
        ValueCase{"UnsignedOver64Bits", R"({"count": 18446744073709551616})",
                  "/count: expected a whole number"},
        ValueCase{"DurationGotNumber", R"({"grace": 5})",
                  "/grace: expected a duration such as \"30s\""},
        ValueCase{"DurationWithoutUnit", R"({"grace": "5"})",
                  "/grace: expected a duration such as \"30s\""},
        ValueCase{"DurationNegative", R"({"grace": "-5s"})",
                  "/grace: \"-5s\" is out of range; it takes 1ms to 1h"},
        ValueCase{"DurationInfinite", R"({"grace": "inf"})",
                  "/grace: \"inf\" is out of range"},
        ValueCase{"DurationTooLong", R"({"grace": "2h"})",
                  "/grace: \"2h\" is out of range"},
        ValueCase{"ByteSizeGotBool", R"({"memory_bytes": true})",
                  "/memory_bytes: expected a number of bytes or a size"},
        ValueCase{"ByteSizeUnknownUnit", R"({"memory_bytes": "5Q"})",
                  "/memory_bytes: expected a size such as"},
        ValueCase{
            "ByteSizeTooLarge", R"({"memory_bytes": "1GiB"})",
            "/memory_bytes: 1 GiB is out of range; it takes 1 KiB to 1 MiB"},
        ValueCase{"ByteSizeIsNotRounded", R"({"memory_bytes": 1073741825})",
                  "/memory_bytes: 1073741825 B is out of range"},
        ValueCase{"ListGotString", R"({"words": "a"})",
                  R"(/words: expected a list of strings, got "a")"},
        ValueCase{"ListGotNumberInside", R"({"words": ["a", 2]})",
                  "/words/1: expected a string, got 2"},
        ValueCase{"MapGotList", R"({"env": []})",
                  "/env: expected an object of strings, got a list"},
        ValueCase{"MapGotNumberInside", R"({"env": {"A": 1}})",
                  "/env/A: expected a string, got 1"},
        ValueCase{"ObjectGotString", R"({"limits": "no"})",
                  R"(/limits: expected an object, got "no")"},
        ValueCase{"MissingKeyBelow", R"({"limits": {}})",
                  "/limits/open: missing; it is required"},
        ValueCase{"ObjectsGotObject", R"({"rules": {}})",
                  "/rules: expected a list of objects, got an object"},
        ValueCase{"ObjectsGotStringInside", R"({"rules": ["x"]})",
                  R"(/rules/0: expected an object, got "x")"},
        ValueCase{"UnknownKeyInAListsObject",
                  R"({"rules": [{"call": "a"}, {"call": "b", "cal": "c"}]})",
                  "/rules/1/cal: unknown key"},
        ValueCase{"UnknownKeyNearOne", R"({"memory_byte": 1024})",
                  "/memory_byte: unknown key; did you mean \"memory_bytes\"?"},
        ValueCase{"UnknownKeyNearNone", R"({"colour": 1})",
                  "/colour: unknown key; known here: name, enabled"},
        ValueCase{"UnknownKeyWithOddCharacters", R"({"a/b~\n": 1})",
                  "/a~1b~0\\n: unknown key"},
        ValueCase{"UnknownKeyBelow", R"({"limits": {"open": 1, "opne": 2}})",
                  "/limits/opne: unknown key"}),
    [](const auto& test) { return test.param.name; });

TEST(JsonObject, ReadsEveryType) {
  JsonDocument document = MustParse(R"({
    "name": "n", "enabled": true, "count": 7, "grace": "1m30s",
    "a": 4096, "b": "256MiB", "words": ["x", "y"],
    "env": {"B": "2", "A": "1"}, "rules": [{"call": "read"}]
  })");
  JsonObject root = document.root();
  EXPECT_EQ(root.String("name"), "n");
  EXPECT_TRUE(root.Bool("enabled"));
  EXPECT_EQ(root.Unsigned("count"), 7u);
  EXPECT_EQ(root.Duration("grace"), absl::Seconds(90));
  EXPECT_EQ(root.ByteSize("a"), 4096u);
  EXPECT_EQ(root.ByteSize("b"), uint64_t{256} << 20);
  EXPECT_THAT(root.Strings("words"), ElementsAre("x", "y"));
  EXPECT_THAT(root.StringMap("env"),
              ElementsAre(Pair("A", "1"), Pair("B", "2")));
  ASSERT_EQ(root.Objects("rules").size(), 1u);
  EXPECT_EQ(root.Objects("rules")[0].String("call"), "read");
  EXPECT_TRUE(document.Finish().ok()) << document.Finish();
}

TEST(JsonObject, MissingKeysWithoutFallbackAreAllTold) {
  JsonDocument document = MustParse("{}");
  JsonObject root = document.root();
  root.String("a");
  root.Unsigned("b");
  root.Object("c").String("below");
  root.Objects("d");
  EXPECT_EQ(Message(document.Finish()),
            "f.json: /a: missing; it is required\n"
            "f.json: /b: missing; it is required\n"
            "f.json: /c: missing; it is required\n"
            "f.json: /d: missing; it is required");
}

TEST(JsonObject, FallbackStandsForAMissingKey) {
  JsonDocument document = MustParse("{}");
  EXPECT_EQ(document.root().String("a", "x"), "x");
  EXPECT_EQ(document.root().ByteSize("b", {.min = 10}, 5), 5u);
  EXPECT_FALSE(document.root().OptionalObject("c").has_value());
  EXPECT_TRUE(document.Finish().ok());
}

TEST(JsonObject, CallersOwnErrorsCarryThePointer) {
  JsonDocument document = MustParse(R"({"o": {"k": "v"}})");
  JsonObject object = document.root().Object("o");
  object.String("k");
  object.AddError("k", "no such thing");
  object.AddError("", "odd as a whole");
  EXPECT_EQ(Message(document.Finish()),
            "f.json: /o/k: no such thing\nf.json: /o: odd as a whole");
}

TEST(JsonItem, IsOfTheKindThatIsThere) {
  JsonDocument document =
      MustParse(R"({"k": ["a", 1, {"b": 2}, [], -1, 1.0, null, [3]]})");
  JsonObject root = document.root();
  std::vector<JsonItem> items = root.Items("k");
  ASSERT_EQ(items.size(), 8u);
  EXPECT_EQ(items[0].String(), "a");
  EXPECT_EQ(items[0].pointer(), "/k/0");
  EXPECT_EQ(items[1].Unsigned(), 1u);
  EXPECT_EQ(items[3].IsEmptyList(), true);
  for (size_t i = 4; i < items.size(); ++i) {
    EXPECT_EQ(items[i].String(), std::nullopt) << i;
    EXPECT_EQ(items[i].Unsigned(), std::nullopt) << i;
    EXPECT_FALSE(items[i].Object().has_value()) << i;
    EXPECT_FALSE(items[i].IsEmptyList()) << i;
  }
  // Its keys count as unknown only once it was taken for an object.
  EXPECT_TRUE(document.Finish().ok()) << document.Finish();
  std::optional<JsonObject> object = items[2].Object();
  ASSERT_TRUE(object.has_value());
  EXPECT_THAT(Message(document.Finish()),
              HasSubstr("f.json: /k/2/b: unknown key"));
  EXPECT_EQ(object->Unsigned("b"), 2u);
  EXPECT_TRUE(document.Finish().ok());
  items[6].Refuse("a word");
  EXPECT_EQ(Message(document.Finish()),
            "f.json: /k/6: expected a word, got null");
}

TEST(JsonItem, ListsThatAreNoneAreTold) {
  JsonDocument document = MustParse(R"({"k": {"a": 1}})");
  JsonObject root = document.root();
  EXPECT_FALSE(root.OptionalItem("none").has_value());
  EXPECT_TRUE(root.OptionalItem("k").has_value());
  EXPECT_TRUE(root.Items("k").empty());
  EXPECT_TRUE(root.Items("gone").empty());
  EXPECT_EQ(Message(document.Finish()),
            "f.json: /k: expected a list, got an object\n"
            "f.json: /gone: missing; it is required");
}

TEST(JsonObject, ErrorsPastTwentyAreCounted) {
  JsonDocument document = MustParse("{}");
  JsonObject root = document.root();
  for (int i = 0; i < 25; ++i) root.String("k" + std::to_string(i));
  EXPECT_THAT(Message(document.Finish()), HasSubstr("f.json: and 5 more"));
}

TEST(ParseByteSize, TakesBinaryUnitsInAnyCase) {
  EXPECT_EQ(ParseByteSize("0").value(), 0u);
  EXPECT_EQ(ParseByteSize("100B").value(), 100u);
  EXPECT_EQ(ParseByteSize("512k").value(), 512u << 10);
  EXPECT_EQ(ParseByteSize("64M").value(), 64u << 20);
  EXPECT_EQ(ParseByteSize("256mib").value(), 256u << 20);
  EXPECT_EQ(ParseByteSize("2GiB").value(), uint64_t{2} << 30);
  EXPECT_EQ(ParseByteSize("1T").value(), uint64_t{1} << 40);
}

TEST(ParseByteSize, RefusesEverythingElse) {
  for (const char* text : {"", "M", "-1", "+1", " 1", "1 M", "1.5G", "1KB",
                           "1MiBs", "1ib", "0x10", "18446744073709551616",
                           "16777216T", "99999999999999999999999999999M"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

TEST(ParseByteSize, SaysWhyUnitsOfAThousandAreRefused) {
  EXPECT_THAT(Message(ParseByteSize("64MB").status()), HasSubstr("ambiguous"));
}

TEST(NearestWord, FindsSlipsAndNothingElse) {
  const std::vector<std::string> words = {"wall_time", "cpu_time", "env"};
  EXPECT_EQ(NearestWord("walltime", words), "wall_time");
  EXPECT_EQ(NearestWord("cpu_tmie", words), "cpu_time");
  EXPECT_EQ(NearestWord("colour", words), "");
  EXPECT_EQ(NearestWord("abc", words), "");
  EXPECT_EQ(NearestWord(std::string(100000, 'x'), words), "");
}

TEST(ListJsonFiles, SortsAndPassesOverOtherFiles) {
  const sandglass::testing::TempDir temp;
  const std::string& directory = temp.path();
  std::filesystem::create_directories(directory + "/d.json");
  for (const char* name : {"b.json", "a.json", "c.txt", ".hid.json", "e~"}) {
    std::ofstream(directory + "/" + name) << "{}";
  }
  const auto files = ListJsonFiles(directory);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(Pair("a", directory + "/a.json"),
                                  Pair("b", directory + "/b.json")));
}

TEST(ListJsonFiles, NoDirectoryOrAnEmptyOneIsNotFound) {
  EXPECT_EQ(ListJsonFiles("/no/such").status().code(),
            absl::StatusCode::kNotFound);
  const sandglass::testing::TempDir directory;
  EXPECT_EQ(ListJsonFiles(directory.path()).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sandglass::policy
