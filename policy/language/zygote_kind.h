#ifndef SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_
#define SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_

#include <string>
#include <string_view>

#include "policy/language/language.h"

namespace sandglass::policy {

// The name of a zygote and of the jails that it fills: "python-lean".
std::string ZygoteName(const Language& language, const ZygoteKind& kind);

// The kind that has already imported most of what `code` imports: the one with
// the most modules that the code names on lines that begin with "import",
// "from" or "require"; if there is none, the one for all programs; nullptr when
// there is neither. It is a guess, and a wrong one only costs time.
const ZygoteKind* ChooseZygoteKind(const Language& language,
                                   std::string_view code);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_
