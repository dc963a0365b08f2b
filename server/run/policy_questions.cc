#include "server/run/policy_questions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/profile/profile_words.h"
#include "policy/redaction/redaction_profile.h"
#include "policy/seccomp/seccomp.h"
#include "policy/text/names.h"
#include "server/base/errors.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

absl::Status CheckName(const std::string& name, const std::string& field) {
  if (policy::IsPolicyName(name)) return absl::OkStatus();
  return InvalidRequest({{field, absl::StrCat(Quoted(name),
                                              " is no profile's name, "
                                              "[a-z][a-z0-9-]*, at most 32 "
                                              "characters")}});
}

}  // namespace

absl::StatusOr<policy::Profile> PolicyQuestions::Parse(
    const v1::CheckProfileRequest& request) const {
  absl::StatusOr<policy::RedactionList> redactions =
      policy::RedactionList::Load(absl::StrCat(policy_dir_, "/redaction.json"));
  if (absl::IsNotFound(redactions.status())) {
    redactions = policy::RedactionList();
  }
  if (!redactions.ok()) return redactions.status();
  absl::StatusOr<policy::Profile> profile =
      policy::ParseProfile(request.name(), request.text(), *redactions);
  if (!profile.ok()) return profile;
  absl::Status good =
      PolicySet::CheckProfile(policy_.Get()->languages(), *profile);
  if (!good.ok()) return good;
  const absl::StatusOr<policy::SeccompPolicy> calls =
      policy::SeccompPolicy::Load(absl::StrCat(policy_dir_, "/seccomp"),
                                  profile->seccomp, profile->seccomp_add);
  if (!calls.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("/seccomp: ", calls.status().message()));
  }
  return profile;
}

absl::StatusOr<v1::CheckProfileResponse> PolicyQuestions::CheckProfile(
    const v1::CheckProfileRequest& request) const {
  absl::Status named = CheckName(request.name(), "name");
  if (!named.ok()) return named;
  const absl::StatusOr<policy::Profile> profile = Parse(request);
  v1::CheckProfileResponse response;
  if (!profile.ok()) {
    for (const absl::string_view line :
         absl::StrSplit(profile.status().message(), '\n')) {
      response.add_problems(std::string(line));
    }
    return response;
  }
  for (const std::string& sentence :
       policy::DescribeProfile(*profile, no_disk_cap_)) {
    response.add_meaning(sentence);
  }
  return response;
}

std::shared_ptr<Run> PolicyQuestions::TestRun(
    const Identity& caller, v1::TestRunRequest&& request,
    std::optional<MonotonicTime> deadline, RunListener* listener) const {
  const auto refuse = [&](const absl::Status& status) {
    listener->OnEnd({.status = status});
    return nullptr;
  };
  LookOnly look;
  if (request.has_with_profile()) {
    const v1::CheckProfileRequest& given = request.with_profile();
    absl::Status named = CheckName(given.name(), "with_profile.name");
    if (!named.ok()) return refuse(named);
    absl::StatusOr<policy::Profile> profile = Parse(given);
    if (!profile.ok()) {
      return refuse(InvalidRequest(
          {{"with_profile.text", std::string(profile.status().message())}}));
    }
    look.profile = std::make_shared<const policy::Profile>(*std::move(profile));
  }
  if (!request.run().session_id().empty()) {
    return refuse(InvalidRequest(
        {{"run.session_id", "a run in a session can't be tested"}}));
  }
  // Its answer must never be taken for that of a run.
  request.mutable_run()->clear_request_id();
  return dispatcher_.Submit(caller, std::move(*request.mutable_run()), deadline,
                            "run.", listener, look);
}

}  // namespace sandglass::server
