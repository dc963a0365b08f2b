#include <bits/stdc++.h>
using namespace std;

int main() {
  ios::sync_with_stdio(false);
  cin.tie(nullptr);

  map<string, vector<int>> positions;
  stringstream words("to be or not to be");
  string word;
  for (int i = 0; words >> word; i++) positions[word].push_back(i);
  for (auto& [name, at] : positions) {
    cout << name << ':';
    for (int i : at) cout << ' ' << i;
    cout << '\n';
  }
  cout << fixed << setprecision(3) << sqrt(2.0) << '\n';
}
