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

// A terminal's alternate screen, on which nothing scrolls away what was there
// before, with keys read as they are typed. The destructor restores everything.
class FullScreen {
 public:
  // `in` and `out` are terminals, and are borrowed.
  static absl::StatusOr<std::unique_ptr<FullScreen>> Enter(int in, int out);
  ~FullScreen() { Restore(); }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize Size() const;

  // Replaces the lines on the screen by these, which fit. Returns 0 or an
  // errno.
  int Draw(const std::vector<ScreenLine>& lines) const;

  // May be called from any thread; only the first call has an effect.
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
