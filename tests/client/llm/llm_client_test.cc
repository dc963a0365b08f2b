// The client against a real HTTP server: retries, errors, bounds, cancellation.
#include "client/llm/llm_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/support/scripted_server.h"

namespace sandglass::client {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kKey[] = "sk-very-secret-0123456789";

std::string Delta(std::string_view text) {
  return absl::StrCat(R"(data: {"choices":[{"delta":{"content":")",
                      std::string(text), R"("}}]})", "\n\n");
}

constexpr char kStop[] =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
constexpr char kDone[] = "data: [DONE]\n\n";

HttpReply Hello() { return {.chunks = {Delta("Hello"), kStop, kDone}}; }

LlmRequest Question() {
  LlmRequest request;
  request.model = "tiny";
  LlmMessage& message = request.messages.emplace_back();
  message.text = "Hi";
  return request;
}

class LlmClientTest : public testing::Test {
 protected:
  void Serve(std::vector<HttpReply> replies) {
    server_ = ScriptedServer::Start(std::move(replies));
    ASSERT_NE(server_, nullptr);
    options_.base_url = server_->url() + "/v1";
  }

  absl::StatusOr<LlmTurn> Ask() {
    if (client_ == nullptr) {
      auto client = LlmClient::Create(options_);
      if (!client.ok()) return client.status();
      client_ = *std::move(client);
    }
    const LlmListener listener = {.on_text = [this](std::string_view text) {
      heard_ += text;
      if (on_heard_) on_heard_();
    }};
    return client_->Ask(
        Question(), listener,
        [this](const std::string& why, absl::Duration wait) {
          reasons_.push_back(why);
          waits_.push_back(wait);
          if (on_waiting_) on_waiting_();
        },
        cancel_);
  }

  // Replies wait here. Outlives the server.
  absl::Notification gate_;
  LlmOptions options_ = {.api_key = kKey, .first_wait = absl::Milliseconds(1)};
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<LlmClient> client_;
  std::string heard_;
  std::vector<std::string> reasons_;
  std::vector<absl::Duration> waits_;
  std::function<void()> on_heard_, on_waiting_;
  std::atomic<bool> cancel_{false};
};

TEST_F(LlmClientTest, ATurnIsHeardAsItStreams) {
  HttpReply reply = {.chunks = {Delta("Hel"), Delta("lo"), kStop, kDone}};
  reply.before = [this](size_t chunk) {
    if (chunk == 1) gate_.WaitForNotificationWithTimeout(absl::Seconds(10));
  };
  Serve({reply});
  on_heard_ = [this] {
    if (!gate_.HasBeenNotified()) gate_.Notify();
  };
  const auto turn = Ask();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_EQ(turn->message.text, "Hello");
  EXPECT_EQ(heard_, "Hello");
  EXPECT_TRUE(gate_.HasBeenNotified());
  EXPECT_THAT(reasons_, IsEmpty());
}

TEST_F(LlmClientTest, TheKeyGoesIntoItsHeaderAndTheRequestToThePath) {
  Serve({Hello()});
  ASSERT_TRUE(Ask().ok());
  ASSERT_THAT(server_->requests(), SizeIs(1));
  const ScriptedRequest request = server_->requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/chat/completions");
  EXPECT_EQ(request.headers.at("authorization"), absl::StrCat("Bearer ", kKey));
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_THAT(request.body, HasSubstr(R"("model":"tiny")"));
}

TEST_F(LlmClientTest, AnthropicsKeyHasAHeaderOfItsOwn) {
  Serve({{.chunks = {"data: {\"type\":\"message_stop\"}\n\n"}}});
  options_.provider = LlmProvider::kAnthropic;
  options_.base_url = server_->url();
  ASSERT_TRUE(Ask().ok());
  const ScriptedRequest request = server_->requests().at(0);
  EXPECT_EQ(request.path, "/v1/messages");
  EXPECT_EQ(request.headers.at("x-api-key"), kKey);
  EXPECT_EQ(request.headers.at("anthropic-version"), "2023-06-01");
  EXPECT_EQ(request.headers.count("authorization"), 0u);
}

