#ifndef SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_
#define SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Formats rows as text: columns are two spaces apart, each line begins with
// `indent` and has no spaces at its end. Cells are passed through VisibleText.
// Rows may have different numbers of cells.
std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      absl::string_view indent);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_
