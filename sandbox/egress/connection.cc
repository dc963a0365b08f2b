#include "sandbox/egress/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/client_hello.h"
#include "sandbox/egress/exchange.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/relay.h"
#include "sandbox/egress/upstream.h"
#include "sandbox/egress/waiting.h"

namespace sandglass::egress {
namespace {

using policy::HostSyntax;

// RFC 8446, section 6: a fatal alert, unrecognized_name.
constexpr std::string_view kUnrecognizedName("\x15\x03\x03\x00\x02\x02\x70", 7);
// The first byte of a TLS connection: a handshake record.
constexpr char kTlsHandshake = 0x16;

const char* Reason(int status) {
  switch (status) {
    case 403:
      return "Forbidden";
    case 502:
      return "Bad Gateway";
    case 504:
      return "Gateway Timeout";
    default:
      return "Refused";
  }
}

// What a program is answered when its wish fails so.
int StatusFor(const absl::Status& failed) {
  switch (failed.code()) {
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 502;
  }
}

class Connection {
 public:
  Connection(Lease& lease, const Resolver& resolver, os::Fd program,
             const Entrance& entrance)
      : lease_(lease),
        resolver_(resolver),
        program_(std::move(program)),
        entrance_(entrance) {}

  void Serve() {
    if (entrance_.name) {
      BeginToListen();
      if (!More()) return;
      if (buffered_[0] == kTlsHandshake) return ServeTls();
    }
    while (ServeRequest()) {
    }
  }

 private:
  // Reads some more bytes into `buffered_`. False: there are none.
  bool More() {
    const absl::StatusOr<size_t> size =
        ReadSome(program_.get(), absl::MakeSpan(chunk_), until_spoken_);
    if (!size.ok() || *size == 0) return false;
    if (!lease_.SpendUp(*size)) {
      lease_.NoteRefusal("", kUsedUp);
      return false;
    }
    buffered_.append(chunk_.data(), *size);
    return true;
  }

  void BeginToListen() {
    until_spoken_ = lease_.patience().AtMost(lease_.limits().to_speak);
  }

  // True: there may be another.
  bool ServeRequest() {
    const std::optional<RequestHead> head = ReadHead();
    if (!head) return false;
    if (entrance_.name &&
        (head->host != *entrance_.name || head->port != entrance_.port)) {
      return Refuse(absl::StrCat(head->host, ":", head->port),
                    absl::StrCat("this address stands for ", *entrance_.name,
                                 " port ", entrance_.port, " alone"));
    }
    const absl::StatusOr<Destination> to =
        Allowed(lease_, head->host, HostSyntax::kAuthority, head->port);
    if (!to.ok()) return AnswerFailure(to.status());
    if (head->form == TargetForm::kAuthority) {
      Tunnel(*to);
      return false;
    }
    return Forward(*head, *to);
  }

  std::optional<RequestHead> ReadHead() {
    BeginToListen();
    RequestHeadParser parser({.proxy_forms = !entrance_.name,
                              .origin_form = entrance_.name.has_value(),
                              .default_port = 80});
    for (;;) {
      std::string_view data = buffered_;
      const HeadState state = parser.Feed(data);
      buffered_.erase(0, buffered_.size() - data.size());
      if (state == HeadState::kComplete) return std::move(parser.head());
      if (state == HeadState::kRefused) {
        Answer(parser.refusal().status, parser.refusal().words);
        return std::nullopt;
      }
      if (!More()) return std::nullopt;
    }
  }