TEST_F(LlmClientTest, WithoutAKeyNoneIsSent) {
  Serve({Hello(), JsonReply(401, "{}")});
  options_.api_key.clear();
  ASSERT_TRUE(Ask().ok());
  EXPECT_EQ(server_->requests().at(0).headers.count("authorization"), 0u);
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsUnauthenticated(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("wants a key"));
}

TEST_F(LlmClientTest, AConnectionServesTheNextRequest) {
  Serve({Hello(), Hello()});
  ASSERT_TRUE(Ask().ok());
  ASSERT_TRUE(Ask().ok());
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(LlmClientTest, BusyServersAreAskedAgainAndTheReasonIsTold) {
  Serve({JsonReply(429, R"({"error":{"message":"slow down"}})"),
         JsonReply(529, R"({"type":"error","error":{"type":"overloaded_error",
                           "message":"Overloaded"}})"),
         JsonReply(503, "{}"), Hello()});
  const auto turn = Ask();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(reasons_, ElementsAre(HasSubstr("slow down"),
                                    HasSubstr("Overloaded"), HasSubstr("503")));
  const std::vector<ScriptedRequest> requests = server_->requests();
  ASSERT_THAT(requests, SizeIs(4));
  EXPECT_EQ(requests[0].body, requests[3].body);
}

TEST_F(LlmClientTest, AttemptsAreBounded) {
  Serve({JsonReply(500, "{}"), JsonReply(500, "{}"), Hello()});
  options_.attempts = 2;
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsUnavailable(turn.status())) << turn.status();
  EXPECT_THAT(server_->requests(), SizeIs(2));
}

TEST_F(LlmClientTest, WaitsDoubleAndAreSpread) {
  Serve({JsonReply(500, "{}"), JsonReply(500, "{}"), JsonReply(500, "{}"),
         Hello()});
  options_.first_wait = absl::Milliseconds(8);
  ASSERT_TRUE(Ask().ok());
  ASSERT_THAT(waits_, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    const absl::Duration middle = absl::Milliseconds(8 << i);
    EXPECT_GE(waits_[static_cast<size_t>(i)], middle * 0.75);
    EXPECT_LE(waits_[static_cast<size_t>(i)], middle * 1.25);
  }
}

TEST_F(LlmClientTest, RetryAfterMakesTheWaitLonger) {
  HttpReply busy = JsonReply(429, "{}");
  busy.headers = {"Retry-After: 7"};
  Serve({busy, Hello()});
  on_waiting_ = [this] { cancel_ = true; };
  EXPECT_TRUE(absl::IsCancelled(Ask().status()));
  EXPECT_THAT(waits_, ElementsAre(absl::Seconds(7)));
}

TEST_F(LlmClientTest, AServerThatWantsNoMoreAttemptsGetsNone) {
  HttpReply busy = JsonReply(429, "{}");
  busy.headers = {"x-should-retry: false"};
  Serve({busy, Hello()});
  EXPECT_TRUE(absl::IsUnavailable(Ask().status()));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AnAccountWithoutMoneyIsNotAskedAgain) {
  Serve({JsonReply(429, R"({"error":{"message":"You exceeded your quota",
                           "code":"insufficient_quota"}})"),
         Hello()});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsInvalidArgument(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("exceeded your quota"));
}

TEST_F(LlmClientTest, AStreamThatIsCutBeforeItBeganIsAskedAgain) {
  Serve({{.chunks = {": hello\n\n"}, .whole = false},
         {.chunks = {}, .chunked = false},
         Hello()});
  const auto turn = Ask();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_EQ(heard_, "Hello");
  EXPECT_THAT(reasons_, SizeIs(2));
}

TEST_F(LlmClientTest, AStreamThatIsCutAfterItBeganIsNotAskedAgain) {
  Serve({{.chunks = {Delta("Hel")}, .whole = false}, Hello()});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsDataLoss(turn.status())) << turn.status();
  EXPECT_THAT(turn.status().message(), HasSubstr("broke off"));
  EXPECT_EQ(heard_, "Hel");
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AStreamThatEndsWithoutItsEndIsNotATurn) {
  Serve({{.chunks = {Delta("Hel")}, .chunked = false}, Hello()});
  EXPECT_TRUE(absl::IsDataLoss(Ask().status()));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AnErrorInTheStreamIsAskedAgainWhileNothingCame) {
  const std::string error =
      R"(data: {"error":{"message":"busy","type":"server_error"}})"
      "\n\n";
  Serve({{.chunks = {error}}, Hello(), {.chunks = {Delta("Hel"), error}}});
  ASSERT_TRUE(Ask().ok());
  EXPECT_THAT(reasons_, ElementsAre(HasSubstr("busy")));
  EXPECT_TRUE(absl::IsUnavailable(Ask().status()));
  EXPECT_THAT(server_->requests(), SizeIs(3));
}

