#include "server/phases/compile_key.h"

#include <string.h>

#include <algorithm>

#include "policy/limits/limit_fields.h"
#include "server/base/digest.h"
#include "server/base/version.h"
#include "server/job/inspection.h"

namespace sandglass::server {
namespace {

// Raise this when the same inputs would give another result, or when results
// are stored in another form.
constexpr uint64_t kFormat = 1;

bool HasAny(const std::string& text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    // memmem(3) is fast on megabytes, std::string::find isn't.
    return ::memmem(text.data(), text.size(), word.data(), word.size()) !=
           nullptr;
  });
}

// A deadline lowers the wall time to what is left, which is hardly ever the
// same twice; and every compile that ends in time has the same result.
bool ShowsInResult(policy::LimitKind kind) {
  return kind != policy::LimitKind::kWallTime &&
         kind != policy::LimitKind::kCpuTime;
}

}  // namespace

bool MayKeepCompile(const Job& job) {
  if (!job.compile || !job.compile->caching) return false;
  const policy::CompileCacheRules& rules = job.compile->caching->rules;
  if (HasAny(job.code, rules.not_with_text)) return false;
  return std::ranges::none_of(job.files, [&](const Job::File& file) {
    return EndsWithOneOf(file.path, rules.not_with_files) ||
           HasAny(file.content, rules.not_with_text);
  });
}

std::string CompileKey(const Job& job, const std::string& toolchain) {
  const CompileJob& compile = *job.compile;
  const CompileCaching& caching = *compile.caching;
  Digest digest;
  digest.AddNumber(kFormat);
  // The image's own files, init and the places in the jail depend on this
  // version.
  digest.Add(kVersion);
  digest.Add(toolchain);
  digest.Add(caching.language);
  digest.Add(caching.scope);
  digest.AddAll(compile.argv);
  digest.AddPairs(compile.env);
  digest.AddAll(compile.artifacts);
  digest.Add(job.source_file);
  digest.Add(job.code);
  // Files are added in their order, since compilers may see them in the order
  // in which they were made.
  digest.AddNumber(job.files.size());
  for (const Job::File& file : job.files) {
    digest.Add(file.path);
    digest.Add(file.executable ? "x" : "-");
    digest.Add(file.content);
  }
  for (const policy::LimitField& field : policy::kLimitFields) {
    if (ShowsInResult(field.kind)) digest.AddNumber(field.get(compile.limits));
  }
  return digest.Hex();
}

}  // namespace sandglass::server
