#ifndef SANDGLASS_CLIENT_LLM_CURL_LIBRARY_H_
#define SANDGLASS_CLIENT_LLM_CURL_LIBRARY_H_

#include "absl/status/statusor.h"
#include "curl/curl.h"

namespace sandglass::client {

// libcurl's functions, under their names without "curl_". The library is loaded
// when it is first needed: loading it, with the thirty other libraries that it
// needs, takes longer than everything else in most commands.
struct CurlLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_header) easy_header;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_strerror) multi_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// Returns the library ready for use, always the same object; it stays loaded
// until the process ends. FAILED_PRECONDITION: it isn't installed. Thread-safe.
absl::StatusOr<const CurlLibrary*> LoadCurl();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_CURL_LIBRARY_H_
