#ifndef SANDGLASS_SERVER_JOB_JOB_ENVIRONMENT_H_
#define SANDGLASS_SERVER_JOB_JOB_ENVIRONMENT_H_

#include "policy/language/language.h"
#include "policy/limits/limits.h"

namespace sandglass::server {

// The variables that every program has.
policy::StringPairs BaseEnvironment();

// How runtimes that go by the machine, and not by its files of control groups,
// are told what a jail may use, whoever starts them in it.
policy::StringPairs LimitEnvironment(const policy::Limits& limits);

// The variables as execve(2) takes them: "NAME=value".
policy::Command AsWords(const policy::StringPairs& env);

// Adds the variables of `layer` to `env`, replacing the values of names that
// are there already; a name keeps its place.
void Overlay(const policy::StringPairs& layer, policy::StringPairs& env);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_ENVIRONMENT_H_
