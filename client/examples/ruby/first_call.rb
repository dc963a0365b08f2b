# First calls with nothing but gRPC: a run whose output comes as it is written,
# and a session, which keeps its state.
#
#   sudo apt install ruby-grpc ruby-grpc-tools      # or: gem install grpc grpc-tools
#   mkdir stubs && grpc_tools_ruby_protoc -I proto --ruby_out=stubs \
#       --grpc_out=stubs proto/google/rpc/*.proto proto/sandglass/v1/*.proto
#   sudo ruby -I stubs client/examples/ruby/first_call.rb [ADDRESS]

require "google/protobuf/well_known_types" # unpacks details
require "google/rpc/error_details_pb"
require "google/rpc/status_pb"
require "sandglass/v1/sandbox_service_services_pb"
require "sandglass/v1/session_service_services_pb"

include Sandglass::V1

CODE = <<~PYTHON
  import time
  for n in range(1, 4):
      print(n * n, flush=True)
      time.sleep(0.3)
PYTHON

def stream(sandbox)
  five_seconds = Google::Protobuf::Duration.new(seconds: 5)
  run = RunCodeRequest.new(language: "python", code: CODE,
                           limits: Limits.new(wall_time: five_seconds))
  sandbox.stream_run_code(StreamRunCodeRequest.new(run: run)).each do |event|
    case event.event
    when :chunk
      $stdout.write(event.chunk.data)
    when :result
      # What becomes of a program is never a gRPC error.
      result = event.result
      start = result.timings&.warm ? "warm" : "cold"
      puts "#{result.outcome}, #{start}: #{result.evidence.explanation}"
    end
  end
end

def in_steps(sandbox, sessions)
  created = sessions.create_session(CreateSessionRequest.new(language: "python"))
  id = created.session.session_id
  ["x = 20", "x + 1"].each do |cell|
    answer = sandbox.run_code(RunCodeRequest.new(session_id: id, code: cell))
    answer.results.each { |result| puts result.data[0].data }
  end
ensure
  sessions.delete_session(DeleteSessionRequest.new(session_id: id)) if id
end

def reason(error)
  details = error.metadata["grpc-status-details-bin"]
  return error.class.name.split("::").last unless details

  Google::Rpc::Status.decode(details).details.each do |any|
    next unless any.is(Google::Rpc::ErrorInfo)

    return any.unpack(Google::Rpc::ErrorInfo).reason
  end
end

# Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the
# authority of the daemon's certificate; $SANDGLASS_TOKEN says who calls.
def credentials
  ca, token = ENV.values_at("SANDGLASS_CA", "SANDGLASS_TOKEN")
  return :this_channel_is_insecure unless ca

  channel = GRPC::Core::ChannelCredentials.new(File.read(ca))
  return channel unless token

  bearer = proc { { authorization: "Bearer #{token}" } }
  channel.compose(GRPC::Core::CallCredentials.new(bearer))
end

$stdout.sync = true
address = ARGV[0] || ENV["SANDGLASS_ADDRESS"] || "unix:/run/sandglass/sandglass.sock"
# gRPC takes 4 MiB unless told otherwise; an answer may have 16.
options = { timeout: 30,
            channel_args: { "grpc.max_receive_message_length" => 16 << 20 } }
sandbox = SandboxService::Stub.new(address, credentials, **options)
sessions = SessionService::Stub.new(address, credentials, **options)
begin
  stream(sandbox)
  in_steps(sandbox, sessions)
rescue GRPC::BadStatus => e
  warn "#{reason(e)}: #{e.details}"
  exit 1
end
