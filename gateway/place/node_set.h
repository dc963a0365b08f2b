#ifndef SANDGLASS_GATEWAY_PLACE_NODE_SET_H_
#define SANDGLASS_GATEWAY_PLACE_NODE_SET_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sandglass::gateway {

// The most nodes that one gateway knows.
inline constexpr size_t kMaxNodes = 4096;

// The place of a node in a gateway's table, below kMaxNodes. It is the node's
// until it is forgotten.
using NodeIndex = uint16_t;

// A set of nodes, one bit for each. Intersections, counts and the choice of a
// member at random take some tens of nanoseconds, whatever is in it.
class NodeSet {
 public:
  void Set(NodeIndex node) { word(node) |= bit(node); }
  void Clear(NodeIndex node) { word(node) &= ~bit(node); }
  void Put(NodeIndex node, bool in) { in ? Set(node) : Clear(node); }
  bool Has(NodeIndex node) const {
    return (words_[node / 64] & bit(node)) != 0;
  }

  NodeSet& operator&=(const NodeSet& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] &= other.words_[i];
    return *this;
  }
  friend NodeSet operator&(NodeSet one, const NodeSet& other) {
    return one &= other;
  }

  size_t Count() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += Ones(word);
    return count;
  }
  bool empty() const {
    uint64_t any = 0;
    for (const uint64_t word : words_) any |= word;
    return any == 0;
  }
  // The n-th member in the order of indices, from 0. Precondition: there are
  // more than n.
  NodeIndex Nth(size_t n) const {
    size_t i = 0;
    for (size_t ones = Ones(words_[0]); n >= ones; ones = Ones(words_[i])) {
      n -= ones;
      ++i;
    }
    uint64_t word = words_[i];
    while (n-- > 0) word &= word - 1;
    return At(i, word);
  }

  // Calls `look` with each member; one that is taken out meanwhile is harmless.
  template <typename Look>
  void ForEach(const Look& look) const {
    for (size_t i = 0; i < kWords; ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        look(At(i, word));
      }
    }
  }

 private:
  static constexpr size_t kWords = kMaxNodes / 64;

  static uint64_t bit(NodeIndex node) { return uint64_t{1} << (node % 64); }
  uint64_t& word(NodeIndex node) { return words_[node / 64]; }
  static size_t Ones(uint64_t word) {
    return static_cast<size_t>(std::popcount(word));
  }
  // The lowest member of a word.
  static NodeIndex At(size_t i, uint64_t word) {
    return static_cast<NodeIndex>(i * 64 +
                                  static_cast<size_t>(std::countr_zero(word)));
  }

  std::array<uint64_t, kWords> words_ = {};
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_NODE_SET_H_
