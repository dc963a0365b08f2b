#include "client/llm/provider_error.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/base/terminal_filter.h"
#include "client/llm/json_value.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

// A shorter text is no secret, and would occur in every message.
constexpr size_t kShortestKey = 4;

// Marks where a text was shortened.
constexpr std::string_view kCut = "…";

template <size_t N>
bool SaysOneOf(std::string_view text,
               const std::array<absl::string_view, N>& words) {
  const std::string lower = absl::AsciiStrToLower(View(text));
  return std::any_of(words.begin(), words.end(), [&](absl::string_view word) {
    return absl::StrContains(lower, word);
  });
}

// A code may be a word or a number.
std::string WordOf(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return DumpJson(value);
  return {};
}

std::string KindOf(const json& error) {
  const std::string type = WordOf(JsonAt(error, "type"));
  const std::string code = WordOf(JsonAt(error, "code"));
  if (type.empty() || code.empty() || type == code) {
    return absl::StrCat(type, code.empty() || type == code ? "" : code);
  }
  return absl::StrCat(type, ", ", code);
}

// FastAPI's form: a text, or an array of {loc, msg}.
std::string DetailOf(const json& detail) {
  if (detail.is_string()) return detail.get<std::string>();
  const json& first = JsonFirst(detail);
  if (!HasText(first, "msg")) return {};
  std::string place;
  for (const json& part : JsonAt(first, "loc")) {
    absl::StrAppend(&place, place.empty() ? "" : ".", WordOf(part));
  }
  return absl::StrCat(place, place.empty() ? "" : ": ",
                      View(JsonText(first, "msg")));
}

bool IsContextTooLong(const ProviderError& error) {
  static constexpr std::array<absl::string_view, 5> kWords = {
      "context_length", "context length", "context window",
      "prompt is too long", "exceeds the available context"};
  return SaysOneOf(error.kind, kWords) || SaysOneOf(error.message, kWords);
}

bool IsOutOfMoney(const ProviderError& error) {
  static constexpr std::array<absl::string_view, 3> kWords = {
      "insufficient_quota", "billing", "insufficient balance"};
  return SaysOneOf(error.kind, kWords) || SaysOneOf(error.message, kWords);
}

bool IsPage(const HttpErrorFacts& facts) {
  const absl::string_view start =
      absl::StripLeadingAsciiWhitespace(View(facts.body));
  return absl::StrContains(View(facts.content_type), "html") ||
         absl::StartsWith(start, "<");
}

// ": " and the answer's own words, or an empty text.
std::string WordsOf(const HttpErrorFacts& facts,
                    const std::optional<ProviderError>& error) {
  if (error.has_value()) {
    return absl::StrCat(": ", ShortWords(error->message));
  }
  if (IsPage(facts)) return " and an HTML page, which is no provider's answer";
  const std::string words = ShortWords(facts.body);
  return words.empty() ? "" : absl::StrCat(": ", words);
}

HttpVerdict Fatal(absl::StatusCode code, absl::string_view text) {
  return {absl::Status(code, text), false};
}

}  // namespace

std::optional<ProviderError> ReadProviderError(const json& value) {
  if (value.is_array() && !value.empty()) {
    return ReadProviderError(json(JsonFirst(value)));
  }
  const json& error = JsonAt(value, "error");
  if (error.is_string()) {
    return ProviderError{error.get<std::string>(), KindOf(value)};
  }
  if (error.is_object()) {
    ProviderError found{std::string(JsonText(error, "message")), KindOf(error)};
    if (found.message.empty()) found.message = DumpJson(error);
    return found;
  }
  const bool is_error = JsonText(value, "object") == "error" ||
                        JsonText(value, "type") == "error";
  if (is_error || (HasText(value, "message") && !value.contains("choices"))) {
    ProviderError found{std::string(JsonText(value, "message")), KindOf(value)};
    if (found.message.empty()) found.message = DumpJson(value);
    return found;
  }
  if (std::string detail = DetailOf(JsonAt(value, "detail")); !detail.empty()) {
    return ProviderError{std::move(detail), {}};
  }
  return std::nullopt;
}

