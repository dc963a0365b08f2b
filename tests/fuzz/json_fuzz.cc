// JSON text as the project reads it, with no schema of a file's own: the
// document, and each kind of value that a reader can ask for.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "policy/text/json_reader.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxProblems = 20;

void CheckRefusal(const absl::Status& status) {
  FUZZ_CHECK(absl::IsInvalidArgument(status));
  FUZZ_CHECK(!status.message().empty());
}

void AskForAll(JsonObject object, int depth) {
  for (const std::string& key : object.Keys()) {
    FUZZ_CHECK(object.Has(key));
    switch (key.empty() ? 0 : key[0]) {
      case 'u':
        FUZZ_CHECK(object.Unsigned(key, {.min = 1, .max = 9}, 5) <= 9);
        break;
      case 'd':
        FUZZ_CHECK(object.Duration(key, {.max = absl::Seconds(9)},
                                   absl::ZeroDuration()) <= absl::Seconds(9));
        break;
      case 'b':
        FUZZ_CHECK(object.ByteSize(key, {.max = 99}, 0) <= 99);
        break;
      case 's':
        (void)object.String(key);
        break;
      case 'l':
        (void)object.Strings(key);
        break;
      case 'm':
        (void)object.StringMap(key);
        break;
      case 'L':
        (void)object.StringLists(key);
        break;
      case 'o':
        if (depth < 8) AskForAll(object.Object(key), depth + 1);
        break;
      case 'O':
        if (depth < 8) {
          for (JsonObject& each : object.Objects(key)) {
            AskForAll(each, depth + 1);
          }
        }
        break;
      case 't':
        (void)object.Bool(key);
        break;
      default:
        break;
    }
  }
}

void Run(std::string_view text) {
  if (const auto bytes = ParseByteSize(text); bytes.ok()) {
    // What was read can be written plainly and read again.
    const auto again = ParseByteSize(absl::StrCat(*bytes));
    FUZZ_CHECK(again.ok() && *again == *bytes);
  }
  (void)NearestWord(text.substr(0, 32), {"memory_bytes", "wall_time", ""});
  absl::StatusOr<JsonDocument> document = JsonDocument::Parse(text, "fuzz");
  if (!document.ok()) {
    CheckRefusal(document.status());
    return;
  }
  AskForAll(document->root(), 0);
  const absl::Status finished = document->Finish();
  if (finished.ok()) return;
  CheckRefusal(finished);
  // Each problem begins with the file's name.
  size_t problems = 0;
  const std::string message(finished.message());
  for (size_t at = message.find("fuzz: "); at != std::string::npos;
       at = message.find("\nfuzz: ", at + 1)) {
    ++problems;
  }
  FUZZ_CHECK(problems >= 1 && problems <= kMaxProblems + 1);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
