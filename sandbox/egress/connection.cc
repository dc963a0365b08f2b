#include "sandbox/egress/connection.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/exchange.h"
#include "sandbox/egress/parse/client_hello.h"
#include "sandbox/egress/parse/http_head.h"
#include "sandbox/egress/relay.h"
#include "sandbox/egress/stream.h"
#include "sandbox/egress/upstream.h"
#include "sandbox/egress/waiting.h"

namespace sandglass::egress {
namespace {

using policy::HostSyntax;

// RFC 8446, section 6: a fatal alert, unrecognized_name.
constexpr std::string_view kUnrecognizedName("\x15\x03\x03\x00\x02\x02\x70", 7);
// RFC 7301, section 3.2: no_application_protocol.
constexpr std::string_view kNoProtocol("\x15\x03\x03\x00\x02\x02\x78", 7);
constexpr std::string_view kEstablished =
    "HTTP/1.1 200 Connection established\r\n\r\n";
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

// The HTTP status with which a program is answered after this failure.
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
  Connection(Lease& lease, const Services& services, os::Fd program,
             const Entrance& entrance)
      : lease_(lease),
        services_(services),
        program_(std::move(program), Stream::Peer::kProgram, lease),
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
  // Reads some more bytes into `buffered_`. Returns false when there are none.
  bool More() {
    const absl::StatusOr<size_t> size =
        program_.Read(absl::MakeSpan(chunk_), until_spoken_);
    if (absl::IsResourceExhausted(size.status())) {
      lease_.RecordRefusal("", kUsedUp);
    }
    if (!size.ok() || *size == 0) return false;
    buffered_.append(chunk_.data(), *size);
    return true;
  }

  void BeginToListen() {
    until_spoken_ = lease_.patience().AtMost(lease_.limits().to_speak);
  }

