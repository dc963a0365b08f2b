#ifndef SANDGLASS_TESTS_CHAOS_DIARY_H_
#define SANDGLASS_TESTS_CHAOS_DIARY_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::testing {

// What a client of a durable session wrote there, and what of it the daemon has
// told to be saved: that must be there ever after, with nothing that nobody
// wrote. Of a call whose answer is missing nobody knows. Numbers are written,
// each once and larger than those before: as lines of one file, or each as a
// page, a file in the place of the page before.
class Diary {
 public:
  void TriedLine(int number) { lines_.insert(number); }
  void TriedPage(int number) { pages_.insert(number); }
  void SavedPage(int number) { saved_page_ = number; }

  // A program in bash that appends the line, for ReadBack, and one that only
  // reads. They start no process, which is all that a fault may refuse.
  static std::string Append(int number);
  static std::string Show();

  // What a program has printed, and whether what it saw is saved. What is wrong
  // with it; "" when all is there.
  std::string ReadBack(absl::string_view printed, bool saved);

  // What is known to be saved, for a message.
  std::string Saved() const;

 private:
  std::set<int> lines_;
  std::set<int> pages_;
  std::set<int> saved_lines_;
  int saved_page_ = -1;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_CHAOS_DIARY_H_
