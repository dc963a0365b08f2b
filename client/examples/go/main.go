// First calls with nothing but gRPC: a run whose output comes as it is written,
// and a session, which keeps its state.
//
//	cd client/examples/go && ./generate.sh && go build -o first_call .
//	sudo ./first_call [ADDRESS]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "sandglass.dev/examples/first_call/sandglassv1"
)

const code = `
import time
for n in range(1, 4):
    print(n * n, flush=True)
    time.sleep(0.3)
`

func stream(ctx context.Context, sandbox v1.SandboxServiceClient) error {
	events, err := sandbox.StreamRunCode(ctx, &v1.StreamRunCodeRequest{
		Run: &v1.RunCodeRequest{
			Language: "python",
			Code:     code,
			Limits:   &v1.Limits{WallTime: durationpb.New(5 * time.Second)},
		},
	})
	if err != nil {
		return err
	}
	for {
		event, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if chunk := event.GetChunk(); chunk != nil {
			os.Stdout.Write(chunk.Data)
		} else if result := event.GetResult(); result != nil {
			// What becomes of a program is never a gRPC error.
			start := "cold"
			if result.Timings.GetWarm() {
				start = "warm"
			}
			fmt.Printf("%v, %s: %s\n", result.Outcome, start, result.Evidence.Explanation)
		}
	}
}

func inSteps(ctx context.Context, channel *grpc.ClientConn) error {
	sandbox := v1.NewSandboxServiceClient(channel)
	sessions := v1.NewSessionServiceClient(channel)
	created, err := sessions.CreateSession(ctx, &v1.CreateSessionRequest{Language: "python"})
	if err != nil {
		return err
	}
	id := created.Session.SessionId
	defer sessions.DeleteSession(ctx, &v1.DeleteSessionRequest{SessionId: id})
	for _, cell := range []string{"x = 20", "x + 1"} {
		answer, err := sandbox.RunCode(ctx, &v1.RunCodeRequest{SessionId: id, Code: cell})
		if err != nil {
			return err
		}
		for _, result := range answer.Results {
			fmt.Println(string(result.Data[0].Data))
		}
	}
	return nil
}

func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return status.Code(err).String()
}

// A token, in the metadata of each call.
type bearer string

func (token bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(token)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

// Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the
// authority of the daemon's certificate; $SANDGLASS_TOKEN says who calls.
func security() ([]grpc.DialOption, error) {
	ca, token := os.Getenv("SANDGLASS_CA"), os.Getenv("SANDGLASS_TOKEN")
	if ca == "" {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
	}
	tls, err := credentials.NewClientTLSFromFile(ca, "")
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(tls)}
	if token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(token)))
	}
	return options, nil
}

func main() {
	address := os.Getenv("SANDGLASS_ADDRESS")
	if address == "" {
		address = "unix:/run/sandglass/sandglass.sock"
	}
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	options, err := security()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// gRPC takes 4 MiB unless told otherwise; an answer may have 16.
	options = append(options, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	channel, err := grpc.Dial(address, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = stream(ctx, v1.NewSandboxServiceClient(channel))
	if err == nil {
		err = inSteps(ctx, channel)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", reason(err), status.Convert(err).Message())
		os.Exit(1)
	}
}
