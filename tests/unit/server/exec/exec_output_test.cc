// What is kept of a command's output, and what is said of the rest.

#include "server/exec/exec_output.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};
constexpr uint64_t kMuch = uint64_t{1} << 40;

class ExecOutputTest : public ::testing::Test {
 protected:
  static void Write(ExecOutput& output, std::string_view data,
                    Stream stream = Stream::kStdout,
                    uint64_t wanted_from = kAll) {
    output.Append(stream, data, absl::ZeroDuration(), wanted_from);
  }
  // What is read from `sequence` on.
  static std::string ReadFrom(ExecOutput& output, uint64_t sequence) {
    std::string data;
    while (const ExecOutput::Piece* piece = output.Find(sequence)) {
      data += piece->data;
      sequence = piece->sequence + 1;
    }
    return data;
  }

  std::shared_ptr<DiskBudget> all_ = std::make_shared<DiskBudget>(kMuch);
  KeptBytes kept_{kMuch, all_};
};

TEST_F(ExecOutputTest, NumbersPiecesFromOne) {
  ExecOutput output(1 << 20, kept_);
  EXPECT_EQ(output.next_sequence(), 1u);
  EXPECT_EQ(output.Find(0), nullptr);
  Write(output, "a");
  Write(output, "E", Stream::kStderr);
  Write(output, "b");
  const ExecOutput::Piece* piece = output.Find(0);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->sequence, 1u);
  EXPECT_EQ(piece->offset, 0u);
  piece = output.Find(3);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->data, "b");
  EXPECT_EQ(piece->offset, 1u);
  EXPECT_EQ(output.Find(2)->stream, Stream::kStderr);
  EXPECT_EQ(output.Find(2)->offset, 0u);
  EXPECT_EQ(output.Find(4), nullptr);
  EXPECT_EQ(output.written().stdout_bytes, 2u);
  EXPECT_EQ(output.written().stderr_bytes, 1u);
}

