#include "client/session/exec_input.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace sandglass::client {
namespace {

constexpr size_t kInputPieceBytes = 64 * 1024;

}  // namespace

ExecInput::ExecInput(const Options& options)
    : options_(options),
      wake_(eventfd(0, EFD_CLOEXEC)),
      stdin_open_(options.forward_stdin) {
  if (!wake_.valid()) {
    status_ = absl::ErrnoToStatus(errno, "cannot make an eventfd");
  }
}

ExecInput::~ExecInput() {
  stop_ = true;
  Wake();
  if (thread_.joinable()) thread_.join();
}

void ExecInput::Start(ExecStream& stream) {
  thread_ = std::thread([this, &stream] { Loop(stream); });
}

void ExecInput::Resize() {
  resize_ = true;
  Wake();
}

void ExecInput::Detach() {
  detach_ = true;
  Wake();
}

// The eventfd can count far more than there are signals, so this never blocks.
void ExecInput::Wake() const {
  const uint64_t one = 1;
  while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void ExecInput::Loop(ExecStream& stream) {
  for (bool going = true; going && !stop_;) {
    pollfd pollers[] = {{wake_.get(), POLLIN, 0},
                        {stdin_open_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(pollers, 2, -1) < 0 && errno != EINTR) return;
    if (stop_) return;
    if (pollers[0].revents != 0) {
      uint64_t count = 0;
      if (read(wake_.get(), &count, sizeof(count)) < 0 && errno != EINTR) {
        return;
      }
      going = SendWhatIsAsked(stream);
    } else if (pollers[1].revents != 0) {
      going = SendInput(stream);
    }
  }
}

bool ExecInput::SendWhatIsAsked(ExecStream& stream) {
  v1::ExecuteRequest request;
  if (detach_) {
    request.mutable_detach();
    stream.Write(request);
    return false;
  }
  if (!resize_.exchange(false)) return true;
  *request.mutable_resize() = SizeOf(STDIN_FILENO);
  return stream.Write(request);
}

bool ExecInput::SendInput(ExecStream& stream) {
  std::array<char, kInputPieceBytes> buffer;
  const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  v1::ExecuteRequest request;
  if (got <= 0) {
    stdin_open_ = false;
    request.mutable_close_stdin();
    return stream.Write(request);
  }
  const absl::string_view data(buffer.data(), static_cast<size_t>(got));
  if (options_.detach_keys && keys_.Feed(data, absl::Now())) {
    detach_ = true;
    return SendWhatIsAsked(stream);
  }
  request.set_stdin(std::string(data));
  return stream.Write(request);
}

}  // namespace sandglass::client
