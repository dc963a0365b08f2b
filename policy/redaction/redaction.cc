#include "policy/redaction/redaction.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace sandglass::policy {
namespace {

// How many matches may wait before those that are decided are written.
constexpr size_t kMaxWaiting = 64;

}  // namespace

void AddCounts(const RedactionCounts& more, RedactionCounts& counts) {
  for (const auto& [name, count] : more) {
    const auto found =
        std::find_if(counts.begin(), counts.end(),
                     [&name = name](const auto& c) { return c.first == name; });
    if (found != counts.end()) {
      found->second += count;
    } else {
      counts.emplace_back(name, count);
    }
  }
}

Redactor::Redactor(std::vector<Pattern> patterns, RedactionAutomaton automaton)
    : patterns_(std::move(patterns)), automaton_(std::move(automaton)) {
  for (const Pattern& pattern : patterns_) {
    marks_.push_back(absl::StrCat("[redacted:", pattern.name, "]"));
  }
}

absl::StatusOr<std::shared_ptr<const Redactor>> Redactor::Create(
    std::vector<Pattern> patterns) {
  if (patterns.empty()) {
    return absl::InvalidArgumentError("there is no pattern to redact by");
  }
  std::vector<RedactionPattern> compiled;
  compiled.reserve(patterns.size());
  for (const Pattern& pattern : patterns) compiled.push_back(pattern.pattern);
  absl::StatusOr<RedactionAutomaton> automaton =
      RedactionAutomaton::Create(compiled);
  if (!automaton.ok()) return automaton.status();
  return std::shared_ptr<const Redactor>(
      new Redactor(std::move(patterns), *std::move(automaton)));
}

std::string Redactor::Redact(std::string_view text,
                             RedactionCounts* counts) const {
  std::string out;
  StreamRedactor stream(*this);
  stream.Write(text, out);
  stream.Finish(out);
  if (counts != nullptr) AddCounts(stream.counts(), *counts);
  return out;
}

StreamRedactor::StreamRedactor(std::shared_ptr<const Redactor> redactor)
    : owned_(std::move(redactor)),
      redactor_(*owned_),
      tracker_(redactor_.automaton_),
      counts_(redactor_.patterns_.size()) {}

StreamRedactor::StreamRedactor(const Redactor& redactor)
    : redactor_(redactor),
      tracker_(redactor_.automaton_),
      counts_(redactor_.patterns_.size()) {}

void StreamRedactor::Write(std::string_view data, std::string& out) {
  piece_ = data;
  piece_from_ = tracker_.taken();
  std::optional<RedactionTracker::Match> match;
  while (!data.empty()) {
    const uint64_t at = tracker_.taken();
    if (!swallows_ && at >= check_at_) CheckHeld(out);
    const uint64_t max = swallows_ ? 1 : check_at_ - at;
    data.remove_prefix(tracker_.Feed(data.substr(0, max), match));
    if (match) Cover(match->begin, match->pattern);
    if (swallows_) {
      swallows_ = tracker_.first_open() == swallows_from_;
      if (swallows_) covered_.back().end = tracker_.taken();
    }
    if (covered_.size() > kMaxWaiting) Release(tracker_.first_open(), out);
  }
  if (!swallows_ && tracker_.taken() >= check_at_) CheckHeld(out);
  Release(tracker_.first_open(), out);
  // The bytes of covered ranges aren't needed, however long those become.
  const uint64_t from = HeldFrom();
  held_.erase(0, std::min(from, piece_from_) - held_from_);
  held_ += piece_.substr(std::max(from, piece_from_) - piece_from_);
  held_from_ = from;
  piece_ = {};
}

void StreamRedactor::Finish(std::string& out) {
  tracker_.Close();
  swallows_ = false;
  piece_from_ = tracker_.taken();
  Release(tracker_.taken(), out);
  held_.clear();
  held_from_ = tracker_.taken();
}

RedactionCounts StreamRedactor::counts() const {
  RedactionCounts counts;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) {
      AddCounts({{redactor_.patterns_[i].name, counts_[i]}}, counts);
    }
  }
  return counts;
}

// Notes a match that ends directly after the last byte.
void StreamRedactor::Cover(uint64_t begin, uint32_t pattern) {
  Covered all = {begin, tracker_.taken(), pattern};
  while (!covered_.empty() && covered_.back().end > all.begin) {
    const Covered& last = covered_.back();
    const bool longer = all.end > last.end;
    if (last.begin < all.begin || (last.begin == all.begin && !longer)) {
      all.begin = last.begin;
      all.pattern = last.pattern;
    }
    covered_.pop_back();
  }
  covered_.push_back(all);
}

// The text's bytes are still needed from this place on.
uint64_t StreamRedactor::HeldFrom() const {
  const uint64_t open = tracker_.first_open();
  if (covered_.empty() || covered_.front().begin > open) return open;
  return covered_.front().end;
}

// ORDER: everything that is decided has been written before, because HeldFrom
// assumes that the first of `covered_` isn't.
void StreamRedactor::CheckHeld(std::string& out) {
  const uint64_t open = tracker_.first_open();
  Release(open, out);
  const uint64_t from = HeldFrom();
  if (tracker_.taken() - from <= kMaxHeld) {
    check_at_ = from + kMaxHeld + 1;
    return;
  }
  Covered all = {open, tracker_.taken(), 0};
  if (from == open) {
    all.pattern = tracker_.first_open_pattern();
  } else {
    all.begin = covered_.front().begin;
    all.pattern = covered_.front().pattern;
  }
  covered_ = {all};
  swallows_ = true;
  swallows_from_ = open;
}

// Writes everything that no match beginning at `limit` or later can change.
void StreamRedactor::Release(uint64_t limit, std::string& out) {
  while (!covered_.empty() && covered_.front().end <= limit) {
    const Covered& first = covered_.front();
    AppendText(released_, first.begin, out);
    out += redactor_.marks_[first.pattern];
    ++counts_[first.pattern];
    released_ = first.end;
    covered_.pop_front();
  }
  if (!covered_.empty()) limit = std::min(limit, covered_.front().begin);
  AppendText(released_, limit, out);
  released_ = limit;
}

void StreamRedactor::AppendText(uint64_t begin, uint64_t end,
                                std::string& out) const {
  // The bytes of covered ranges may not have been kept.
  if (begin >= end) return;
  if (begin < piece_from_) {
    const uint64_t size = std::min(end, piece_from_) - begin;
    out.append(held_, begin - held_from_, size);
    begin += size;
  }
  if (begin < end) out += piece_.substr(begin - piece_from_, end - begin);
}

}  // namespace sandglass::policy
