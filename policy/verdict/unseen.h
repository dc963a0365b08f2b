#ifndef SANDGLASS_POLICY_VERDICT_UNSEEN_H_
#define SANDGLASS_POLICY_VERDICT_UNSEEN_H_

#include <vector>

#include "policy/verdict/hints.h"

namespace sandglass::policy {

// What a program made and nobody sees: a figure, files, a last value. It is for
// runs that ended well, and looks at the program's text as a person would, not
// as a parser.
std::vector<Hint> FindUnseen(const HintFacts& facts);

// Whether the program's text puts a question whose answer never comes, which
// Node passes over in silence.
bool AsksInVain(const HintFacts& facts);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_UNSEEN_H_