  // Returns true when another request may follow.
  bool ServeRequest() {
    std::optional<RequestHead> head = ReadHead();
    if (!head) return false;
    if (inside_) return ServeInside(*head);
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

  // Serves a request inside TLS, where only one server may be asked.
  bool ServeInside(RequestHead& head) {
    const absl::StatusOr<policy::RequestedHost> host =
        policy::ParseRequestedHost(head.host, HostSyntax::kAuthority);
    if (host.ok() && *host == inside_->host && head.port == inside_->port) {
      return Forward(head, *inside_);
    }
    return Refuse(
        absl::StrCat(head.host, ":", head.port),
        absl::StrCat("this connection is for ",
                     TargetText(inside_->host, inside_->port), " alone"));
  }

  std::optional<RequestHead> ReadHead() {
    BeginToListen();
    const bool to_server = entrance_.name || inside_;
    const uint16_t default_port =
        inside_ ? policy::kHttpsPort : policy::kHttpPort;
    RequestHeadParser parser({.proxy_forms = !to_server,
                              .origin_form = to_server,
                              .default_port = default_port});
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

  bool Forward(RequestHead& head, const Destination& to) {
    const policy::AllowedHost& rule = RuleOf(to);
    const RuleSecrets secrets(services_.secrets, rule, inside_.has_value());
    if (!policy::AllowsMethod(rule, head.method)) {
      return Refuse(
          TargetText(to.host, to.port),
          absl::StrCat("method ", head.method, " isn't among those ",
                       "that are allowed for ", rule.host.ToString()));
    }
    if (const absl::Status put =
            secrets.PutInto(head.fields, TargetText(to.host, to.port));
        !put.ok()) {
      return Refuse(TargetText(to.host, to.port), std::string(put.message()));
    }
    const bool reused = CanServe(to);
    if (!reused && !Connect(to)) return false;
    Exchanged done = Pass(head, secrets);
    // A server may close a connection that it kept open just when the next
    // request comes. A request that changes nothing is then sent again (RFC
    // 9112, section 9.3.1).
    if (absl::IsUnavailable(done.status) && reused && !done.heard &&
        (head.method == "GET" || head.method == "HEAD") &&
        head.framing.kind == BodyFraming::Kind::kNone) {
      if (!Connect(to)) return false;
      done = Pass(head, secrets);
    }
    if (!done.server_keeps) server_.reset();
    if (absl::IsResourceExhausted(done.status)) {
      lease_.RecordRefusal(TargetText(to.host, to.port),
                           std::string(done.status.message()));
    }
    if (!done.status.ok()) {
      if (!done.answered) return AnswerFailure(WithoutQuotes(done, rule));
      // A response that ended early must not look complete.
      program_.Reset();
      return false;
    }
    if (!done.request_ended) LetItRead();
    return done.program_keeps;
  }

  Exchanged Pass(const RequestHead& head, const RuleSecrets& secrets) {
    return Exchange(lease_, head, program_, buffered_, *server_, secrets);
  }

  // Messages about what a server sends quote it, and the quote may contain part
  // of a secret.
  static absl::Status WithoutQuotes(const Exchanged& done,
                                    const policy::AllowedHost& rule) {
    if (!absl::IsDataLoss(done.status) || rule.secrets.empty()) {
      return done.status;
    }
    return absl::DataLossError(
        "the server's response isn't HTTP as it has to be; what it is isn't "
        "shown, since it was sent secrets");
  }

  const policy::AllowedHost& RuleOf(const Destination& to) const {
    return lease_.policy().hosts[to.rule];
  }

  // Sets `server_`. Returns false when that failed; the program was told the
  // reason.
  bool Connect(const Destination& to) {
    server_.reset();
    const Patience patience =
        lease_.patience().AtMost(lease_.limits().to_connect);
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, services_.resolver, to);
    if (!server.ok()) return AnswerFailure(server.status());
    server_ = std::make_unique<Stream>(*std::move(server),
                                       Stream::Peer::kServer, lease_);
    served_.emplace(to);
    return !inside_ || BeginTls(to, patience);
  }

  // Begins TLS with the server. Returns the same as Connect.
  bool BeginTls(const Destination& to, const Patience& patience) {
    const absl::Status begun =
        server_->ConnectTls(*services_.to_servers, to.host, patience);
    if (begun.ok()) return true;
    server_.reset();
    const std::string target = TargetText(to.host, to.port);
    const std::string words = absl::StrCat("no TLS with ", target, ": ",
                                           absl::string_view(begun.message()));
    if (absl::IsFailedPrecondition(begun) || absl::IsResourceExhausted(begun)) {
      lease_.RecordRefusal(target, words);
    }
    return AnswerFailure(absl::Status(begun.code(), words));
  }

  // Whether the previous request's connection goes there and is still usable.
  bool CanServe(const Destination& to) {
    return server_ != nullptr && served_ && served_->host == to.host &&
           served_->port == to.port && server_->IsIdle();
  }

  // In a tunnel nobody sees what is sent, so rules that have to see it allow
  // none.
  std::string WhyNoTunnel(size_t of) const {
    const policy::AllowedHost& rule = lease_.policy().hosts[of];
    if (!rule.inspect && rule.methods.empty() && rule.secrets.empty()) {
      return "";
    }
    return absl::StrCat("what ", rule.host.ToString(), " is asked has to be ",
                        "seen, so there are no tunnels to it");
  }

  void Tunnel(const Destination& to) {
    if (RuleOf(to).inspect) {
      if (const std::string words = WhyNotInside(to); !words.empty()) {
        Refuse(TargetText(to.host, to.port), words);
      } else if (Send(kEstablished)) {
        ServeInsideTls(to);
      }
      return;
    }
    if (const std::string words = WhyNoTunnel(to.rule); !words.empty()) {
      Refuse(TargetText(to.host, to.port), words);
      return;
    }
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, services_.resolver, to);
    if (!server.ok()) {
      AnswerFailure(server.status());
      return;
    }
    if (!Send(kEstablished)) return;
    if (!CheckHello(to)) return;
    PassOn(server->get());
  }

  // Serves a TLS connection to an address that stands for a name.
  void ServeTls() {
    const absl::StatusOr<Destination> to = Allowed(
        lease_, *entrance_.name, HostSyntax::kAuthority, entrance_.port);
    if (!to.ok()) return;
    const bool inspect = RuleOf(*to).inspect;
    const std::string words =
        inspect ? WhyNotInside(*to) : WhyNoTunnel(to->rule);
    if (!words.empty()) {
      lease_.RecordRefusal(TargetText(to->host, to->port), words);
      return;
    }
    if (inspect) return ServeInsideTls(*to);
    if (!CheckHello(*to)) return;
    absl::StatusOr<os::Fd> server = ConnectTo(lease_, services_.resolver, *to);
    if (!server.ok()) return;
    PassOn(server->get());
  }

  // Without an authority nothing can be inspected, so nothing is passed on.
  std::string WhyNotInside(const Destination& to) const {
    if (services_.authority != nullptr) return "";
    return absl::StrCat("what ", RuleOf(to).host.ToString(), " is asked has ",
                        "to be seen, and the proxy has no certificate ",
                        "authority to end TLS with");
  }

