#ifndef SANDGLASS_POLICY_TEXT_JSON_READER_H_
#define SANDGLASS_POLICY_TEXT_JSON_READER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::policy {

// Strict reading of the project's JSON files (profiles, languages, system call
// sets, the daemon's configuration).
//
// A caller asks for each key that it knows. Problems are collected, and
// Finish() reports all of them, each with file and JSON pointer. It also
// refuses keys for which nobody has asked, so that the calls below are the
// file's whole schema:
//
//   absl::StatusOr<JsonDocument> document = JsonDocument::ReadFile(path);
//   if (!document.ok()) return document.status();
//   JsonObject root = document->root();
//   config.name = root.String("name");
//   config.grace = root.Duration("grace", {.max = absl::Seconds(60)},
//                                absl::Seconds(5));
//   if (absl::Status s = document->Finish(); !s.ok()) return s;
//
// After an error a getter returns its fallback or an empty value, so values may
// only be used once Finish() has returned OK.

// Bounds of a value; both are allowed values themselves.
struct UnsignedRange {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
};
struct DurationRange {
  absl::Duration min = absl::ZeroDuration();
  absl::Duration max = absl::Hours(24 * 365);
};

class JsonDocument;
class JsonItem;

// A view of one object in a JsonDocument, which has to outlive it. Each getter
// without a fallback makes its key required.
class JsonObject {
 public:
  bool Has(std::string_view key) const;
  // Whether the key exists and its value is a string; for keys whose value may
  // be of several types.
  bool IsString(std::string_view key) const;
  // All keys of the object, sorted. Doesn't count as asking for them.
  std::vector<std::string> Keys() const;

  std::string String(std::string_view key,
                     std::optional<std::string> fallback = std::nullopt);
  bool Bool(std::string_view key, std::optional<bool> fallback = std::nullopt);
  // A whole number; 3.0 and "3" are refused.
  uint64_t Unsigned(std::string_view key, UnsignedRange range = {},
                    std::optional<uint64_t> fallback = std::nullopt);
  // A string such as "30s", "500ms" or "1m30s".
  absl::Duration Duration(
      std::string_view key, DurationRange range = {},
      std::optional<absl::Duration> fallback = std::nullopt);
  // A whole number of bytes, or a string in the form of ParseByteSize.
  uint64_t ByteSize(std::string_view key, UnsignedRange range = {},
                    std::optional<uint64_t> fallback = std::nullopt);
  std::vector<std::string> Strings(
      std::string_view key,
      std::optional<std::vector<std::string>> fallback = std::nullopt);
  // A required list of such lists of strings.
  std::vector<std::vector<std::string>> StringLists(std::string_view key);
  // An object whose values are all strings, sorted by key.
  using StringPairs = std::vector<std::pair<std::string, std::string>>;
  StringPairs StringMap(std::string_view key,
                        std::optional<StringPairs> fallback = std::nullopt);
  // A required object. After an error the result acts as an empty object
  // whose missing keys are no errors.
  JsonObject Object(std::string_view key);
  // nullopt when there is no such key.
  std::optional<JsonObject> OptionalObject(std::string_view key);
  // A required list of objects.
  std::vector<JsonObject> Objects(std::string_view key);
  // A value that may be of several types. nullopt when there is no such key.
  std::optional<JsonItem> OptionalItem(std::string_view key);
  // A required list of such values.
  std::vector<JsonItem> Items(std::string_view key);

  // Records a problem that the caller has found with `key` ("" for the object).
  void AddError(std::string_view key, std::string_view message);
  // The same for a place that the caller gives as a JSON pointer.
  void AddErrorAt(std::string_view pointer, std::string_view message);
  // JSON pointer of `key` ("" for the object itself, "/" for the root).
  std::string Pointer(std::string_view key = {}) const;

 private:
  friend class JsonDocument;
  friend class JsonItem;
  struct State;
  JsonObject(State* state, const nlohmann::json* value, size_t index)
      : state_(state), value_(value), index_(index) {}
  const nlohmann::json* Ask(std::string_view key, bool required);
  JsonObject Child(const nlohmann::json& value, std::string pointer);
  std::vector<std::string> StringsAt(const std::string& pointer,
                                     const nlohmann::json& value);
  void WrongType(std::string_view key, std::string_view wanted,
                 const nlohmann::json& got);

  State* state_;
  const nlohmann::json* value_;  // nullptr after an error
  size_t index_;                 // this object's index in State::objects
};

// A value in a JsonDocument whose reader decides which type it is to have. The
// document has to outlive it.
class JsonItem {
 public:
  // These return nullopt when the value isn't of that type.
  std::optional<std::string> String() const;
  std::optional<uint64_t> Unsigned() const;  // whole, zero or more
  bool IsEmptyList() const;
  // From then on its keys must be asked for, like those of other objects.
  std::optional<JsonObject> Object();

  const std::string& pointer() const { return pointer_; }
  // Records that the value isn't a `wanted`, and what it is instead.
  void Refuse(std::string_view wanted);

 private:
  friend class JsonObject;
  JsonItem(const JsonObject& parent, const nlohmann::json& value,
           std::string pointer)
      : parent_(parent), value_(&value), pointer_(std::move(pointer)) {}

  JsonObject parent_;
  const nlohmann::json* value_;
  std::string pointer_;
};

// One parsed file: a single JSON object, with // and /* */ comments.
class JsonDocument {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static constexpr size_t kMaxDepth = 32;

  // Reads a regular file of at most kMaxBytes. NOT_FOUND when there is none.
  // INVALID_ARGUMENT, with line and column where the parser knows them, for bad
  // syntax, strings that aren't UTF-8, NUL, a key that occurs twice in one
  // object, more than kMaxDepth levels, or a root that isn't an object.
  static absl::StatusOr<JsonDocument> ReadFile(const std::string& path);
  // The same for a text in memory; messages have `name` in place of the path.
  static absl::StatusOr<JsonDocument> Parse(std::string_view text,
                                            const std::string& name);

  JsonObject root();
  const std::string& name() const;

  // The content alone, without comments and white space, with sorted keys.
  std::string Canonical() const;

  // Reports everything that was wrong: INVALID_ARGUMENT with one "file:
  // pointer: message" per problem, at most 20, joined by newlines. In each
  // object that was read, keys for which nobody has asked are problems too.
  absl::Status Finish();

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

 private:
  JsonDocument();
  std::unique_ptr<JsonObject::State> state_;
};

// Reads "1048576", "512K", "256MiB", "64M", "2GiB", "1T", "100B": powers of
// 1024, in upper or lower case. Decimal units ("MB") are refused, because
// people mean either by them.
absl::StatusOr<uint64_t> ParseByteSize(std::string_view text);

// The candidate with the smallest edit distance to `word`, if that is small
// enough for a typing error; else empty.
std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& candidates);

// The regular files named <id>.json directly in `directory`, as sorted pairs of
// id and path. NOT_FOUND when the directory can't be read or has none. Hidden
// files and other extensions are skipped.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListJsonFiles(
    const std::string& directory);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_JSON_READER_H_
