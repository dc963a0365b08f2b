constexpr unsigned long Spin() {
  unsigned long turns = 0;
  for (;;) {
    ++turns;
  }
  return turns;
}

int main() {
  constexpr unsigned long kTurns = Spin();
  return kTurns == 0;
}