TEST_F(LlmClientTest, AWrongKeyIsReported) {
  Serve({JsonReply(401, R"({"error":{"message":"bad key"}})")});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsUnauthenticated(turn.status()));
  EXPECT_THAT(turn.status().message(),
              AllOf(HasSubstr("doesn't accept the key"), HasSubstr("bad key")));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AKeyThatIsEchoedIsNotShown) {
  const std::string echo = absl::StrCat(R"({"error":{"message":"no )",
                                        std::string(480, 'x'), kKey, "\"}}");
  Serve({JsonReply(401, absl::StrCat(R"({"error":{"message":")", kKey, "\"}}")),
         JsonReply(400, echo),
         {.chunks = {absl::StrCat(R"(data: {"error":{"type":"invalid",)",
                                  R"("message":")", std::string(482, 'x'), kKey,
                                  "\"}}\n\n")}}});
  for (int i = 0; i < 3; ++i) {
    const auto turn = Ask();
    ASSERT_FALSE(turn.ok());
    EXPECT_THAT(turn.status().message(), Not(HasSubstr("sk-very")));
  }
}

TEST_F(LlmClientTest, AnUnknownModelOrAddressIsNamed) {
  Serve({JsonReply(404, R"({"error":"model 'tiny' not found"})")});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsNotFound(turn.status()));
  EXPECT_THAT(turn.status().message(),
              AllOf(HasSubstr("'tiny'"), HasSubstr(server_->url())));
}

TEST_F(LlmClientTest, ARedirectionIsNotFollowed) {
  HttpReply reply = JsonReply(307, "");
  reply.chunks.clear();
  reply.headers = {"Location: https://elsewhere.example/v1"};
  Serve({reply, Hello()});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsNotFound(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("elsewhere.example"));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AWebPageInPlaceOfAnAnswerIsNamedAsSuch) {
  HttpReply page = JsonReply(403, "<html><body>Forbidden</body></html>");
  page.content_type = "text/html";
  HttpReply fine = page;
  fine.status = 200;
  Serve({page, fine});
  EXPECT_THAT(Ask().status().message(),
              AllOf(HasSubstr("HTML page"), Not(HasSubstr("<body>"))));
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsDataLoss(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("web page"));
}

TEST_F(LlmClientTest, AnErrorsTextIsShortAndOnOneLine) {
  Serve({JsonReply(400, absl::StrCat(R"({"error":{"message":"a\n\u001b[31mb)",
                                     std::string(5000, 'x'), "\"}}"))});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsInvalidArgument(turn.status()));
  const std::string text(turn.status().message());
  EXPECT_LT(text.size(), 700u);
  EXPECT_THAT(text, AllOf(HasSubstr("a [31mb"), Not(HasSubstr("\n")),
                          Not(HasSubstr("\x1b"))));
}

TEST_F(LlmClientTest, AConversationThatIsTooLongIsToldApart) {
  Serve({JsonReply(400, R"({"error":{"message":"too many tokens",
                           "code":"context_length_exceeded"}})"),
         JsonReply(413, "{}")});
  EXPECT_TRUE(absl::IsResourceExhausted(Ask().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(Ask().status()));
}

TEST_F(LlmClientTest, AnAnswerThatIsTooLargeEndsTheRequest) {
  std::vector<std::string> chunks(64, Delta(std::string(1 << 14, 'x')));
  Serve({{.chunks = std::move(chunks)}});
  options_.max_bytes = 100000;
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsResourceExhausted(turn.status())) << turn.status();
  EXPECT_TRUE(server_->WaitForClosed(1));
  EXPECT_LT(heard_.size(), 100000u);
}

