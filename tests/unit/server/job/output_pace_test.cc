#include "server/job/output_pace.h"

#include "gtest/gtest.h"
#include "server/base/clock.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kSoon = absl::Microseconds(10);

// What a program writes, and when it is read.
class OutputPaceTest : public ::testing::Test {
 protected:
  // A piece that comes `after` the last one, or after the pause if it lasts.
  void Read(Stream stream, size_t bytes, absl::Duration after,
            size_t max = size_t{64} << 10) {
    now_ = After(pace_.Pauses(now_) ? pace_.end() : now_, after);
    pace_.Record(stream, bytes, max, now_);
  }
  void ReadPromptPieces(Stream stream = Stream::kStdout) {
    for (int i = 0; i < OutputPace::kPromptPieces; ++i) {
      Read(stream, 10, kSoon);
      ASSERT_FALSE(pace_.Pauses(now_)) << i;
    }
  }

  OutputPace pace_;
  MonotonicTime now_ = Now();
};

TEST_F(OutputPaceTest, TheFirstPiecesAreReadAsTheyCome) {
  EXPECT_FALSE(pace_.Pauses(now_));
  ReadPromptPieces();
  Read(Stream::kStdout, 10, kSoon);
  EXPECT_TRUE(pace_.Pauses(now_));
  EXPECT_EQ(pace_.end(), After(now_, OutputPace::kPause));
  EXPECT_FALSE(pace_.Pauses(pace_.end()));
}

TEST_F(OutputPaceTest, WhatCameTogetherInAPauseIsFollowedByTheNext) {
  ReadPromptPieces();
  Read(Stream::kStdout, 10, kSoon);
  for (int i = 0; i < 10; ++i) {
    Read(Stream::kStdout, OutputPace::kLargeBytesAfterPause - 1, kSoon);
    EXPECT_TRUE(pace_.Pauses(now_)) << i;
  }
  // It could have filled the pipe.
  Read(Stream::kStdout, OutputPace::kLargeBytesAfterPause, kSoon);
  EXPECT_FALSE(pace_.Pauses(now_));
}

TEST_F(OutputPaceTest, LargePiecesAreNeverWaitedFor) {
  for (int i = 0; i < 100; ++i) {
    Read(Stream::kStderr, OutputPace::kLargeBytes, kSoon);
    EXPECT_FALSE(pace_.Pauses(now_));
  }
}

TEST_F(OutputPaceTest, ARestIsFollowedByPromptReadingAgain) {
  ReadPromptPieces();
  Read(Stream::kStdout, 10, kSoon);
  ASSERT_TRUE(pace_.Pauses(now_));
  Read(Stream::kStdout, 10, OutputPace::kPause);
  EXPECT_FALSE(pace_.Pauses(now_));
  for (int i = 0; i < 100; ++i) {
    Read(Stream::kStdout, 10, OutputPace::kPause);
    EXPECT_FALSE(pace_.Pauses(now_));
  }
}

TEST_F(OutputPaceTest, AProgramThatWritesToBothStreamsInTurnIsReadAsItWrites) {
  for (int i = 0; i < 100; ++i) {
    Read(i % 2 == 0 ? Stream::kStdout : Stream::kStderr, 10, kSoon);
    EXPECT_FALSE(pace_.Pauses(now_));
  }
}

TEST_F(OutputPaceTest, WhoSendsSomethingIsAnsweredAtOnce) {
  for (int i = 0; i < 100; ++i) {
    Read(Stream::kStdout, 10, kSoon);
    EXPECT_FALSE(pace_.Pauses(now_)) << i;
    pace_.ReadPromptly();
  }
  ReadPromptPieces();
  Read(Stream::kStdout, 10, kSoon);
  ASSERT_TRUE(pace_.Pauses(now_));
  pace_.ReadPromptly();
  EXPECT_FALSE(pace_.Pauses(now_));
  ReadPromptPieces();
}

TEST_F(OutputPaceTest, WhoReadsLittleAtATimeDoesNotPauseForEver) {
  constexpr size_t kMax = 4096;
  for (int i = 0; i <= OutputPace::kPromptPieces; ++i) {
    Read(Stream::kStdout, 10, kSoon, kMax);
  }
  ASSERT_TRUE(pace_.Pauses(now_));
  Read(Stream::kStdout, kMax, kSoon, kMax);
  EXPECT_FALSE(pace_.Pauses(now_));
}

TEST_F(OutputPaceTest, TheStreamOfThePauseIsKnown) {
  EXPECT_EQ(pace_.last_stream(), Stream::kStdout);
  ReadPromptPieces(Stream::kStderr);
  Read(Stream::kStderr, 10, kSoon);
  EXPECT_TRUE(pace_.Pauses(now_));
  EXPECT_EQ(pace_.last_stream(), Stream::kStderr);
}

}  // namespace
}  // namespace sandglass::server
