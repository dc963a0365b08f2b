#ifndef SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_
#define SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_

#include <string>
#include <string_view>

#include "policy/language/language.h"

namespace sandglass::policy {

// The name of a zygote and of the jails that it fills: "python-lean".
std::string ZygoteName(const Language& language, const ZygoteKind& kind);

// The kind that has imported most of what `code` does: the one of whose modules
// the code names most on lines that begin with "import", "from" or "require",
// else the one for all programs. nullptr when neither is there. A guess: a
// wrong one costs time, no more.
const ZygoteKind* ChooseZygoteKind(const Language& language,
                                   std::string_view code);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_ZYGOTE_KIND_H_
