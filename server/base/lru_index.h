#ifndef SANDGLASS_SERVER_BASE_LRU_INDEX_H_
#define SANDGLASS_SERVER_BASE_LRU_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace sandglass::server {

// Keys with their sizes, in the order of their last use. Not thread-safe.
class LruIndex {
 public:
  // Adds a key or changes its size. It counts as used just now.
  void Put(const std::string& key, uint64_t bytes) {
    Erase(key);
    order_.push_front({key, bytes});
    places_[key] = order_.begin();
    bytes_ += bytes;
  }
  // Marks a key as used just now. Returns false when it isn't there.
  bool Use(const std::string& key) {
    const auto it = places_.find(key);
    if (it == places_.end()) return false;
    order_.splice(order_.begin(), order_, it->second);
    return true;
  }
  void Erase(const std::string& key) {
    const auto it = places_.find(key);
    if (it == places_.end()) return;
    bytes_ -= it->second->bytes;
    order_.erase(it->second);
    places_.erase(it);
  }
  bool Has(const std::string& key) const { return places_.count(key) != 0; }
  // Precondition: not empty.
  const std::string& oldest() const { return order_.back().key; }
  bool empty() const { return order_.empty(); }
  size_t size() const { return order_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    uint64_t bytes;
  };
  std::list<Entry> order_;
  std::unordered_map<std::string, std::list<Entry>::iterator> places_;
  uint64_t bytes_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_LRU_INDEX_H_
