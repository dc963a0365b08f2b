#ifndef SANDGLASS_POLICY_TEXT_DOCS_PAGE_H_
#define SANDGLASS_POLICY_TEXT_DOCS_PAGE_H_

#include <string>
#include <string_view>

namespace sandglass::policy {

// Where whoever reads a message finds a page of docs/: "troubleshooting.md",
// also with "#section". Its place on this machine if it was installed with the
// program that runs, which is in `program`'s place; else "docs/…" of the source
// tree.
std::string DocsPage(std::string_view page,
                     const std::string& program = "/proc/self/exe");

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_DOCS_PAGE_H_