absl::Status StreamErrorStatus(const ProviderError& error) {
  const std::string text = absl::StrCat(
      "the provider ended the answer with an error: ",
      ShortWords(error.message),
      error.kind.empty() ? ""
                         : absl::StrCat(" (", ShortWords(error.kind, 80), ")"));
  if (IsContextTooLong(error)) return absl::ResourceExhaustedError(text);
  static constexpr std::array<absl::string_view, 2> kKey = {"authentication",
                                                            "permission"};
  if (SaysOneOf(error.kind, kKey)) return absl::UnauthenticatedError(text);
  if (absl::StrContains(error.kind, "not_found")) {
    return absl::NotFoundError(text);
  }
  static constexpr std::array<absl::string_view, 4> kRefused = {
      "invalid", "badrequest", "400", "422"};
  if (IsOutOfMoney(error) || SaysOneOf(error.kind, kRefused)) {
    return absl::InvalidArgumentError(text);
  }
  return absl::UnavailableError(text);
}

HttpVerdict JudgeHttpError(const HttpErrorFacts& facts) {
  const json body = ParseJson(facts.body);
  const std::optional<ProviderError> error =
      body.is_discarded() ? std::nullopt : ReadProviderError(body);
  const std::string words = WordsOf(facts, error);
  const long status = facts.status;
  const std::string answered =
      absl::StrCat(View(facts.url), " answered with ", status, words);
  using Code = absl::StatusCode;
  if (status >= 300 && status < 400) {
    return Fatal(
        Code::kNotFound,
        absl::StrCat(View(facts.url), " sends on to ",
                     facts.location.empty() ? "another address"
                                            : ShortWords(facts.location, 200),
                     ", where the key isn't sent: the address of the "
                     "provider must be its own"));
  }
  if (status == 401 || status == 403) {
    return Fatal(
        Code::kUnauthenticated,
        absl::StrCat(facts.has_key ? "the provider doesn't accept the key ("
                                   : "the provider wants a key (",
                     status, ")", words));
  }
  if (status == 404 || status == 405) {
    return Fatal(Code::kNotFound,
                 absl::StrCat("there is no model '", ShortWords(facts.model),
                              "' or no such address as ", View(facts.url), " (",
                              status, ")", words));
  }
  if (status == 407) {
    return Fatal(Code::kUnavailable,
                 absl::StrCat("the proxy wants a name and password", words));
  }
  if (status == 413 || (error.has_value() && IsContextTooLong(*error))) {
    return Fatal(Code::kResourceExhausted,
                 absl::StrCat("the conversation is too long for the provider (",
                              status, ")", words));
  }
  if (error.has_value() && IsOutOfMoney(*error)) {
    return Fatal(Code::kInvalidArgument, answered);
  }
  if (status == 408 || status == 409 || status == 429 || status >= 500) {
    return {absl::UnavailableError(answered), true};
  }
  return Fatal(Code::kInvalidArgument, answered);
}

std::string ShortWords(std::string_view text, size_t max_bytes) {
  // There is no use in examining more than that.
  const bool long_text = text.size() > 4 * max_bytes;
  std::string words = ValidUtf8(text.substr(0, 4 * max_bytes));
  for (char& c : words) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::RemoveExtraAsciiWhitespace(&words);
  if (words.size() > max_bytes || long_text) {
    size_t end = std::min(words.size(), max_bytes);
    while (end > 0 && end < words.size() &&
           (static_cast<unsigned char>(words[end]) & 0xC0) == 0x80) {
      --end;
    }
    words.resize(end);
    words += kCut;
  }
  return VisibleText(words);
}

std::string WithoutKey(std::string_view text, std::string_view key) {
  if (key.size() < kShortestKey) return std::string(text);
  std::string clean = absl::StrReplaceAll(View(text), {{View(key), "[key]"}});
  const size_t cut = clean.rfind(kCut);
  if (cut == std::string::npos) return clean;
  for (size_t length = key.size() - 1; length >= kShortestKey; --length) {
    const size_t start = cut - std::min(cut, length);
    if (clean.substr(start, cut - start) == key.substr(0, length)) {
      return clean.replace(start, length, "[key]");
    }
  }
  return clean;
}

}  // namespace sandglass::client
