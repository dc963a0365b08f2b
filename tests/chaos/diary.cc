#include "tests/chaos/diary.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sandglass::testing {

std::string Diary::Show() {
  return "page=-1; lines=(); [[ -e page ]] && read -r page < page; "
         "[[ -e lines ]] && mapfile -t lines < lines; "
         "printf 'page %s\\n' \"$page\"; "
         "((${#lines[@]} == 0)) || printf 'line %s\\n' \"${lines[@]}\"";
}

std::string Diary::Append(int number) {
  return absl::StrCat("echo ", number, " >> lines; ", Show());
}

std::string Diary::ReadBack(absl::string_view printed, bool saved) {
  std::set<int> lines;
  int page = -1;
  for (const absl::string_view each :
       absl::StrSplit(printed, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(each, ' ');
    int number = -1;
    if (words.size() != 2 || (words[0] != "page" && words[0] != "line") ||
        !absl::SimpleAtoi(words[1], &number)) {
      return absl::StrCat("it has '", each, "'");
    }
    if (words[0] == "page") {
      page = number;
    } else if (!lines.insert(number).second) {
      return absl::StrCat("line ", number, " is there twice");
    }
  }
  if (page < saved_page_) {
    return absl::StrCat("page ", page, " is there, ", saved_page_,
                        " was saved");
  }
  if (page >= 0 && !pages_.contains(page)) {
    return absl::StrCat("page ", page, " was never written");
  }
  for (const int line : lines) {
    if (!lines_.contains(line)) {
      return absl::StrCat("line ", line, " was never written");
    }
  }
  for (const int line : saved_lines_) {
    if (!lines.contains(line)) {
      return absl::StrCat("line ", line, " was saved and is gone");
    }
  }
  if (saved) {
    saved_lines_ = lines;
    saved_page_ = page;
  }
  return "";
}

std::string Diary::Saved() const {
  return absl::StrCat(saved_lines_.size(), " lines and page ", saved_page_);
}

}  // namespace sandglass::testing
