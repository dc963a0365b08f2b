#include "client/operator/usage_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/base/text_table.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct Sum {
  uint64_t runs = 0;
  uint64_t commands = 0;
  absl::Duration cpu;
  absl::Duration wall;
  double memory_byte_seconds = 0;
  uint64_t network_bytes = 0;
  uint64_t refused = 0;

  void Add(const v1::UsageTotal& total) {
    runs += total.runs();
    commands += total.commands();
    cpu += FromProto(total.cpu_time());
    wall += FromProto(total.wall_time());
    memory_byte_seconds += total.memory_byte_seconds();
    network_bytes += total.network_bytes();
    refused += total.refused();
  }
};

using Row = std::vector<std::string>;

Row RowOf(const std::string& name, const Sum& sum) {
  return {name.empty() ? "-" : name,
          absl::StrCat(sum.runs),
          absl::StrCat(sum.commands),
          absl::StrFormat("%.2f", absl::ToDoubleSeconds(sum.cpu)),
          absl::StrFormat("%.3f", sum.memory_byte_seconds / kGiB),
          absl::StrFormat("%.2f", absl::ToDoubleSeconds(sum.wall)),
          FormatByteSize(sum.network_bytes),
          absl::StrCat(sum.refused)};
}

// Aligns numbers to the right. All cells but the first are ASCII.
void AlignRight(std::vector<Row>& rows) {
  for (size_t column = 1; column < rows.front().size(); ++column) {
    size_t width = 0;
    for (const Row& row : rows) width = std::max(width, row[column].size());
    for (Row& row : rows) {
      row[column].insert(0, width - row[column].size(), ' ');
    }
  }
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(time),
                          absl::LocalTimeZone());
}

}  // namespace

std::string UsageText(const v1::GetUsageResponse& usage, UsageBy by) {
  const bool by_caller = by == UsageBy::kCaller;
  std::map<std::string, Sum> sums;
  Sum all;
  for (const v1::UsageTotal& total : usage.totals()) {
    sums[by_caller ? total.caller() : total.language()].Add(total);
    all.Add(total);
  }
  std::vector<Row> rows = {{by_caller ? "CALLER" : "LANGUAGE", "RUNS",
                            "COMMANDS", "CPU S", "GIB S", "WALL S", "NETWORK",
                            "REFUSED"}};
  for (const auto& [name, sum] : sums) rows.push_back(RowOf(name, sum));
  if (sums.size() > 1) rows.push_back(RowOf("(all)", all));
  AlignRight(rows);
  std::string text = TextTable(rows, "");
  if (usage.has_since() && usage.has_until()) {
    text = absl::StrCat("from ", TimeText(usage.since()), " to ",
                        TimeText(usage.until()), "\n", text);
  }
  if (usage.others()) {
    absl::StrAppend(&text,
                    "\"others\" are callers that came when there were too many "
                    "to be told apart.\n");
  }
  return text;
}

}  // namespace sandglass::client
