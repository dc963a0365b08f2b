#ifndef TOTALS_ADDER_H_
#define TOTALS_ADDER_H_

#include <vector>

namespace totals {

int AddAll(const std::vector<int>& numbers);

}  // namespace totals

#endif  // TOTALS_ADDER_H_
