// Tests of connect-go against a gateway: by Connect with both codecs and by
// gRPC-Web over HTTP/1.1, and by gRPC over HTTP/2.
package sandglass

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	api "sandglass/v1"
	"sandglass/v1/sandglassv1connect"
)

// What prints, waits and prints.
const twice = `import time
print("one", flush=True)
time.sleep(2)
print("two")`

const endless = `import time
print("one", flush=True)
time.sleep(120)`

type clients struct {
	runs     sandglassv1connect.SandboxServiceClient
	sessions sandglassv1connect.SessionServiceClient
	files    sandglassv1connect.FileServiceClient
	execs    sandglassv1connect.ExecServiceClient
}

// Who offers both versions of HTTP gets 1.1; gRPC asks for 2 alone.
func transport(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(os.Getenv("SANDGLASS_TEST_CA"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetHTTP1(!http2)
	made := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: protocols}
	t.Cleanup(made.CloseIdleConnections)
	return &http.Client{Transport: made}
}

func withToken(token string) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	}
}

func connectWith(t *testing.T, token string, http2 bool, options ...connecthttp.Option) clients {
	t.Helper()
	client := connect.NewClient(
		connecthttp.NewTransport(transport(t, http2), os.Getenv("SANDGLASS_TEST_GATEWAY"), options...),
		withToken(token))
	return clients{
		runs:     sandglassv1connect.NewSandboxServiceClient(client),
		sessions: sandglassv1connect.NewSessionServiceClient(client),
		files:    sandglassv1connect.NewFileServiceClient(client),
		execs:    sandglassv1connect.NewExecServiceClient(client),
	}
}

// A call without a deadline of its own would go on for as long as it likes.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, _ := connect.NewClientContext(context.Background())
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func python(code string, labels ...string) *api.RunCodeRequest {
	request := &api.RunCodeRequest{Language: "python", Code: code, Labels: map[string]string{}}
	for _, label := range labels {
		request.Labels["test"] = label
	}
	return request
}

func reasonOf(t *testing.T, err error) string {
	t.Helper()
	var failed *connect.Error
	if !errors.As(err, &failed) {
		t.Fatalf("no error of connect's: %v", err)
	}
	for _, detail := range failed.Details() {
		if detail.Type == "google.rpc.ErrorInfo" {
			var info errdetails.ErrorInfo
			if err := proto.Unmarshal(detail.Value, &info); err != nil {
				t.Fatal(err)
			}
			return info.Reason
		}
	}
	return ""
}

func wantError(t *testing.T, err error, code connect.Code, reason string) {
	t.Helper()
	if connect.CodeOf(err) != code {
		t.Fatalf("got %v, wanted %v", err, code)
	}
	if got := reasonOf(t, err); got != reason {
		t.Fatalf("the reason of %v is %q, not %q", err, got, reason)
	}
}

// The run with that label is over soon.
func wantEnd(t *testing.T, c clients, label string, outcome api.Outcome) {
	t.Helper()
	var seen []*api.RunSummary
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		list, err := c.runs.ListRuns(soon(t), &api.ListRunsRequest{Labels: map[string]string{"test": label}})
		if err != nil {
			t.Fatal(err)
		}
		seen = list.Runs
		if len(seen) == 1 && seen[0].State == api.RunState_RUN_STATE_FINISHED {
			if seen[0].Outcome != outcome {
				t.Fatalf("it ended with %v", seen[0].Outcome)
			}
			return
		}
	}
	t.Fatalf("it goes on: %v", seen)
}

func TestClients(t *testing.T) {
	for name, options := range map[string][]connecthttp.Option{
		"Connect":     nil,
		"ConnectJSON": {connecthttp.WithProtoJSON()},
		"GRPCWeb":     {connecthttp.WithGRPCWeb()},
		"GRPC":        {connecthttp.WithGRPC()},
	} {
		http2 := name == "GRPC"
		c := connectWith(t, os.Getenv("SANDGLASS_TEST_TOKEN"), http2, options...)
		stranger := connectWith(t, "sgt_nobody", http2, options...)
		for test, body := range map[string]func(*testing.T){
			"Run":          func(t *testing.T) { runs(t, c) },
			"Stream":       func(t *testing.T) { streams(t, c) },
			"Error":        func(t *testing.T) { fails(t, c) },
			"StreamError":  func(t *testing.T) { streamFails(t, c) },
			"Stranger":     func(t *testing.T) { isStranger(t, stranger) },
			"Timeout":      func(t *testing.T) { timesOut(t, c, name) },
			"WatchTimeout": func(t *testing.T) { watchTimesOut(t, c) },
			"GiveUp":       func(t *testing.T) { gaveUp(t, c, name) },
			"Cancel":       func(t *testing.T) { cancels(t, c, name) },
			"Files":        func(t *testing.T) { writesAndReads(t, c) },
			"CutUpload":    func(t *testing.T) { cutsUpload(t, c) },
			"Execute": func(t *testing.T) {
				if http2 {
					executes(t, c)
				} else {
					executesNot(t, c)
				}
			},
		} {
			t.Run(name+"/"+test, func(t *testing.T) {
				t.Parallel()
				body(t)
			})
		}
	}
}

