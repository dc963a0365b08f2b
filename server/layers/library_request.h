#ifndef SANDGLASS_SERVER_LAYERS_LIBRARY_REQUEST_H_
#define SANDGLASS_SERVER_LAYERS_LIBRARY_REQUEST_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/libraries/libraries.h"
#include "server/base/cancel_token.h"
#include "server/layers/jail_layer.h"

namespace sandglass::server {

// What a request asks for.
struct LibraryWish {
  std::vector<std::string> libraries;
  std::string lock;  // text of a lock file; empty: none

  template <typename Request>
  static LibraryWish Of(const Request& request) {
    return {{request.libraries().begin(), request.libraries().end()},
            request.library_lock()};
  }
  bool empty() const { return libraries.empty() && lock.empty(); }
};

// Libraries that were parsed and that a profile allows. Shared by all who ask
// for the same.
struct DecidedLibraries {
  policy::LibrarySet set;
  std::vector<std::string> names;  // of the set, as they are installed
  LibraryWish wish;                // as they were asked for
  bool offline = false;            // they must be there already
};

// Libraries that a program or a session is meant to have.
struct LibraryRequest {
  std::shared_ptr<const DecidedLibraries> decided;  // never null
  bool offline = false;  // they must be there already
  std::string image;     // as in policy::Language
  std::string caller;    // who hears of the layer later; empty for nobody

  const policy::LibrarySet& set() const { return decided->set; }
  const LibraryWish& wish() const { return decided->wish; }
};

// What was found or installed for them.
struct FoundLibraries {
  JailLayer layer;
  bool installed = false;  // they weren't there before
  absl::Duration wait;     // how long all of it took
  // The kind of the zygote that has already imported from the layer; empty when
  // none has.
  std::string zygote;
};

// Where libraries come from. Called by many threads at once.
class LibraryFinder {
 public:
  virtual ~LibraryFinder() = default;

  // Finds them, or has them installed, on the calling thread; lines of the
  // installer's words go to `progress`, which may be empty. CANCELLED when the
  // token fires; other errors are for the caller as they are.
  virtual absl::StatusOr<FoundLibraries> Get(
      const LibraryRequest& wanted,
      const std::function<void(std::string_view line)>& progress,
      CancelToken& cancel) = 0;
};

// What a run's answer says about the libraries that it had.
struct UsedLibraries {
  std::string layer_id;
  std::vector<std::string> names;  // as they were installed
  bool installed = false;
  absl::Duration wait;
};
UsedLibraries Used(const LibraryRequest& wanted, const FoundLibraries& found);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LIBRARY_REQUEST_H_
