#include "client/service/up_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr char kBold[] = "\x1b[1m";
constexpr char kGreen[] = "\x1b[32m";
constexpr char kYellow[] = "\x1b[33m";
constexpr char kPlain[] = "\x1b[0m";

// "is, a, list", or another word for an empty one.
std::string List(const std::vector<std::string>& names,
                 const std::string& none) {
  return names.empty() ? none : absl::StrJoin(names, ", ");
}

}  // namespace

std::string UpText(const v1::GetServerInfoResponse& info,
                   const UpWords& words) {
  const auto colour = [&](const char* code, const std::string& text) {
    return words.colours ? absl::StrCat(code, text, kPlain) : text;
  };
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    absl::StrAppendFormat(&text, "  %-11s %s\n", name, value);
  };

  std::vector<std::string> missing;
  int in_force = 0;
  for (const v1::IsolationLayer& layer : info.isolation()) {
    if (layer.state() == v1::LAYER_STATE_IN_FORCE) {
      ++in_force;
    } else {
      missing.push_back(VisibleText(layer.name()));
    }
  }
  std::vector<std::string> there, preparing, absent;
  for (const v1::LanguageInfo& language : info.languages()) {
    const std::string id = VisibleText(language.id());
    if (language.preparing()) preparing.push_back(id);
    if (language.available()) {
      there.push_back(id);
    } else if (!language.preparing()) {
      absent.push_back(
          absl::StrCat(id, ": ", VisibleText(language.unavailable_reason())));
    }
  }

  absl::StrAppend(
      &text,
      colour(kBold, absl::StrCat("sandglassd ", VisibleText(info.version()),
                                 " is up")),
      "\n");
  line("listens", absl::StrCat(VisibleText(words.address), ", for ",
                               VisibleText(words.users)));
  line("isolation",
       missing.empty()
           ? colour(kGreen, absl::StrCat("all ", in_force, " layers in force"))
           : absl::StrCat(
                 in_force, " layers in force, ",
                 colour(kYellow, absl::StrCat("without ",
                                              absl::StrJoin(missing, ", ")))));
  line("languages", colour(kGreen, List(there, "none")));
  if (!preparing.empty()) {
    line("", absl::StrCat("being prepared, slower until then: ",
                          absl::StrJoin(preparing, ", ")));
  }
  const char* name = "not there";
  for (const std::string& reason : absent) {
    line(name, reason);
    name = "";
  }
  const std::string program = words.is_usual
                                  ? words.program
                                  : absl::StrCat(words.program, " --address ",
                                                 VisibleText(words.address));
  line("try", absl::StrCat(program, " run -l python -c 'print(6 * 7)'"));
  line("look", absl::StrCat(program, " doctor; ", words.program, " logs"));
  line("stop", absl::StrCat(words.program, " down"));
  return text;
}

}  // namespace sandglass::client
