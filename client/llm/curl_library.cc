#include "client/llm/curl_library.h"

#include <dlfcn.h>

#include <memory>

#include "absl/status/status.h"

namespace sandglass::client {
namespace {

constexpr char kFile[] = "libcurl.so.4";

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool FindAll(void* library, CurlLibrary& curl) {
  return Find(library, "curl_global_init", curl.global_init) &&
         Find(library, "curl_easy_init", curl.easy_init) &&
         Find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         Find(library, "curl_easy_reset", curl.easy_reset) &&
         Find(library, "curl_easy_setopt", curl.easy_setopt) &&
         Find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
         Find(library, "curl_easy_header", curl.easy_header) &&
         Find(library, "curl_easy_strerror", curl.easy_strerror) &&
         Find(library, "curl_multi_init", curl.multi_init) &&
         Find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         Find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         Find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
         Find(library, "curl_multi_perform", curl.multi_perform) &&
         Find(library, "curl_multi_poll", curl.multi_poll) &&
         Find(library, "curl_multi_info_read", curl.multi_info_read) &&
         Find(library, "curl_multi_strerror", curl.multi_strerror) &&
         Find(library, "curl_slist_append", curl.slist_append) &&
         Find(library, "curl_slist_free_all", curl.slist_free_all);
}

// Null when there is no suitable library.
const CurlLibrary* Load() {
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto curl = std::make_unique<CurlLibrary>();
  if (!FindAll(library, *curl)) return nullptr;
  if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return nullptr;
  return curl.release();
}

}  // namespace

absl::StatusOr<const CurlLibrary*> LoadCurl() {
  static const CurlLibrary* const curl = Load();
  if (curl != nullptr) return curl;
  return absl::FailedPreconditionError(
      "libcurl, which talks to the provider, doesn't load: install the "
      "package libcurl4");
}

}  // namespace sandglass::client
