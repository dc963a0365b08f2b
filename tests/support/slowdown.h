#ifndef SANDGLASS_TESTS_SUPPORT_SLOWDOWN_H_
#define SANDGLASS_TESTS_SUPPORT_SLOWDOWN_H_

#include <string>

namespace sandglass::testing {

// How many times longer programs take here than where the tests were written:
// $SANDGLASS_TEST_SLOWDOWN, from 1 to 200, which tests/by_hand/vm.sh measures;
// 1 where it is not set.
int Slowdown();

// A copy of the shipped policy in which every limit of time is Slowdown() times
// the shipped one. False when it can't be written.
bool WriteSlowPolicy(const std::string& directory);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_SLOWDOWN_H_
