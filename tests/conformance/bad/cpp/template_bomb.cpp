// Every node of a binary tree of depth 40 is a class of its own.
template <int Depth, unsigned long Path>
struct Tree {
  static constexpr unsigned long kLeaves = Tree<Depth - 1, 2 * Path>::kLeaves +
                                           Tree<Depth - 1, 2 * Path + 1>::kLeaves;
};

template <unsigned long Path>
struct Tree<0, Path> {
  static constexpr unsigned long kLeaves = 1;
};

int main() { return Tree<40, 0>::kLeaves == 0; }
