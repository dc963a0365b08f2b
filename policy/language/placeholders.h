#ifndef SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_
#define SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/limits/limits.h"

namespace sandglass::policy {

// The values of the placeholders in a language's commands and environment:
//
//   ${source}      the program's file
//   ${sources}     as a whole word: that file and the request's other source
//                  files, one word each
//   ${jvm_network} as a whole word: how a JVM finds the network, several words,
//                  or none if there is no network
//   ${prepared}    directory of what was prepared for the language
//   ${memory_mib}  the memory limit in MiB
//   ${heap_mib}    the part of it that the language uses for a heap
//   ${cpus}        processors that the limit allows, rounded up
struct PlaceholderValues {
  std::string source;
  std::vector<std::string> sources;
  std::vector<std::string> jvm_network;
  std::string prepared;
  Limits limits;  // of the phase that the command belongs to
  uint32_t heap_percent = 0;
};

// Where a text is used; not every placeholder is known everywhere.
enum class PlaceholderUse {
  kCommand,      // all of them
  kWithSource,   // all except whole words: environment of a phase
  kAhead,        // without ${source} and ${sources}: waits for code
  kWithoutCode,  // nor ${jvm_network}: versions, preparations
};

// Says for people what is wrong with the placeholders of a text; empty:
// nothing.
std::string CheckPlaceholders(std::string_view text, PlaceholderUse use);

// Expands one text, which has passed CheckPlaceholders.
std::string Expand(std::string_view text, const PlaceholderValues& values);
// Expands all words of a command.
std::vector<std::string> ExpandCommand(const std::vector<std::string>& words,
                                       const PlaceholderValues& values);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_
