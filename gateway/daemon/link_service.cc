#include "gateway/daemon/link_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/ports/port_heads.h"
#include "gateway/ports/port_target.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "sandglass/v1/port.pb.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/edge/unary_call.h"

namespace sandglass::gateway {
namespace {

constexpr char kCreateLink[] = "/sandglass.v1.PortService/CreateLink";
constexpr uint32_t kMaxPort = 65535;
constexpr absl::Duration kUsual = absl::Hours(1);
constexpr absl::Duration kMost = absl::Hours(24 * 30);

class LinkService final : public grpc::Service {
 public:
  LinkService(const LinkSigner* links, LinkPlaces places,
              const server::PeerTable& peers)
      : links_(links), places_(std::move(places)), peers_(peers) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kCreateLink, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        0, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer,
                                                    grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context,
                      const grpc::ByteBuffer* request,
                      grpc::ByteBuffer* response) {
                 return server::Serve<v1::CreateLinkRequest>(
                     peers_, context, request, response,
                     [this](const server::Identity& caller,
                            const v1::CreateLinkRequest& message) {
                       return Create(caller, message);
                     });
               }));
  }

 private:
  absl::StatusOr<v1::CreateLinkResponse> Create(
      const server::Identity& caller, const v1::CreateLinkRequest& request) {
    if (links_ == nullptr) return server::NoLinks();
    if (!IsSessionId(request.session_id())) {
      return server::InvalidRequest({{"session_id", "is no session's id"}});
    }
    if (request.port() == 0 || request.port() > kMaxPort) {
      return server::InvalidRequest({{"port", "must be 1 to 65535"}});
    }
    const absl::Duration duration =
        request.has_duration() ? server::FromProto(request.duration()) : kUsual;
    if (duration < absl::Seconds(1) || duration > kMost) {
      return server::InvalidRequest({{"duration", "must be 1s to 30 days"}});
    }
    const absl::Time expires = std::min(absl::Now() + duration, caller.expires);
    const std::string link = links_->Sign({.session = request.session_id(),
                                           .port = request.port(),
                                           .expires = expires,
                                           .caller = caller});
    v1::CreateLinkResponse response;
    response.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(expires));
    response.set_url(
        places_.domain.empty()
            ? absl::StrCat(places_.url, "/links/", link, "/")
            : absl::StrCat(
                  "https://",
                  HostOf(request.session_id(), request.port(), places_.domain),
                  PortOfUrl(), "/?", kLinkParameter, "=", link));
    return response;
  }

  // ":8443" where the gateway's URL has that.
  std::string PortOfUrl() const {
    const size_t colon = places_.url.rfind(':');
    constexpr size_t kBehindScheme = 6;
    return colon != std::string::npos && colon > kBehindScheme
               ? places_.url.substr(colon)
               : "";
  }

  const LinkSigner* const links_;
  const LinkPlaces places_;
  const server::PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLinkService(const LinkSigner* links,
                                               LinkPlaces places,
                                               const server::PeerTable& peers) {
  return std::make_unique<LinkService>(links, std::move(places), peers);
}

}  // namespace sandglass::gateway