  bool Forward(const RequestHead& head, const Destination& to) {
    const policy::AllowedHost& rule = lease_.policy().hosts[to.rule];
    if (!policy::AllowsMethod(rule, head.method)) {
      return Refuse(
          TargetText(to.host, to.port),
          absl::StrCat("method ", head.method, " isn't among those ",
                       "that are allowed for ", rule.host.ToString()));
    }
    const bool reused = CanServe(to);
    if (!reused && !Connect(to)) return false;
    Exchanged done = Pass(head);
    // A server may close a connection that it kept just as the next request
    // comes: what changes nothing is asked again (RFC 9112, section 9.3.1).
    if (absl::IsUnavailable(done.status) && reused && !done.heard &&
        (head.method == "GET" || head.method == "HEAD") &&
        head.framing.kind == BodyFraming::Kind::kNone) {
      if (!Connect(to)) return false;
      done = Pass(head);
    }
    if (!done.server_keeps) server_.reset();
    if (absl::IsResourceExhausted(done.status)) {
      lease_.NoteRefusal(TargetText(to.host, to.port),
                         std::string(done.status.message()));
    }
    if (!done.status.ok()) {
      if (!done.answered) return AnswerFailure(done.status);
      // What ended early is not to look whole.
      Reset(program_.get());
      return false;
    }
    if (!done.request_ended) LetItRead();
    return done.program_keeps;
  }

  Exchanged Pass(const RequestHead& head) {
    return Exchange(lease_, head, program_.get(), buffered_, server_.get());
  }

  // Into `server_`; false: the program was told why not.
  bool Connect(const Destination& to) {
    server_.reset();
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, resolver_, to);
    if (!server.ok()) return AnswerFailure(server.status());
    server_ = *std::move(server);
    served_.emplace(to);
    return true;
  }

  // Whether the connection of the request before goes there, and still stands.
  bool CanServe(const Destination& to) const {
    if (!server_.valid() || !served_ || !(served_->host == to.host) ||
        served_->port != to.port) {
      return false;
    }
    // An idle server says nothing: its end, or what nobody asked for.
    pollfd fd = {server_.get(), POLLIN, 0};
    return ::poll(&fd, 1, 0) == 0;
  }

  // Of a tunnel nobody sees what goes through it.
  std::string WhyNoTunnel(size_t of) const {
    const policy::AllowedHost& rule = lease_.policy().hosts[of];
    if (!rule.inspect && rule.methods.empty()) return "";
    return absl::StrCat("what ", rule.host.ToString(), " is asked has to be ",
                        "seen, so there are no tunnels to it");
  }

  void Tunnel(const Destination& to) {
    if (const std::string words = WhyNoTunnel(to.rule); !words.empty()) {
      Refuse(TargetText(to.host, to.port), words);
      return;
    }
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, resolver_, to);
    if (!server.ok()) {
      AnswerFailure(server.status());
      return;
    }
    if (!Say("HTTP/1.1 200 Connection established\r\n\r\n")) return;
    if (!CheckHello(to)) return;
    PassOn(server->get());
  }

