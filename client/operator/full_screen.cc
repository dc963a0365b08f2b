#include "client/operator/full_screen.h"

#include <poll.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"

namespace sandglass::client {
namespace {

// Switches to the empty alternate screen, hides the cursor, and makes a line
// that is too long nevertheless be cut off.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr char kLeave[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";
// If a terminal knows these two, it shows nothing half finished between them.
constexpr char kBegin[] = "\x1b[?2026h\x1b[H";
constexpr char kEnd[] = "\x1b[?2026l";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

// Long enough for a terminal that is merely slow.
constexpr int kLeavePatienceMs = 100;

absl::string_view StyleOf(ScreenLine::Look look) {
  switch (look) {
    case ScreenLine::Look::kTitle:
      return "\x1b[1m";
    case ScreenLine::Look::kAlert:
      return "\x1b[7m";
    case ScreenLine::Look::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string DrawnText(const std::vector<ScreenLine>& lines) {
  std::string text = kBegin;
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::string_view style = StyleOf(lines[i].look);
    // Overwrites what is there rather than clearing it first, which would
    // flicker.
    absl::StrAppend(&text, i == 0 ? "" : "\r\n", style, lines[i].text,
                    style.empty() ? "" : "\x1b[0m", kClearLine);
  }
  return absl::StrCat(text, kClearBelow, kEnd);
}

absl::StatusOr<std::unique_ptr<FullScreen>> FullScreen::Enter(int in, int out) {
  absl::StatusOr<std::unique_ptr<RawTerminal>> keys = RawTerminal::Enter(in);
  if (!keys.ok()) return keys.status();
  auto screen = absl::WrapUnique(new FullScreen(*std::move(keys), out));
  if (const int error = WriteAll(out, kEnter); error != 0) {
    return absl::ErrnoToStatus(error, "cannot write to the terminal");
  }
  return screen;
}

ScreenSize FullScreen::Size() const {
  // Some terminals don't report their size.
  constexpr ScreenSize kUsual = {24, 80};
  const v1::TerminalSize size = SizeOf(out_);
  return {size.rows() > 0 ? size.rows() : kUsual.rows,
          size.columns() > 0 ? size.columns() : kUsual.columns};
}

int FullScreen::Draw(const std::vector<ScreenLine>& lines) const {
  return WriteAll(out_, DrawnText(lines));
}

void FullScreen::Restore() {
  if (restored_.exchange(true)) return;
  // ORDER: the keys first, because a terminal that accepts no output would keep
  // us from the rest.
  keys_->Restore();
  pollfd poller = {out_, POLLOUT, 0};
  if (poll(&poller, 1, kLeavePatienceMs) > 0) WriteAll(out_, kLeave);
}

}  // namespace sandglass::client
