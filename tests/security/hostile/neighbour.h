#ifndef SANDGLASS_TESTS_SECURITY_HOSTILE_NEIGHBOUR_H_
#define SANDGLASS_TESTS_SECURITY_HOSTILE_NEIGHBOUR_H_

#include <memory>
#include <string>

#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// A run of somebody else's in a jail beside the hostile one: it holds memory,
// files, sockets and processes, looks again and again whether they are as it
// left them, and says so several times a second.
class Neighbour {
 public:
  // Waits until it is there. It lasts 18 s from each Ask on, at least.
  explicit Neighbour(Client& client);
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Empty when it has looked at everything after this call and found it well;
  // else what is wrong. Takes a fraction of a second.
  std::string Ask();

  // What it listens at, in its own jail.
  static constexpr char kAbstractName[] = "@sandglass-neighbour";
  static constexpr char kPathname[] = "/tmp/socket";
  static constexpr int kPort = 18556;
  static constexpr int kKey = 0x5b5b5b5b;

 private:
  void Begin();
  std::string NextLine();

  Client& client_;
  std::unique_ptr<StreamCall> call_;
  double began_ = 0;
  std::string first_line_;  // empty: it is no more
  std::string unread_;
  v1::Outcome outcome_ = v1::OUTCOME_UNSPECIFIED;
  std::string end_;  // what its run came to
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_HOSTILE_NEIGHBOUR_H_
