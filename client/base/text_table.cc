#include "client/base/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

// Counts characters, not bytes: right for all scripts whose characters take one
// column.
size_t Width(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
      }));
}

}  // namespace

std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      absl::string_view indent) {
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = VisibleText(row[i]);
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : cells) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, row[i],
                      std::string(widths[i] - Width(row[i]) + 2, ' '));
    }
    absl::StrAppend(&out, indent, absl::StripTrailingAsciiWhitespace(line),
                    "\n");
  }
  return out;
}

}  // namespace sandglass::client
