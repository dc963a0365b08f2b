#ifndef SANDGLASS_CLIENT_OPERATOR_FULL_SCREEN_H_
#define SANDGLASS_CLIENT_OPERATOR_FULL_SCREEN_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/operator/top_screen.h"
#include "client/terminal/raw_terminal.h"

namespace sandglass::client {

// A terminal's other screen, where nothing scrolls away what was there before,
// with keys handed out as they are typed. All as it was when this goes away.
class FullScreen {
 public:
  // Terminals, which are borrowed.
  static absl::StatusOr<std::unique_ptr<FullScreen>> Enter(int in, int out);
  ~FullScreen() { Restore(); }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize Size() const;

  // Puts lines in the place of those that are there; they fit. Returns 0 or an
  // errno.
  int Draw(const std::vector<ScreenLine>& lines) const;

  // Once, from any thread.
  void Restore();

 private:
  FullScreen(std::unique_ptr<RawTerminal> keys, int out)
      : keys_(std::move(keys)), out_(out) {}

  const std::unique_ptr<RawTerminal> keys_;
  const int out_;
  std::atomic<bool> restored_{false};
};

// The bytes that Draw writes.
std::string DrawnText(const std::vector<ScreenLine>& lines);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_FULL_SCREEN_H_
