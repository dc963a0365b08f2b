#ifndef SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_
#define SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Rows as text: columns two spaces apart, each line after `indent`, without
// spaces at its end. Cells go through VisibleText. Rows may differ in length.
std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      absl::string_view indent);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TEXT_TABLE_H_
