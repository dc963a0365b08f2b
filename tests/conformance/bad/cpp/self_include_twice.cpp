// Each level reads this file twice more: 2^150 times in all.
#if __INCLUDE_LEVEL__ < 150
#include __FILE__
#include __FILE__
#endif

#if __INCLUDE_LEVEL__ == 0
int main() {}
#endif
