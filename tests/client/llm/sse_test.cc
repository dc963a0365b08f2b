#include "client/llm/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sandglass::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Events as "name|data", the text cut into chunks of this size.
std::vector<std::string> Read(std::string_view text, size_t chunk) {
  std::vector<std::string> events;
  SseParser parser(1000, [&](const SseEvent& event) {
    events.push_back(event.name + "|" + event.data);
    return absl::OkStatus();
  });
  for (size_t at = 0; at < text.size(); at += chunk) {
    EXPECT_TRUE(parser.Feed(text.substr(at, chunk)).ok());
  }
  EXPECT_TRUE(parser.Finish().ok());
  return events;
}

std::vector<std::string> ReadInEverySize(std::string_view text) {
  std::vector<std::string> events = Read(text, text.size());
  for (size_t chunk = 1; chunk < text.size(); ++chunk) {
    EXPECT_EQ(Read(text, chunk), events) << "in chunks of " << chunk;
  }
  return events;
}

TEST(SseTest, LinesEndWithEachOfTheThreeEnds) {
  EXPECT_THAT(ReadInEverySize("event: a\r\ndata: 1\r\n\r\n"
                              "event: b\ndata: 2\n\n"
                              "event: c\rdata: 3\r\r"),
              ElementsAre("a|1", "b|2", "c|3"));
}

TEST(SseTest, CommentsAndKeepAlivesAreNoEvents) {
  EXPECT_THAT(ReadInEverySize(": hello\n\n:\n\ndata: 1\n\nevent: ping\n\n"
                              "id: 7\nretry: 10\n\n\n\n"),
              ElementsAre("|1"));
}

TEST(SseTest, DataOfSeveralLinesIsOneEvent) {
  EXPECT_THAT(ReadInEverySize("data: a\ndata:b\ndata\ndata:  c\n\n"),
              ElementsAre("|a\nb\n\n c"));
}

TEST(SseTest, TheLastEventNeedsNoBlankLine) {
  EXPECT_THAT(ReadInEverySize("data: 1\n\ndata: 2\n"), ElementsAre("|1", "|2"));
  EXPECT_THAT(ReadInEverySize("data: 1\n\ndata: 2"), ElementsAre("|1", "|2"));
}

TEST(SseTest, AByteOrderMarkAtTheStartIsPassedOver) {
  EXPECT_THAT(ReadInEverySize("\xEF\xBB\xBF"
                              "data: 1\n\n"),
              ElementsAre("|1"));
}

TEST(SseTest, ANameIsForOneEventOnly) {
  EXPECT_THAT(ReadInEverySize("event: a\ndata: 1\n\ndata: 2\n\n"),
              ElementsAre("a|1", "|2"));
}

TEST(SseTest, EmptyInputHasNoEvents) {
  EXPECT_THAT(Read("", 1), IsEmpty());
  EXPECT_THAT(ReadInEverySize("\r\n\r\n\n"), IsEmpty());
}

TEST(SseTest, ALineThatIsTooLongIsRefused) {
  SseParser parser(10, [](const SseEvent&) { return absl::OkStatus(); });
  EXPECT_TRUE(parser.Feed("data: 1234").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(parser.Feed("5")));
}

TEST(SseTest, AnEventThatIsTooLongIsRefused) {
  SseParser parser(10, [](const SseEvent&) { return absl::OkStatus(); });
  EXPECT_TRUE(parser.Feed("data: 123\ndata: 456\n").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(parser.Feed("data: 789\n")));
}

TEST(SseTest, TheListenersErrorEndsTheReading) {
  int events = 0;
  SseParser parser(100, [&](const SseEvent&) {
    ++events;
    return absl::DataLossError("no");
  });
  EXPECT_TRUE(absl::IsDataLoss(parser.Feed("data: 1\n\ndata: 2\n\n")));
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace sandglass::client
