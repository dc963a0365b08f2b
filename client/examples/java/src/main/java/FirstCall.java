import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import sandglass.v1.CreateSessionRequest;
import sandglass.v1.DeleteSessionRequest;
import sandglass.v1.Limits;
import sandglass.v1.RichResult;
import sandglass.v1.RunCodeRequest;
import sandglass.v1.RunCodeResponse;
import sandglass.v1.SandboxServiceGrpc;
import sandglass.v1.SessionServiceGrpc;
import sandglass.v1.StreamRunCodeRequest;

/**
 * First calls with nothing but gRPC: a run whose output comes as it is written, and a session,
 * which keeps its state.
 *
 * <pre>
 *   cd client/examples/java &amp;&amp; mvn -q compile
 *   sudo mvn -q exec:java -Dexec.args=/run/sandglass/sandglass.sock
 * </pre>
 */
public final class FirstCall {
  private static final String CODE =
      """
      import time
      for n in range(1, 4):
          print(n * n, flush=True)
          time.sleep(0.3)
      """;

  private static void stream(ManagedChannel channel) {
    var sandbox = SandboxServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
    var limits = Limits.newBuilder().setWallTime(Duration.newBuilder().setSeconds(5));
    var run = RunCodeRequest.newBuilder().setLanguage("python").setCode(CODE).setLimits(limits);
    var request = StreamRunCodeRequest.newBuilder().setRun(run).build();
    sandbox
        .streamRunCode(request)
        .forEachRemaining(
            event -> {
              if (event.hasChunk()) {
                // Bytes: a chunk may end within a character.
                System.out.writeBytes(event.getChunk().getData().toByteArray());
                System.out.flush();
              } else if (event.hasResult()) {
                // What becomes of a program is never a gRPC error.
                RunCodeResponse result = event.getResult();
                String start = result.getTimings().getWarm() ? "warm" : "cold";
                String explanation = result.getEvidence().getExplanation();
                System.out.println(result.getOutcome() + ", " + start + ": " + explanation);
              }
            });
  }

  private static void inSteps(ManagedChannel channel) {
    var sandbox = SandboxServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
    var sessions = SessionServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
    var create = CreateSessionRequest.newBuilder().setLanguage("python").build();
    String id = sessions.createSession(create).getSession().getSessionId();
    try {
      for (String cell : List.of("x = 20", "x + 1")) {
        var request = RunCodeRequest.newBuilder().setSessionId(id).setCode(cell).build();
        for (RichResult result : sandbox.runCode(request).getResultsList()) {
          System.out.println(result.getData(0).getData().toStringUtf8());
        }
      }
    } finally {
      sessions.deleteSession(DeleteSessionRequest.newBuilder().setSessionId(id).build());
    }
  }

  private static String reason(StatusRuntimeException error) {
    var status = StatusProto.fromThrowable(error);
    try {
      for (Any detail : status == null ? List.<Any>of() : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          return detail.unpack(ErrorInfo.class).getReason();
        }
      }
    } catch (InvalidProtocolBufferException unreadable) {
      // Then the code has to do.
    }
    return error.getStatus().getCode().toString();
  }

  /** Says who calls, in each call's metadata. */
  private static ClientInterceptor bearer(String token) {
    var metadata = new Metadata();
    var key = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    metadata.put(key, "Bearer " + token);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  /**
   * Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the authority of the
   * daemon's certificate; $SANDGLASS_TOKEN says who calls.
   */
  private static NettyChannelBuilder connect(String address, EpollEventLoopGroup group)
      throws IOException {
    String ca = System.getenv("SANDGLASS_CA");
    if (ca != null) {
      var trust = GrpcSslContexts.forClient().trustManager(new File(ca)).build();
      var remote = NettyChannelBuilder.forTarget(address).sslContext(trust);
      String token = System.getenv("SANDGLASS_TOKEN");
      return token == null ? remote : remote.intercept(bearer(token));
    }
    var path = new DomainSocketAddress(address.replaceFirst("^unix:", ""));
    return NettyChannelBuilder.forAddress(path)
        .eventLoopGroup(group)
        .channelType(EpollDomainSocketChannel.class)
        .withOption(ChannelOption.SO_KEEPALIVE, null) // unix sockets have none
        .usePlaintext();
  }

  public static void main(String[] args) throws IOException {
    String usual = "unix:/run/sandglass/sandglass.sock";
    String address = System.getenv().getOrDefault("SANDGLASS_ADDRESS", usual);
    var group = new EpollEventLoopGroup(1);
    // gRPC takes 4 MiB unless told otherwise; an answer may have 16.
    ManagedChannel channel =
        connect(args.length > 0 ? args[0] : address, group)
            .maxInboundMessageSize(16 << 20)
            .build();
    int code = 0;
    try {
      stream(channel);
      inSteps(channel);
    } catch (StatusRuntimeException error) {
      Throwable cause = error.getStatus().getCause(); // of an error of gRPC's own
      String message = error.getStatus().getDescription();
      System.err.println(reason(error) + ": " + (cause == null ? message : cause.getMessage()));
      code = 1;
    }
    channel.shutdownNow();
    group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    System.exit(code);
  }
}