TEST_F(ExecOutputTest, TailReturnsTheLastBytes) {
  ExecOutput output(1 << 20, kept_);
  EXPECT_EQ(output.Tail(10), "");
  Write(output, "first");
  output.SealNextSequence();
  for (int i = 0; i < 4; ++i) Write(output, std::string(50'000, 'x'));
  Write(output, "the end");
  EXPECT_EQ(output.Tail(kMuch), ReadFrom(output, 0));
  const std::string tail = output.Tail(1000);
  EXPECT_GE(tail.size(), 1000u);
  EXPECT_LE(tail.size(), 1000 + ExecOutput::kMaxPieceBytes);
  EXPECT_EQ(tail.substr(tail.size() - 8), "xthe end");
}

TEST_F(ExecOutputTest, MergesPiecesThatNobodyHasSeen) {
  ExecOutput output(1 << 20, kept_);
  for (int i = 0; i < 1000; ++i) Write(output, "x");
  EXPECT_EQ(output.next_sequence(), 2u);
  EXPECT_EQ(output.Find(1)->data.size(), 1000u);
  // It was seen: it stays as it is.
  Write(output, "y");
  EXPECT_EQ(output.Find(1)->data.size(), 1000u);
  EXPECT_EQ(output.Find(2)->data, "y");
  Write(output, "z");
  EXPECT_EQ(output.SealNextSequence(), 4u);
  Write(output, "z");
  EXPECT_EQ(output.next_sequence(), 5u);
}

TEST_F(ExecOutputTest, DropsTheOldestAndSaysHowMuch) {
  ExecOutput output(16384, kept_);
  for (int i = 0; i < 100; ++i) {
    Write(output, std::string(1024, 'a'),
          i % 2 == 0 ? Stream::kStdout : Stream::kStderr);
  }
  EXPECT_EQ(output.kept_bytes(), 16384u);
  EXPECT_EQ(output.first_sequence(), 85u);
  const ExecOutput::Gap all = output.GapAt(0);
  EXPECT_EQ(all.next_sequence, 85u);
  EXPECT_EQ(all.missing.stdout_bytes, 42u * 1024);
  EXPECT_EQ(all.missing.stderr_bytes, 42u * 1024);
  const ExecOutput::Gap some = output.GapAt(84);
  EXPECT_EQ(some.missing.stdout_bytes, 0u);
  EXPECT_EQ(some.missing.stderr_bytes, 1024u);
  EXPECT_EQ(output.GapAt(85).next_sequence, 0u);
  EXPECT_EQ(output.GapAt(kAll).next_sequence, 0u);
  EXPECT_EQ(ReadFrom(output, 0).size(), 16384u);
  // The offset goes on where the gap ends.
  EXPECT_EQ(output.Find(85)->offset, all.missing.stdout_bytes);
}

TEST_F(ExecOutputTest, KeepsPiecesThatReadersWant) {
  ExecOutput output(16384, kept_);
  uint64_t wanted = 1;
  int written = 0;
  while (!output.full()) {
    Write(output, std::string(4096, 'a'), Stream::kStdout, wanted);
    (void)output.SealNextSequence();
    ++written;
  }
  EXPECT_EQ(written, 3);
  EXPECT_EQ(output.GapAt(1).next_sequence, 0u);
  // One more is more than the limit, but wanted.
  Write(output, std::string(8192, 'b'), Stream::kStdout, wanted);
  EXPECT_EQ(output.GapAt(1).next_sequence, 0u);
  wanted = 3;
  output.Trim(wanted);
  EXPECT_EQ(output.first_sequence(), 2u);
  EXPECT_EQ(output.kept_bytes(), 16384u);
}

TEST_F(ExecOutputTest, ASmallLimitStillKeepsSomething) {
  ExecOutput output(1, kept_);
  EXPECT_EQ(output.piece_bytes(), 4096u);
  EXPECT_FALSE(output.full());
  Write(output, "abc");
  EXPECT_EQ(ReadFrom(output, 0), "abc");
}

// One caller's output leaves room for that of others, and theirs for a third's.
TEST(KeptBytes, ACallersShareLeavesRoomForOthers) {
  const auto all = std::make_shared<DiskBudget>(1000);
  KeptBytes session(900, all->ShareOf("first"));
  while (!session.full()) session.Add(1);
  EXPECT_EQ(all->used(), 750u);
  const auto second = all->ShareOf("second");
  while (!second->full()) second->Force(1);
  EXPECT_EQ(second->used(), 125u);
  EXPECT_FALSE(all->ShareOf("third")->full());
  session.Remove(500);
  EXPECT_FALSE(second->full());
}

TEST_F(ExecOutputTest, OthersBytesCountToo) {
  KeptBytes session(256 << 10, all_);
  ExecOutput first(1 << 20, session);
  for (int i = 0; i < 10; ++i) {
    Write(first, std::string(64 << 10, 'a'));
    (void)first.SealNextSequence();
  }
  EXPECT_LE(session.bytes(), 256u << 10);
  EXPECT_EQ(all_->used(), session.bytes());
  {
    // Full, but each has the least.
    ExecOutput second(1 << 20, session);
    EXPECT_FALSE(second.full());
    for (int i = 0; i < 4; ++i) {
      Write(second, std::string(60 << 10, 'b'));
      (void)second.SealNextSequence();
    }
    EXPECT_EQ(second.kept_bytes(), 60u << 10);
  }
  EXPECT_EQ(session.bytes(), first.kept_bytes());
}

TEST_F(ExecOutputTest, ManySmallPiecesAreBounded) {
  ExecOutput output(6 << 20, kept_);
  for (int i = 0; i < 100'000; ++i) {
    Write(output, "x");
    (void)output.SealNextSequence();
  }
  EXPECT_EQ(output.next_sequence(), 100'001u);
  EXPECT_LE(output.next_sequence() - output.first_sequence(), 16'384u);
  // What went long ago isn't counted.
  const ExecOutput::Gap recent = output.GapAt(output.first_sequence() - 10);
  EXPECT_EQ(recent.missing.stdout_bytes, 10u);
  EXPECT_EQ(output.GapAt(0).missing.stdout_bytes, output.first_sequence() - 1);
}

}  // namespace
}  // namespace sandglass::server