  // Terminates the program's TLS here and serves the requests inside. The
  // connection to the server is made with the first request, so that a failure
  // can be reported in an answer.
  void ServeInsideTls(const Destination& to) {
    if (!CheckHello(to)) return;
    const std::string target = TargetText(to.host, to.port);
    const absl::StatusOr<Authority::ContextPtr> context =
        services_.authority->Issue(to.host);
    if (!context.ok()) {
      lease_.RecordRefusal(target, std::string(context.status().message()));
      return;
    }
    const absl::Status begun = program_.AcceptTls(
        **context, std::exchange(buffered_, {}), until_spoken_);
    if (absl::IsUnavailable(begun)) {
      lease_.RecordRefusal(
          target, absl::StrCat("the program ended TLS with the proxy (",
                               absl::string_view(begun.message()),
                               "); it has to trust the proxy's authority"));
    } else if (absl::IsResourceExhausted(begun)) {
      lease_.RecordRefusal("", kUsedUp);
    }
    if (!begun.ok()) return;
    inside_.emplace(to);
    while (ServeRequest()) {
    }
  }

  // Waits for the TLS hello, which stays in `buffered_`, and checks which host
  // it is for. Returns false when it isn't for this destination.
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
        lease_.RecordRefusal(TargetText(to.host, to.port), words);
        return false;
      }
      if (!More()) return false;
    }
    const std::string wrong = WrongHello(parser.hello(), to);
    if (!wrong.empty()) {
      lease_.RecordRefusal(TargetText(to.host, to.port), wrong);
      (void)Send(kUnrecognizedName);
      return false;
    }
    if (RuleOf(to).inspect && !SpeaksHttp11(parser.hello())) {
      lease_.RecordRefusal(
          TargetText(to.host, to.port),
          "where TLS is looked into, the proxy speaks HTTP/1.1 "
          "alone, and the TLS hello doesn't offer it");
      (void)Send(kNoProtocol);
      return false;
    }
    return true;
  }

  static bool SpeaksHttp11(const ClientHello& hello) {
    return hello.alpn.empty() || std::find(hello.alpn.begin(), hello.alpn.end(),
                                           "http/1.1") != hello.alpn.end();
  }

  std::string WrongHello(const ClientHello& hello, const Destination& to) {
    // The name that counts may be the encrypted one, which can't be read.
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
    // If an address is inspected, what is inside the connection has to be for
    // that address.
    if (!to.host.address() || RuleOf(to).inspect) {
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
    const absl::Status passed = Relay(lease_, program_.socket(), server);
    if (passed.ok()) return;
    program_.Reset();
    Reset(server);
    if (absl::IsResourceExhausted(passed)) lease_.RecordRefusal("", kUsedUp);
  }

  bool Send(std::string_view text) {
    return program_
        .Write(text, lease_.patience().AtMost(lease_.limits().to_speak))
        .ok();
  }

  bool Refuse(const std::string& target, const std::string& words) {
    lease_.RecordRefusal(target, words);
    return Answer(403, words);
  }

  bool AnswerFailure(const absl::Status& failed) {
    return Answer(StatusFor(failed), std::string(failed.message()));
  }

  // Always returns false: no other request can follow.
  bool Answer(int status, const std::string& words) {
    const std::string body = absl::StrCat("sandglass: ", words, "\n");
    if (Send(absl::StrCat("HTTP/1.1 ", status, " ", Reason(status),
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

  // Closing a connection with unread bytes resets it, and then the answer is
  // lost (RFC 9112, section 9.6).
  void LetItRead() {
    constexpr absl::Duration kLongest = absl::Seconds(5);
    program_.EndWriting();
    until_spoken_ = lease_.patience().AtMost(kLongest);
    do {
      buffered_.clear();
    } while (More());
  }

  Lease& lease_;
  const Services& services_;
  Stream program_;
  const Entrance& entrance_;
  Patience until_spoken_ = lease_.patience();
  std::string buffered_;            // read but not used yet
  std::unique_ptr<Stream> server_;  // of the previous request
  std::optional<Destination> served_;
  // Set when the program's TLS ends here: the destination of everything it asks
  // for.
  std::optional<Destination> inside_;
  std::array<char, size_t{16} << 10> chunk_;
};

}  // namespace

void ServeConnection(Lease& lease, const Services& services, os::Fd program,
                     const Entrance& entrance) {
  Connection(lease, services, std::move(program), entrance).Serve();
}

}  // namespace sandglass::egress
