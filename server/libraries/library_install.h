#ifndef SANDGLASS_SERVER_LIBRARIES_LIBRARY_INSTALL_H_
#define SANDGLASS_SERVER_LIBRARIES_LIBRARY_INSTALL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/libraries/libraries.h"
#include "policy/libraries/library_recipe.h"
#include "policy/limits/limits.h"
#include "policy/profile/profile.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/layers/layer_builds.h"
#include "server/layers/layer_store.h"
#include "server/libraries/unpack_helper.h"

namespace sandglass::server {

// How the libraries of one language are installed.
struct LibraryInstaller {
  policy::LibraryRecipe recipe;
  std::string registry;  // its address
  // The certificates that it trusts, in PEM; empty: those that the image
  // trusts.
  std::string certificates;
  // A digest that says which tools install, and how.
  std::string toolchain;
  // Describes the jails of installs: their template, limits and network.
  policy::Profile profile;
  LayerBounds bounds;
};

// Installs a set in a jail of its own and has what that made unpacked into the
// directory `tree`, by a process that isn't this one. FAILED_PRECONDITION: the
// tool could not, with its own words, shortened, or what it made takes too long
// to unpack. CANCELLED; errors of `runner`; RESOURCE_EXHAUSTED: it is too
// large, or the disk is full; INTERNAL, UNAVAILABLE: it can't be unpacked, not
// for any reason in it that is known.
absl::Status InstallLibraries(const LibraryInstaller& installer,
                              const policy::LibrarySet& set, JobRunner& runner,
                              const ArchiveUnpacker& unpacker,
                              const std::string& tree,
                              const LayerBuilds::Progress& progress,
                              CancelToken& cancel);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARY_INSTALL_H_
