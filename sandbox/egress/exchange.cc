#include "sandbox/egress/exchange.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/parse/body_reader.h"
#include "sandbox/egress/parse/response_head.h"
#include "sandbox/egress/waiting.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
// The most interim responses before a response. Servers send one or two;
// progress (102) may take some more.
constexpr int kMaxInterims = 100;

// Appends a body's content in the framing with which it is passed on.
void AppendContent(std::string_view content, const BodyFraming& framing,
                   std::string& out) {
  if (content.empty()) return;
  const bool chunked = framing.kind == BodyFraming::Kind::kChunked;
  if (chunked) AppendChunkHead(content.size(), out);
  out.append(content);
  if (chunked) out.append(kChunkEnd);
}

// The program's side: the rest of its request.
class RequestFlow {
 public:
  RequestFlow(const RequestHead& head, std::string& behind)
      : framing_(head.framing), body_(head.framing), behind_(behind) {
    out_ = SerializeRequestHead(head, /*keep_alive=*/true);
    std::string_view rest = behind_;
    ForwardBody(rest);
    behind_.erase(0, behind_.size() - rest.size());
  }

  bool wants_more() const { return !ended() && out_.empty(); }
  bool ended() const { return body_.state() == BodyReader::State::kEnd; }
  std::string& out() { return out_; }

  // Checks what has come so far.
  absl::Status Check() const {
    if (body_.state() != BodyReader::State::kRefused) return absl::OkStatus();
    return absl::InvalidArgumentError(body_.words());
  }

  absl::Status Feed(std::string_view data) {
    if (data.empty()) {
      return absl::UnavailableError("the program ended inside its request");
    }
    ForwardBody(data);
    behind_.append(data);
    return Check();
  }

 private:
  void ForwardBody(std::string_view& data) {
    if (last_said_) return;
    while (!data.empty() && body_.state() == BodyReader::State::kMore) {
      AppendContent(body_.Read(data), framing_, out_);
    }
    if (ended() && framing_.kind == BodyFraming::Kind::kChunked) {
      out_.append(kLastChunk);
    }
    last_said_ = ended();
  }

  const BodyFraming framing_;
  BodyReader body_;
  std::string& behind_;
  std::string out_;
  bool last_said_ = false;
};

// The server's side: interim responses and the final one.
class ResponseFlow {
 public:
  ResponseFlow(const RequestHead& request, const RuleSecrets& secrets)
      : request_(request), secrets_(secrets), parser_(request.method) {}

  bool wants_more() const { return !ended_ && out_.empty(); }
  bool ended() const { return ended_; }
  std::string& out() { return out_; }
  bool heard() const { return heard_; }
  bool final_began() const { return body_.has_value(); }
  bool program_keeps() const { return program_keeps_; }
  bool server_keeps() const { return server_keeps_; }

  absl::Status Feed(std::string_view data) {
    if (data.empty()) return AtClose();
    heard_ = true;
    while (!data.empty() && !ended_) {
      if (!body_) {
        if (absl::Status taken = ParseHead(data); !taken.ok()) return taken;
        continue;
      }
      AppendContent(body_->Read(data), framing_, out_);
      if (body_->state() == BodyReader::State::kRefused) {
        return absl::DataLossError(body_->words());
      }
      if (body_->state() == BodyReader::State::kEnd) End();
    }
    // Nobody asked for what comes after the response.
    if (!data.empty()) server_keeps_ = false;
    return absl::OkStatus();
  }

 private:
  absl::Status ParseHead(std::string_view& data) {
    const HeadState state = parser_.Feed(data);
    if (state == HeadState::kRefused) {
      return absl::DataLossError(parser_.refusal().words);
    }
    if (state == HeadState::kNeedMore) return absl::OkStatus();
    ResponseHead head = std::move(parser_.head());
    secrets_.RemoveFrom(head);
    if (head.interim()) {
      if (++interims_ > kMaxInterims) {
        return absl::DataLossError("the server never comes to its response");
      }
      // Programs that speak HTTP/1.0 don't know interim responses (RFC 9110,
      // section 15.2).
      if (request_.minor_version > 0) {
        out_ += SerializeResponseHead(head, {}, /*keep_alive=*/true);
      }
      parser_ = ResponseHeadParser(request_.method);
      return absl::OkStatus();
    }
    framing_ = DownstreamFraming(head, request_.minor_version);
    program_keeps_ =
        request_.keep_alive && framing_.kind != BodyFraming::Kind::kUntilClose;
    server_keeps_ = head.keep_alive;
    out_ += SerializeResponseHead(head, framing_, program_keeps_);
    body_.emplace(head.framing);
    if (body_->state() == BodyReader::State::kEnd) End();
    return absl::OkStatus();
  }

  void End() {
    ended_ = true;
    if (framing_.kind == BodyFraming::Kind::kChunked) out_.append(kLastChunk);
  }

  absl::Status AtClose() {
    server_keeps_ = false;
    if (!body_ || !body_->AtClose()) {
      return absl::UnavailableError(
          "the server closed the connection before its response was whole");
    }
    if (!ended_) End();
    return absl::OkStatus();
  }

