#ifndef SANDGLASS_SERVER_BASE_FREE_BY_H_
#define SANDGLASS_SERVER_BASE_FREE_BY_H_

namespace sandglass::server {

// A deleter that calls a C library's function, for example
// std::unique_ptr<BIO, FreeBy<BIO_free_all>>.
template <auto free>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_FREE_BY_H_
