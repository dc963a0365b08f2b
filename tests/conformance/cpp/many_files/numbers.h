#ifndef NUMBERS_H_
#define NUMBERS_H_

#include <vector>

std::vector<int> Numbers();

#endif  // NUMBERS_H_