func TestAGetIsAnswered(t *testing.T) {
	c := connectWith(t, os.Getenv("SANDGLASS_TEST_TOKEN"), false, connecthttp.WithHTTPGet())
	info, err := c.runs.GetServerInfo(soon(t), &api.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Languages) == 0 {
		t.Fatal("it has no languages")
	}
}

func runs(t *testing.T, c clients) {
	answer, err := c.runs.RunCode(soon(t), python("print(6*7)"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(answer.Stdout.Data); got != "42\n" {
		t.Fatalf("got %q", got)
	}
}

func streams(t *testing.T, c clients) {
	stream, err := c.runs.StreamRunCode(soon(t), &api.StreamRunCodeRequest{Run: python(twice)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var first time.Time
	var output []byte
	var result *api.RunCodeResponse
	for {
		part, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk := part.GetChunk(); chunk != nil {
			if first.IsZero() {
				first = time.Now()
			}
			output = append(output, chunk.Data...)
		}
		if part.GetResult() != nil {
			result = part.GetResult()
		}
	}
	if string(output) != "one\ntwo\n" || result == nil {
		t.Fatalf("got %q and %v", output, result)
	}
	if early := time.Since(first); early < time.Second {
		t.Fatalf("the first output came %v before the end", early)
	}
}

func fails(t *testing.T, c clients) {
	_, err := c.runs.RunCode(soon(t), &api.RunCodeRequest{Language: "klingon", Code: "x"})
	wantError(t, err, connect.CodeFailedPrecondition, "LANGUAGE_UNAVAILABLE")
	_, err = c.runs.RunCode(soon(t), python(""))
	wantError(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
}

func streamFails(t *testing.T, c clients) {
	stream, err := c.runs.StreamRunCode(soon(t), &api.StreamRunCodeRequest{Run: python("")})
	if err == nil {
		defer stream.Close()
		_, err = stream.Receive()
	}
	wantError(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
}

func isStranger(t *testing.T, c clients) {
	_, err := c.runs.RunCode(soon(t), python("print(6*7)"))
	wantError(t, err, connect.CodeUnauthenticated, "BAD_CREDENTIALS")
}

// A call's deadline is its program's, too, which leaves time for the answer.
func timesOut(t *testing.T, c clients, name string) {
	label := "go-timeout-" + name
	ctx, cancel := context.WithTimeout(soon(t), 3*time.Second)
	defer cancel()
	answer, err := c.runs.RunCode(ctx, python(endless, label))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Outcome != api.Outcome_OUTCOME_TIMEOUT {
		t.Fatalf("got %v", answer.Outcome)
	}
	wantEnd(t, c, label, api.Outcome_OUTCOME_TIMEOUT)
}

func watchTimesOut(t *testing.T, c clients) {
	id := session(t, c)
	ctx, cancel := context.WithTimeout(soon(t), 3*time.Second)
	defer cancel()
	began := time.Now()
	stream, err := c.files.WatchFiles(ctx, &api.WatchFilesRequest{SessionId: id})
	if err == nil {
		defer stream.Close()
		for err == nil {
			_, err = stream.Receive()
		}
	}
	if connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took < time.Second || took > 10*time.Second {
		t.Fatalf("it took %v", took)
	}
}

func gaveUp(t *testing.T, c clients, name string) {
	label := "go-give-up-" + name
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	time.AfterFunc(2*time.Second, cancel)
	_, err := c.runs.RunCode(ctx, python(endless, label))
	if connect.CodeOf(err) != connect.CodeCanceled {
		t.Fatalf("got %v", err)
	}
	wantEnd(t, c, label, api.Outcome_OUTCOME_CANCELLED)
}

func cancels(t *testing.T, c clients, name string) {
	label := "go-cancel-" + name
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	stream, err := c.runs.StreamRunCode(ctx, &api.StreamRunCodeRequest{Run: python(endless, label)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		part, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if part.GetChunk() != nil {
			break
		}
	}
	cancel()
	if _, err = stream.Receive(); connect.CodeOf(err) != connect.CodeCanceled {
		t.Fatalf("got %v", err)
	}
	wantEnd(t, c, label, api.Outcome_OUTCOME_CANCELLED)
}

func session(t *testing.T, c clients) string {
	t.Helper()
	answer, err := c.sessions.CreateSession(soon(t), &api.CreateSessionRequest{
		Language: "python", IdleTimeout: durationpb.New(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	id := answer.Session.SessionId
	t.Cleanup(func() {
		if _, err := c.sessions.DeleteSession(soon(t), &api.DeleteSessionRequest{SessionId: id}); err != nil {
			t.Error(err)
		}
	})
	return id
}

func writesAndReads(t *testing.T, c clients) {
	id := session(t, c)
	var content []byte
	write, err := c.files.WriteFile(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := write.Send(&api.WriteFileRequest{Part: &api.WriteFileRequest_Start{
		Start: &api.FileWriteStart{SessionId: id, Path: "big"}}}); err != nil {
		t.Fatal(err)
	}
	const parts = 40
	for i := range parts {
		part := bytes.Repeat([]byte(fmt.Sprintf("%07d\n", i)), 8192)
		content = append(content, part...)
		if err := write.Send(&api.WriteFileRequest{
			Part:   &api.WriteFileRequest_Data{Data: part},
			Finish: i == parts-1}); err != nil {
			t.Fatal(err)
		}
	}
	written, err := write.CloseAndReceive()
	if err != nil {
		t.Fatal(err)
	}
	if written.Info.Size != uint64(len(content)) {
		t.Fatalf("wrote %v", written.Info)
	}
	read, err := c.files.ReadFile(soon(t), &api.ReadFileRequest{SessionId: id, Path: "big"})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var got []byte
	for {
		part, err := read.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part.GetData()...)
	}
	if !bytes.Equal(got, content) {
		t.Fatalf("read %d bytes of %d", len(got), len(content))
	}
}

// An upload that its client gives up leaves no file.
func cutsUpload(t *testing.T, c clients) {
	id := session(t, c)
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	write, err := c.files.WriteFile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := write.Send(&api.WriteFileRequest{Part: &api.WriteFileRequest_Start{
		Start: &api.FileWriteStart{SessionId: id, Path: "cut"}}}); err != nil {
		t.Fatal(err)
	}
	if err := write.Send(&api.WriteFileRequest{Part: &api.WriteFileRequest_Data{
		Data: bytes.Repeat([]byte("x"), 100_000)}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	cancel()
	if _, err := write.CloseAndReceive(); connect.CodeOf(err) != connect.CodeCanceled {
		t.Fatalf("got %v", err)
	}
	time.Sleep(200 * time.Millisecond)
	list, err := c.files.ListDirectory(soon(t), &api.ListDirectoryRequest{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Entries) != 0 {
		t.Fatalf("it left %v", list.Entries)
	}
}

// Talks with a command, each answer before the next words.
func executes(t *testing.T, c clients) {
	stream, err := c.execs.Execute(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := stream.Send(&api.ExecuteRequest{Message: &api.ExecuteRequest_Start{
		Start: &api.ExecuteStart{Spec: &api.ExecSpec{
			SessionId: session(t, c), Command: "cat", OpenStdin: true}}}}); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"one\n", "two\n"} {
		if err := stream.Send(&api.ExecuteRequest{
			Message: &api.ExecuteRequest_Stdin{Stdin: []byte(words)}}); err != nil {
			t.Fatal(err)
		}
		for {
			part, err := stream.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if output := part.GetOutput(); output != nil {
				if string(output.Data) != words {
					t.Fatalf("got %q", output.Data)
				}
				break
			}
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// connect-go itself lets nobody talk both ways over HTTP/1.1.
func executesNot(t *testing.T, c clients) {
	stream, err := c.execs.Execute(soon(t))
	if err == nil {
		defer stream.Close()
		if err = stream.Send(&api.ExecuteRequest{Message: &api.ExecuteRequest_Start{
			Start: &api.ExecuteStart{Spec: &api.ExecSpec{
				SessionId: session(t, c), Command: "true"}}}}); err == nil {
			err = stream.CloseSend()
		}
		if err == nil {
			_, err = stream.Receive()
		}
	}
	if connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Fatalf("got %v", err)
	}
}
