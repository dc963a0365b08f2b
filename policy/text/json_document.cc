// Parses the bytes of a file to a tree, or to one message that says where the
// error is.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_state.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

using nlohmann::json;

// Builds the tree. The library's own builder silently keeps the last of two
// equal keys, so it isn't used.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(value);
  }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // impossible in JSON text
  bool start_object(size_t) override { return Open(json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& value) override {
    json& object = *open_.back();
    if (object.contains(value)) {
      error_ = absl::StrCat(PointerTo(value), ": the key is given twice");
      return false;
    }
    key_ = std::move(value);
    return true;
  }

  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    // Removes the library's "[json.exception.parse_error.101] ".
    std::string_view what = problem.what();
    if (const size_t end = what.find("] "); end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    // It quotes what it read: no control character may pass.
    error_ = absl::StrReplaceAll(absl::Utf8SafeCEscape(AbslView(what)),
                                 {{"\\'", "'"}, {"\\\"", "\""}});
    return false;
  }

  json& root() { return root_; }
  const std::string& error() const { return error_; }

 private:
  std::string PointerTo(const std::string& last) const {
    std::string pointer;
    for (const std::string& part : path_) {
      absl::StrAppend(&pointer, "/", EscapePointerPart(part));
    }
    return absl::StrCat(pointer, "/", EscapePointerPart(last));
  }

  // The name that the next value will have in its parent.
  std::string NextPart() const {
    if (open_.back()->is_array()) return absl::StrCat(open_.back()->size());
    return key_;
  }

  json* Place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  bool Add(json value) {
    Place(std::move(value));
    return true;
  }

  bool Open(json container) {
    if (open_.size() == JsonDocument::kMaxDepth) {
      error_ = absl::StrCat(PointerTo(NextPart()), ": more than ",
                            JsonDocument::kMaxDepth, " levels deep");
      return false;
    }
    if (!open_.empty()) path_.push_back(NextPart());
    // A parent doesn't grow while one of its children is open, so the pointers
    // on the stack stay valid.
    open_.push_back(Place(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    if (!path_.empty()) path_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;
  std::vector<std::string> path_;  // has one element less than open_
  std::string key_;
  std::string error_;
};

}  // namespace

JsonDocument::JsonDocument() : state_(std::make_unique<JsonObject::State>()) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

absl::StatusOr<JsonDocument> JsonDocument::ReadFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", error.message()));
  }
  // Opening a FIFO would wait for a writer.
  if (status.type() != std::filesystem::file_type::regular) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": can't be opened; check its permissions"));
  }
  std::string text(kMaxBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": can't be read"));
  }
  text.resize(static_cast<size_t>(stream.gcount()));
  return Parse(text, path);
}

absl::StatusOr<JsonDocument> JsonDocument::Parse(std::string_view text,
                                                 const std::string& name) {
  auto refuse = [&name](std::string_view message) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", AbslView(message)));
  };
  if (text.size() > kMaxBytes) {
    return refuse(absl::StrCat("the file has more than ", kMaxBytes, " bytes"));
  }
  // The library takes NUL for the end of its input and would ignore the rest.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return refuse(absl::StrCat("NUL byte at offset ", nul));
  }
  TreeBuilder builder;
  if (!json::sax_parse(text.begin(), text.end(), &builder,
                       json::input_format_t::json, /*strict=*/true,
                       /*ignore_comments=*/true)) {
    return refuse(builder.error());
  }
  if (!builder.root().is_object()) {
    return refuse("/: expected an object, the file has another value");
  }
  JsonDocument document;
  document.state_->name = name;
  document.state_->root = std::move(builder.root());
  document.state_->objects.push_back({&document.state_->root, "", {}});
  document.state_->index[&document.state_->root] = 0;
  return document;
}

JsonObject JsonDocument::root() {
  return JsonObject(state_.get(), &state_->root, 0);
}

std::string JsonDocument::Canonical() const { return state_->root.dump(); }

const std::string& JsonDocument::name() const { return state_->name; }

absl::Status JsonDocument::Finish() {
  std::vector<std::string> errors;
  for (const JsonObject::State::Object& object : state_->objects) {
    for (const auto& [key, value] : object.value->items()) {
      if (std::find(object.asked.begin(), object.asked.end(), key) !=
          object.asked.end()) {
        continue;
      }
      std::vector<std::string> absent;
      for (const std::string& asked : object.asked) {
        if (!object.value->contains(asked)) absent.push_back(asked);
      }
      const std::string nearest = NearestWord(key, absent);
      errors.push_back(absl::StrCat(
          state_->name, ": ", object.pointer, "/", EscapePointerPart(key),
          ": unknown key",
          nearest.empty()
              ? (object.asked.empty()
                     ? ""
                     : absl::StrCat("; known here: ",
                                    absl::StrJoin(object.asked, ", ")))
              : absl::StrCat("; did you mean \"", nearest, "\"?")));
    }
  }
  errors.insert(errors.end(), state_->errors.begin(), state_->errors.end());
  if (errors.empty()) return absl::OkStatus();
  constexpr size_t kTold = 20;
  if (errors.size() > kTold) {
    const size_t more = errors.size() - kTold;
    errors.resize(kTold);
    errors.push_back(absl::StrCat(state_->name, ": and ", more, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListJsonFiles(
    const std::string& directory) {
  std::vector<std::pair<std::string, std::string>> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    const std::string id = path.stem().string();
    if (path.extension() != ".json" || id.empty() || id[0] == '.') continue;
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    files.emplace_back(id, path.string());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": can't be listed: ", error.message()));
  }
  if (files.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": holds no .json file"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace sandglass::policy