TEST_F(LlmClientTest, WhatIsNotJsonIsNotATurn) {
  Serve({{.chunks = {"data: {\"choices\":[\n\n"}}, Hello()});
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsDataLoss(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("not JSON"));
}

TEST_F(LlmClientTest, AServerThatDoesNotStreamIsSupported) {
  Serve({JsonReply(200, R"({"choices":[{"message":{"content":"Hello"},
                           "finish_reason":"stop"}]})")});
  const auto turn = Ask();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_EQ(turn->message.text, "Hello");
}

TEST_F(LlmClientTest, NoServerIsAskedAgainAndThenTold) {
  Serve({});
  server_.reset();
  options_.attempts = 3;
  const auto turn = Ask();
  EXPECT_TRUE(absl::IsUnavailable(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("can't be reached"));
  EXPECT_THAT(reasons_, SizeIs(2));
}

TEST_F(LlmClientTest, CancellingEndsAStreamAndTheConnection) {
  HttpReply reply = {.chunks = {Delta("Hel"), Delta("lo")}};
  reply.before = [this](size_t chunk) {
    if (chunk == 1) gate_.WaitForNotificationWithTimeout(absl::Seconds(10));
  };
  Serve({reply});
  on_heard_ = [this] { cancel_ = true; };
  EXPECT_TRUE(absl::IsCancelled(Ask().status()));
  EXPECT_FALSE(gate_.HasBeenNotified());
  gate_.Notify();
  EXPECT_TRUE(server_->WaitForClosed(1));
}

TEST_F(LlmClientTest, SilenceEndsARequestForGood) {
  HttpReply reply = {.chunks = {Delta("Hello")}};
  reply.before = [this](size_t) {
    gate_.WaitForNotificationWithTimeout(absl::Seconds(10));
  };
  Serve({reply, Hello()});
  options_.silence_timeout = absl::Milliseconds(200);
  const auto turn = Ask();
  gate_.Notify();
  EXPECT_TRUE(absl::IsUnavailable(turn.status())) << turn.status();
  EXPECT_THAT(turn.status().message(), HasSubstr("silent"));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(LlmClientTest, AfterItsEndAStreamIsNotWaitedFor) {
  HttpReply reply = Hello();
  reply.before = [this](size_t chunk) {
    if (chunk == 3) gate_.WaitForNotificationWithTimeout(absl::Seconds(10));
  };
  Serve({reply});
  const auto turn = Ask();
  const bool still_open = !gate_.HasBeenNotified();
  gate_.Notify();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_TRUE(still_open);
}

TEST_F(LlmClientTest, TheOtherNameOfABoundIsTriedAtOnceAndKept) {
  Serve({JsonReply(400, R"({"error":{"message":"Unsupported parameter:
             'max_tokens'. Use 'max_completion_tokens' instead."}})"),
         Hello(), Hello()});
  ASSERT_TRUE(Ask().ok());
  ASSERT_TRUE(Ask().ok());
  EXPECT_THAT(reasons_, IsEmpty());
  const std::vector<ScriptedRequest> requests = server_->requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_THAT(requests[0].body, HasSubstr(R"("max_tokens":8192)"));
  EXPECT_THAT(requests[1].body, HasSubstr(R"("max_completion_tokens":8192)"));
  EXPECT_THAT(requests[1].body, Not(HasSubstr(R"("max_tokens")")));
  EXPECT_THAT(requests[2].body, HasSubstr(R"("max_completion_tokens":8192)"));
}

TEST(LlmClientCreateTest, AddressesAndKeysThatCantBeAreRefused) {
  for (const char* url : {"", "api.example", "file:///etc/passwd", "http://",
                          "https://user:secret@host/v1", "http://h/v1?a=b"}) {
    const auto client = LlmClient::Create({.base_url = url});
    EXPECT_TRUE(absl::IsInvalidArgument(client.status())) << url;
    EXPECT_THAT(client.status().message(), Not(HasSubstr("secret")));
  }
  const auto client = LlmClient::Create(
      {.base_url = "http://h/v1", .api_key = "secret\r\nX-Other: 1"});
  EXPECT_TRUE(absl::IsInvalidArgument(client.status()));
  EXPECT_THAT(client.status().message(), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace sandglass::client