  const RequestHead& request_;
  const RuleSecrets& secrets_;
  ResponseHeadParser parser_;
  std::optional<BodyReader> body_;  // follows the final head
  BodyFraming framing_;             // in which the program gets it
  std::string out_;
  int interims_ = 0;
  bool heard_ = false;
  bool ended_ = false;
  bool program_keeps_ = false;
  bool server_keeps_ = false;
};

// Sends what can be sent without waiting.
absl::Status Push(Stream& to, std::string& out) {
  const absl::StatusOr<size_t> size = to.TryWrite(out);
  if (!size.ok()) return size.status();
  out.erase(0, *size);
  return absl::OkStatus();
}

class Exchanger {
 public:
  Exchanger(Lease& lease, const RequestHead& head, Stream& program,
            std::string& behind, Stream& server, const RuleSecrets& secrets)
      : lease_(lease),
        request_(head, behind),
        response_(head, secrets),
        program_(program),
        server_(server),
        buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)) {}

  Exchanged Run() {
    Exchanged done;
    done.status = request_.Check();
    if (done.status.ok()) done.status = Loop();
    done.heard = response_.heard();
    done.answered = answered_;
    done.request_ended = request_.ended();
    done.program_keeps = response_.program_keeps() && request_.ended();
    done.server_keeps =
        response_.server_keeps() && request_.ended() && request_.out().empty();
    return done;
  }

 private:
  absl::Status Loop() {
    absl::Time last = os::SteadyNow();
    while (!response_.ended() || !response_.out().empty()) {
      const absl::Time until = last + lease_.limits().idle;
      if (os::SteadyNow() >= until) {
        return absl::DeadlineExceededError("nobody said anything for too long");
      }
      std::array<pollfd, 3> fds = Wishes();
      const bool more = HasMore();
      if (::poll(fds.data(), fds.size(), more ? 0 : PollTimeout(until)) < 0 &&
          errno != EINTR) {
        return os::ErrnoStatus("poll");
      }
      if (fds[2].revents != 0) {
        return absl::CancelledError("the jail has ended");
      }
      const bool program = fds[0].revents != 0;
      const bool server = fds[1].revents != 0;
      if (!program && !server && !more) continue;
      last = os::SteadyNow();
      if (absl::Status moved = Move(program || more, server || more);
          !moved.ok()) {
        return moved;
      }
    }
    return absl::OkStatus();
  }

  std::array<pollfd, 3> Wishes() {
    std::array<pollfd, 3> fds = {{{program_.socket(), 0, 0},
                                  {server_.socket(), 0, 0},
                                  {lease_.patience().ended, POLLIN, 0}}};
    fds[0].events = program_.Events(WantsBody(), !response_.out().empty());
    fds[1].events = server_.Events(
        response_.wants_more(), !request_.out().empty() && !response_.ended());
    for (pollfd& fd : fds) {
      if (fd.events == 0) fd.fd = -1;
    }
    return fds;
  }

  // Whether wanted data is there that poll(2) doesn't report.
  bool HasMore() const {
    return (WantsBody() && program_.HasMore()) ||
           (response_.wants_more() && server_.HasMore());
  }

  // Once there is a response, nobody needs the rest of the body.
  bool WantsBody() const {
    return request_.wants_more() && !server_deaf_ && !response_.ended();
  }

  // The arguments say on which of the two connections something may be done.
  absl::Status Move(bool program, bool server) {
    if (response_.wants_more() && server) {
      if (absl::Status fed = Pull(server_, response_); !fed.ok()) return fed;
    }
    if (!response_.out().empty()) {
      if (absl::Status sent = Push(program_, response_.out()); !sent.ok()) {
        return sent;
      }
      // After a part of an interim response no other response can be sent
      // either.
      answered_ = response_.final_began() || !response_.out().empty();
    }
    if (response_.ended()) return absl::OkStatus();
    if (WantsBody() && program) {
      if (absl::Status fed = Pull(program_, request_); !fed.ok()) return fed;
    }
    if (request_.out().empty()) return absl::OkStatus();
    // A server that reads no further may still have sent an answer.
    if (!Push(server_, request_.out()).ok()) {
      server_deaf_ = true;
      request_.out().clear();
    }
    return absl::OkStatus();
  }

  template <typename Flow>
  absl::Status Pull(Stream& from, Flow& flow) {
    const absl::StatusOr<std::optional<size_t>> size =
        from.TryRead({buffer_.get(), kReadBytes});
    if (!size.ok()) return size.status();
    if (!*size) return absl::OkStatus();
    return flow.Feed({buffer_.get(), **size});
  }

  Lease& lease_;
  RequestFlow request_;
  ResponseFlow response_;
  Stream& program_;
  Stream& server_;
  const std::unique_ptr<char[]> buffer_;
  bool answered_ = false;
  bool server_deaf_ = false;
};

}  // namespace

Exchanged Exchange(Lease& lease, const RequestHead& head, Stream& program,
                   std::string& behind, Stream& server,
                   const RuleSecrets& secrets) {
  return Exchanger(lease, head, program, behind, server, secrets).Run();
}

}  // namespace sandglass::egress
