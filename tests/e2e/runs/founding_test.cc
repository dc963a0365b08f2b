// The programs that the product was made for: small, model-written Python.

#include <cmath>
#include <cstdlib>

#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

class FoundingPrograms : public DaemonTest {};

TEST_F(FoundingPrograms, MonteCarloPiIsCloseToPi) {
  const RunResult result = Run(Python(R"(
import random
inside = 0
for _ in range(1_000_000):
    x, y = random.random(), random.random()
    if x * x + y * y <= 1.0:
        inside += 1
print(4 * inside / 1_000_000)
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  // The standard deviation is 0.0016.
  EXPECT_NEAR(std::strtod(result.response.stdout().data().c_str(), nullptr),
              M_PI, 0.02);
}

TEST_F(FoundingPrograms, TheFactorialIsExact) {
  const RunResult result = Run(Python(R"(
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)
print(factorial(20))
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "2432902008176640000\n");
}

TEST_F(FoundingPrograms, FibonacciNumbersAreExact) {
  const RunResult result = Run(Python(R"(
a, b = 0, 1
numbers = []
while len(numbers) < 15:
    numbers.append(a)
    a, b = b, a + b
print(*numbers)
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(),
            "0 1 1 2 3 5 8 13 21 34 55 89 144 233 377\n");
}

TEST_F(FoundingPrograms, TheSumOfTenThousandNumbersIsExact) {
  const RunResult result = Run(Python("print(sum(range(1, 10001)))"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "50005000\n");
  EXPECT_EQ(result.response.stderr().data(), "");
  EXPECT_EQ(result.response.exit_code(), 0);
}

TEST_F(FoundingPrograms, TheSameSumInBashIsExact) {
  const RunResult result =
      Run(Bash("sum=0; for ((i = 1; i <= 10000; i++)); do ((sum += i)); done; "
               "echo $sum"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "50005000\n");
}

}  // namespace
}  // namespace sandglass::testing
