#ifndef SANDGLASS_TESTS_UNIT_POLICY_LIBRARIES_LIBRARY_LOCK_WORDS_H_
#define SANDGLASS_TESTS_UNIT_POLICY_LIBRARIES_LIBRARY_LOCK_WORDS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/libraries/libraries.h"
#include "policy/libraries/library_lock.h"

namespace sandglass::policy {

// What the tests of lock files share.

using Texts = std::vector<std::string>;

inline std::string Hex(char digit) { return std::string(64, digit); }

inline Texts Entries(const LibrarySet& set) {
  Texts texts;
  for (const Library& each : set.lock()->entries) {
    texts.push_back(each.ToArgument());
  }
  return texts;
}

inline std::string FileOf(const LibrarySet& set, const std::string& path) {
  for (const LockFile& file : LockFiles(set)) {
    if (file.path == path) return file.text;
  }
  return "none";
}

// Of what is refused as a lock: the words.
inline std::string Refusal(Ecosystem ecosystem, const Texts& libraries,
                           const std::string& lock) {
  const auto set = ParseLibraryRequest(ecosystem, libraries, lock);
  if (set.ok()) return "taken";
  EXPECT_TRUE(absl::IsInvalidArgument(set.status()));
  EXPECT_EQ(LibraryErrorField(set.status()), "library_lock");
  const absl::string_view message = set.status().message();
  return std::string(message);
}

// Of libraries that a good lock hasn't.
inline std::string AskedRefusal(Ecosystem ecosystem, const Texts& libraries,
                                const std::string& lock) {
  const auto set = ParseLibraryRequest(ecosystem, libraries, lock);
  if (set.ok()) return "taken";
  EXPECT_EQ(LibraryErrorField(set.status()), "libraries");
  const absl::string_view message = set.status().message();
  return std::string(message);
}

}  // namespace sandglass::policy

#endif  // SANDGLASS_TESTS_UNIT_POLICY_LIBRARIES_LIBRARY_LOCK_WORDS_H_