  // A connection to an address that stands for a name, with TLS.
  void ServeTls() {
    const absl::StatusOr<Destination> to = Allowed(
        lease_, *entrance_.name, HostSyntax::kAuthority, entrance_.port);
    if (!to.ok()) return;
    if (const std::string words = WhyNoTunnel(to->rule); !words.empty()) {
      lease_.NoteRefusal(TargetText(to->host, to->port), words);
      return;
    }
    if (!CheckHello(*to)) return;
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, resolver_, *to);
    if (!server.ok()) return;
    PassOn(server->get());
  }

  // Waits for the TLS hello, which stays in `buffered_`, and looks whom it is
  // for. False: it is not for there.
  bool CheckHello(const Destination& to) {
    BeginToListen();
    ClientHelloParser parser;
    size_t seen = 0;
    for (;;) {
      const ClientHelloParser::State state =
          parser.Feed(std::string_view(buffered_).substr(seen));
      seen = buffered_.size();
      if (state == ClientHelloParser::State::kComplete) break;
      std::string words;
      if (state == ClientHelloParser::State::kNotTls) {
        words =
            "only TLS goes through a tunnel; ask the proxy for http:// by URL";
      } else if (state == ClientHelloParser::State::kRefused) {
        words = parser.words();
      }
      if (!words.empty()) {
        lease_.NoteRefusal(TargetText(to.host, to.port), words);
        return false;
      }
      if (!More()) return false;
    }
    const std::string wrong = WrongHello(parser.hello(), to);
    if (wrong.empty()) return true;
    lease_.NoteRefusal(TargetText(to.host, to.port), wrong);
    (void)Say(kUnrecognizedName);
    return false;
  }

  std::string WrongHello(const ClientHello& hello, const Destination& to) {
    // The name that counts may be the one that can't be read.
    if (hello.encrypted_client_hello) {
      return "a TLS hello with an encrypted part (ECH) can't be checked; turn "
             "it off in the program";
    }
    if (!hello.server_name) {
      if (to.host.address()) return "";
      return absl::StrCat("the TLS hello names no server; it has to name ",
                          to.host.name());
    }
    const absl::StatusOr<policy::RequestedHost> named =
        policy::ParseRequestedHost(*hello.server_name, HostSyntax::kPlain);
    if (!named.ok()) return std::string(named.status().message());
    if (*named == to.host) return "";
    if (!to.host.address()) {
      return absl::StrCat("the TLS hello is for ", named->ToString(),
                          ", the tunnel for ", to.host.ToString());
    }
    const policy::NetworkDecision decision =
        policy::DecideHost(lease_.policy(), *named, to.port);
    if (!decision.allowed()) {
      return policy::Words(lease_.policy(), decision, *named, to.port);
    }
    return WhyNoTunnel(*decision.rule);
  }

  void PassOn(int server) {
    if (!WriteAll(server, buffered_,
                  lease_.patience().AtMost(lease_.limits().idle))
             .ok()) {
      return;
    }
    buffered_.clear();
    const absl::Status passed = Relay(lease_, program_.get(), server);
    if (passed.ok()) return;
    Reset(program_.get());
    Reset(server);
    if (absl::IsResourceExhausted(passed)) lease_.NoteRefusal("", kUsedUp);
  }

  bool Say(std::string_view text) {
    return WriteAll(program_.get(), text,
                    lease_.patience().AtMost(lease_.limits().to_speak))
        .ok();
  }

  bool Refuse(const std::string& target, const std::string& words) {
    lease_.NoteRefusal(target, words);
    return Answer(403, words);
  }

  bool AnswerFailure(const absl::Status& failed) {
    return Answer(StatusFor(failed), std::string(failed.message()));
  }

  // Always false: nothing comes after it.
  bool Answer(int status, const std::string& words) {
    const std::string body = absl::StrCat("sandglass: ", words, "\n");
    if (Say(absl::StrCat("HTTP/1.1 ", status, " ", Reason(status),
                         "\r\nContent-Type: text/plain; charset=utf-8\r\n"
                         "Content-Length: ",
                         body.size(),
                         "\r\nProxy-Status: sandglass\r\n"
                         "Connection: close\r\n\r\n",
                         body))) {
      LetItRead();
    }
    return false;
  }

  // A close with bytes that nobody has read resets the connection, and the
  // answer is lost with it (RFC 9112, section 9.6).
  void LetItRead() {
    constexpr absl::Duration kLongest = absl::Seconds(5);
    ::shutdown(program_.get(), SHUT_WR);
    until_spoken_ = lease_.patience().AtMost(kLongest);
    do {
      buffered_.clear();
    } while (More());
  }

  Lease& lease_;
  const Resolver& resolver_;
  const os::Fd program_;
  const Entrance& entrance_;
  Patience until_spoken_ = lease_.patience();
  std::string buffered_;  // read and not yet used
  os::Fd server_;         // of the request before
  std::optional<Destination> served_;
  std::array<char, size_t{16} << 10> chunk_;
};

}  // namespace

void ServeConnection(Lease& lease, const Resolver& resolver, os::Fd program,
                     const Entrance& entrance) {
  Connection(lease, resolver, std::move(program), entrance).Serve();
}

}  // namespace sandglass::egress
