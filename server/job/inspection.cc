#include "server/job/inspection.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/rules/facts.h"
#include "server/base/strings.h"
#include "server/job/job.h"

namespace sandglass::server {
namespace {

// The facts that an analyser gave, and those of the files that no analyser
// reads.
absl::StatusOr<std::vector<policy::Fact>> FactsOf(
    const Inspection& inspection, const absl::StatusOr<std::string>& said) {
  if (!said.ok()) return said.status();
  if (!inspection.opaque.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it comes with ", Quoted(inspection.opaque.front()),
                     ", which it could load and nobody can read"));
  }
  return policy::ParseFacts(*said, inspection.sources.size());
}

// Describes a finding in words that fit into a verdict.
std::string Why(const policy::Finding& finding) {
  std::string where;
  if (finding.line > 0) where = absl::StrCat(" (line ", finding.line, ")");
  std::string message = finding.message;
  if (absl::EndsWith(message, ".")) message.pop_back();
  return absl::StrCat("rule ", finding.rule, ": ", message, where);
}

const policy::Finding* FirstOf(const policy::Findings& findings,
                               policy::Severity severity) {
  const auto found =
      std::ranges::find(findings.list, severity, &policy::Finding::severity);
  return found == findings.list.end() ? nullptr : &*found;
}

// What the rules have to say may be told to a person, who then answers, or has
// answered.
void AskForApproval(const Inspection& inspection, Inspected& inspected) {
  std::string problem;
  if (inspection.approver != nullptr) {
    absl::StatusOr<std::optional<ApprovedBy>> approved =
        inspection.approver->Approve(inspected.findings);
    if (approved.ok()) {
      inspected.approved = *std::move(approved);
      if (inspected.approved) return;
    } else {
      problem = absl::StrCat(" ", std::string(approved.status().message()));
    }
  }
  inspected.decision = Decision::kNeedsApproval;
  const policy::Finding* first =
      FirstOf(inspected.findings, policy::Severity::kRequireApproval);
  inspected.reason = absl::StrCat(
      "A person has to approve this run first, by ",
      first == nullptr ? "a rule of its profile" : Why(*first), ".", problem);
}

}  // namespace

bool EndsWithOneOf(const std::string& path,
                   const std::vector<std::string>& endings) {
  return std::ranges::any_of(endings, [&](const std::string& ending) {
    return absl::EndsWith(path, ending);
  });
}

std::shared_ptr<Inspection> MakeInspection(const policy::SharedProfile& profile,
                                           const policy::Language& language,
                                           const Job& job) {
  if (std::ranges::none_of(profile->rules, [&](const policy::Rule& rule) {
        return rule.AppliesTo(language.id);
      })) {
    return nullptr;
  }
  auto inspection = std::make_shared<Inspection>();
  inspection->profile = inspection->jails = profile;
  inspection->language = &language;
  inspection->sources.push_back(language.source_file);
  if (!language.analyser) return inspection;
  for (const Job::File& file : job.files) {
    if (EndsWithOneOf(file.path, language.extensions) ||
        EndsWithOneOf(file.path, language.analyser->reads)) {
      inspection->sources.push_back(file.path);
    } else if (EndsWithOneOf(file.path, language.analyser->opaque)) {
      inspection->opaque.push_back(file.path);
    }
  }
  return inspection;
}

bool NeedsAnalyser(const Job& job) {
  const Inspection* inspection = job.inspection.get();
  return inspection != nullptr && inspection->language->analyser &&
         policy::NeedsFacts(inspection->profile->rules,
                            inspection->language->id);
}

bool NeedsPreparedAnalyser(const Job& job) {
  return NeedsAnalyser(job) && !LooksInRunner(job) &&
         job.inspection->language->analyser->runner_arguments.empty();
}

bool LooksInCompiler(const Job& job) {
  return NeedsAnalyser(job) && job.compile.has_value() &&
         !job.inspection->language->analyser->compile_arguments.empty();
}

bool LooksInRunner(const Job& job) {
  return NeedsAnalyser(job) && job.inspection->language->analyser->in_runner &&
         !job.zygote.empty() && std::holds_alternative<OwnJail>(job.target);
}

std::vector<std::string_view> SourcesOf(const Job& job) {
  std::vector<std::string_view> sources = {job.code};
  for (size_t i = 1; i < job.inspection->sources.size(); ++i) {
    const std::string& name = job.inspection->sources[i];
    const auto file = std::ranges::find(job.files, name, &Job::File::path);
    sources.push_back(file == job.files.end() ? std::string_view()
                                              : file->bytes());
  }
  return sources;
}

Inspected Inspect(const Job& job, const absl::StatusOr<std::string>& said) {
  const Inspection& inspection = *job.inspection;
  const std::vector<policy::Rule>& rules = inspection.profile->rules;
  const std::string& language = inspection.language->id;
  absl::StatusOr<std::vector<policy::Fact>> facts = std::vector<policy::Fact>();
  if (NeedsAnalyser(job)) facts = FactsOf(inspection, said);
  Inspected inspected;
  inspected.sources = inspection.sources;
  inspected.findings =
      policy::ApplyRules(rules, language, SourcesOf(job), facts);
  policy::Findings& findings = inspected.findings;
  // A gate lets nothing pass that it could not read, unless the language's own
  // word is that it won't run; a kernel takes what is no program: magics.
  const policy::Severity gate = policy::SeverestFor(rules, language);
  if (findings.syntax_error && gate >= policy::Severity::kRequireApproval &&
      !(inspection.language->analyser->same_parser && !IsCell(job.target))) {
    for (policy::Finding& finding : findings.list) {
      if (finding.rule == policy::kSyntaxErrorFound) finding.severity = gate;
    }
    findings.severest = std::max(findings.severest, gate);
  }
  if (findings.severest == policy::Severity::kDeny) {
    inspected.decision = Decision::kDenied;
    const policy::Finding* first = FirstOf(findings, policy::Severity::kDeny);
    inspected.reason =
        absl::StrCat("The profile forbids this program, by ",
                     first == nullptr ? "one of its rules" : Why(*first), ".");
  } else if (findings.severest == policy::Severity::kRequireApproval) {
    AskForApproval(inspection, inspected);
  }
  return inspected;
}

policy::RunFacts StoppedFacts(const Inspected& inspected) {
  policy::RunFacts facts;
  facts.phase = policy::Phase::kAnalysis;
  facts.policy_stop = policy::PolicyStop{
      inspected.decision == Decision::kNeedsApproval, inspected.reason};
  return facts;
}

}  // namespace sandglass::server
