#ifndef SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_
#define SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/limits/limits.h"

namespace sandglass::policy {

// What stands for the placeholders in a language's commands and environment:
//
//   ${source}      the program's file
//   ${sources}     as a whole word: that file and the request's other source
//                  files, a word each
//   ${jvm_network} as a whole word: how a JVM finds the network, a word each;
//                  none where there is none
//   ${prepared}    directory of what was prepared for the language
//   ${memory_mib}  the memory limit in MiB
//   ${heap_mib}    the part of it that the language gives to a heap
//   ${cpus}        processors that the limit allows, rounded up
struct PlaceholderValues {
  std::string source;
  std::vector<std::string> sources;
  std::vector<std::string> jvm_network;
  std::string prepared;
  Limits limits;  // of the phase that the command belongs to
  uint32_t heap_percent = 0;
};

// Where a text stands; not everything is known everywhere.
enum class PlaceholderUse {
  kCommand,      // all of them
  kWithSource,   // all but those of whole words: environment of a phase
  kAhead,        // neither ${source} nor ${sources}: what waits for code
  kWithoutCode,  // nor ${jvm_network}: versions, preparations
};

// What is wrong with the placeholders of a text, for people; empty: nothing.
std::string CheckPlaceholders(std::string_view text, PlaceholderUse use);

// One text, which CheckPlaceholders has passed.
std::string Expand(std::string_view text, const PlaceholderValues& values);
// All words of a command.
std::vector<std::string> ExpandCommand(const std::vector<std::string>& words,
                                       const PlaceholderValues& values);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_PLACEHOLDERS_H_
