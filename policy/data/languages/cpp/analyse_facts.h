#ifndef SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_FACTS_H_
#define SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_FACTS_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// Collects the facts that an analyser reports; docs/analysers.md describes
// them.
class Facts {
 public:
  // Says which file the next facts are about. It must outlive this object.
  void Begin(std::string_view source) { sources_.push_back(source); }

  // Adds a fact; `place` is an offset in the file.
  void Tell(std::string_view kind, size_t place, std::string_view name,
            std::string_view detail = "") {
    const size_t file = sources_.size() - 1;
    auto [entry, is_new] = facts_.try_emplace(
        Key(kind, Clean(name), Clean(detail)), Fact{file, place, 0});
    Fact& fact = entry->second;
    ++fact.count;
    if (is_new) fact.number = facts_.size();
    if (fact.file == file) fact.place = std::min(fact.place, place);
  }

  std::string Text() const {
    std::vector<std::pair<Fact, const Key*>> all;
    for (const auto& [key, fact] : facts_) all.emplace_back(fact, &key);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first.file, a.first.place, a.first.number) <
             std::tie(b.first.file, b.first.place, b.first.number);
    });
    std::string text = "sandglass-facts 1\n";
    Position at;
    size_t told = 0;
    for (const auto& [fact, key] : all) {
      if (told == 0 || at.file != fact.file) at = {fact.file};
      at.MoveTo(sources_[fact.file], fact.place);
      std::string line;
      for (const std::string& part :
           {std::get<0>(*key), std::to_string(fact.file),
            std::to_string(at.line), std::to_string(at.column),
            std::to_string(fact.count), std::get<1>(*key)}) {
        line += part + "\t";
      }
      line += std::get<2>(*key) + "\n";
      if (told++ == kMostFacts ||
          text.size() + line.size() > kMostBytes - kLastLineBytes) {
        return text + "overflow\n";
      }
      text += line;
    }
    return text + "end\n";
  }

 private:
  static constexpr size_t kMostFacts = 4096;
  static constexpr size_t kMostBytes = size_t{256} * 1024;
  static constexpr size_t kMostText = 200;
  static constexpr size_t kLastLineBytes = 16;

  using Key = std::tuple<std::string, std::string, std::string>;

  struct Fact {
    size_t file;
    size_t place;
    size_t count;
    size_t number = 0;  // in the order in which they were added
  };

  // A position that moves forward over a text.
  struct Position {
    void MoveTo(std::string_view source, size_t place) {
      for (; offset < place; ++offset) {
        ++column;
        if (source[offset] != '\n') continue;
        ++line;
        column = 1;
      }
    }
    size_t file = 0;
    size_t offset = 0;
    size_t line = 1;
    size_t column = 1;
  };

  // The length of the UTF-8 character at that place; 0 when it isn't one.
  static size_t CharacterAt(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) {
      return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned first = byte(at);
    const size_t size = first < 0x80                     ? 1
                        : first >= 0xc2 && first <= 0xdf ? 2
                        : first >= 0xe0 && first <= 0xef ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
    for (size_t i = 1; i < size; ++i) {
      if ((byte(at + i) & 0xc0U) != 0x80) return 0;
    }
    // Refuses overlong forms, halves of surrogate pairs, and what is beyond the
    // last character.
    const unsigned second = byte(at + 1);
    const bool none =
        (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return none ? 0 : size;
  }

  // Makes UTF-8 without control characters, cut between characters.
  static std::string Clean(std::string_view text) {
    std::string clean;
    for (size_t at = 0; at < text.size();) {
      const size_t size = CharacterAt(text, at);
      if (clean.size() + std::max<size_t>(size, 1) > kMostText) break;
      const auto first = static_cast<unsigned char>(text[at]);
      if (size == 0 || first < ' ' || first == 0x7f) {
        clean += '?';
      } else {
        clean += text.substr(at, size);
      }
      at += std::max<size_t>(size, 1);
    }
    return clean;
  }

  std::vector<std::string_view> sources_;
  std::map<Key, Fact> facts_;
};

#endif  // SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_FACTS_H_
