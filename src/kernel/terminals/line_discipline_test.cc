// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/line_discipline.h"

#include <gtest/gtest.h>

#include "kernel/process/signal.h"

namespace cloche::kernel {
namespace {

using namespace tty;

class Keyboard : public ::testing::Test {
 protected:
  // What typing shows on the screen.
  std::string type(std::string_view bytes) {
    LineDiscipline::Effects effects;
    taken_ = tty_.receive(std::as_bytes(std::span(bytes)), effects);
    signals_ = effects.signals;
    flushed_ = effects.flush_output;
    return effects.echo;
  }
  // One read of a program; "EOF" for an end of file, "-" when it would have to wait.
  std::string read(std::size_t most = 4096) {
    if (!tty_.readable()) return "-";
    std::string buffer(most, '\0');
    const LineDiscipline::Taken taken = tty_.take(std::as_writable_bytes(std::span(buffer)));
    if (taken.end_of_file) return "EOF";
    return buffer.substr(0, taken.count);
  }
  std::string show(std::string_view bytes) {
    std::string out;
    const std::size_t used = tty_.process_output(std::as_bytes(std::span(bytes)), 4096, out);
    EXPECT_EQ(used, bytes.size());
    return out;
  }
  template <typename Change>
  void change(Change change) {
    Termios termios = tty_.termios();
    change(termios);
    tty_.set_termios(termios);
  }
  void set_raw() {
    change([](Termios& t) {
      t.lflag &= ~(icanon | echo | isig | iexten);
      t.iflag &= ~(icrnl | ixon);
      t.oflag &= ~opost;
    });
  }

  LineDiscipline tty_;
  std::size_t taken_ = 0;
  std::vector<int> signals_;
  bool flushed_ = false;
};

TEST_F(Keyboard, ALineIsReadableWhenItIsFinished) {
  EXPECT_EQ(type("hel"), "hel");
  EXPECT_EQ(read(), "-");
  EXPECT_EQ(type("lo\r"), "lo\r\n");
  EXPECT_EQ(read(), "hello\n");
  EXPECT_EQ(read(), "-");
}

TEST_F(Keyboard, AReadTakesOneLineAtMost) {
  type("one\ntwo\n");
  EXPECT_EQ(tty_.readable_bytes(), 8U);
  EXPECT_EQ(read(2), "on");
  EXPECT_EQ(read(), "e\n");
  EXPECT_EQ(read(), "two\n");
}

TEST_F(Keyboard, EraseTakesBackACharacterAndItsPlaceOnTheScreen) {
  EXPECT_EQ(type("ab\x7f"), "ab\b \b");
  EXPECT_EQ(type("c\n"), "c\r\n");
  EXPECT_EQ(read(), "ac\n");
  EXPECT_EQ(type("\x7f"), "") << "nothing is left to erase";
}

TEST_F(Keyboard, EraseTakesAllBytesOfACharacter) {
  EXPECT_EQ(type("\xc3\xa4\x7f"), "\xc3\xa4\b \b");
  type("x\n");
  EXPECT_EQ(read(), "x\n");
}

TEST_F(Keyboard, EraseOfATabGoesBackToWhereItBegan) {
  show("> ");
  EXPECT_EQ(type("a\t\x7f"), "a\t\b\b\b\b\b");
}

TEST_F(Keyboard, EraseOfAControlCharacterTakesTwoColumns) {
  EXPECT_EQ(type("\x01"), "^A");
  EXPECT_EQ(type("\x7f"), "\b \b\b \b");
}

TEST_F(Keyboard, EraseWordStopsBeforeTheWord) {
  type("foo bar  ");
  type("\x17");
  type("x\n");
  EXPECT_EQ(read(), "foo x\n");
}

TEST_F(Keyboard, KillTakesTheLine) {
  type("junk");
  EXPECT_EQ(type("\x15"), "\b \b\b \b\b \b\b \b");
  type("ok\n");
  EXPECT_EQ(read(), "ok\n");
}

TEST_F(Keyboard, KillWithoutEraseShowsItself) {
  change([](Termios& t) { t.lflag &= ~echoke; });
  type("junk");
  EXPECT_EQ(type("\x15"), "^U\r\n");
}

TEST_F(Keyboard, EndOfFileOnAnEmptyLine) {
  type("\x04");
  EXPECT_EQ(read(), "EOF");
  EXPECT_EQ(read(), "-");
}

TEST_F(Keyboard, EndOfFileInALineFinishesIt) {
  EXPECT_EQ(type("part\x04"), "part");
  EXPECT_EQ(read(), "part");
  EXPECT_EQ(read(), "-");
}

TEST_F(Keyboard, LiteralNextTakesTheMeaningAway) {
  EXPECT_EQ(type("\x16\x03"), "^\b^C");
  EXPECT_TRUE(signals_.empty());
  type("\n");
  EXPECT_EQ(read(), "\x03\n");
}

TEST_F(Keyboard, SignalsFlushWhatWasTyped) {
  type("unfinished");
  EXPECT_EQ(type("\x03"), "^C");
  EXPECT_EQ(signals_, std::vector<int>{sigint});
  EXPECT_TRUE(flushed_);
  type("\n");
  EXPECT_EQ(read(), "\n");
  type("\x1a");
  EXPECT_EQ(signals_, std::vector<int>{sigtstp});
  type("\x1c");
  EXPECT_EQ(signals_, std::vector<int>{sigquit});
}

TEST_F(Keyboard, NoFlushKeepsWhatWasTyped) {
  change([](Termios& t) { t.lflag |= noflsh; });
  type("kept\x03\n");
  EXPECT_EQ(read(), "kept\n");
  EXPECT_FALSE(flushed_);
}

TEST_F(Keyboard, ACharacterThatIsOffMeansNothing) {
  change([](Termios& t) { t.cc[vintr] = 0; });
  EXPECT_EQ(type(std::string_view("\0\x03", 2)), "^@^C");
  EXPECT_TRUE(signals_.empty());
}

TEST_F(Keyboard, ReprintShowsTheLineAgain) { EXPECT_EQ(type("ab\x12"), "ab^R\r\nab"); }

TEST_F(Keyboard, BytesThatCauseMuchAreTakenInSteps) {
  type(std::string(LineDiscipline::max_input_bytes, '\t'));
  const std::string reprints(200, '\x12');
  std::string_view left = reprints;
  while (!left.empty()) {
    const std::string echo = type(left);
    EXPECT_LT(echo.size(), 32 * LineDiscipline::max_input_bytes);
    ASSERT_GT(taken_, 0U);
    left.remove_prefix(taken_);
  }
  type(std::string(1000, '\x03'));
  EXPECT_LT(taken_, 1000U);
}

TEST_F(Keyboard, FlowControlStopsAndStartsOutput) {
  EXPECT_EQ(type("\x13"), "");
  EXPECT_TRUE(tty_.output_stopped());
  EXPECT_EQ(type("\x11"), "");
  EXPECT_FALSE(tty_.output_stopped());
}

TEST_F(Keyboard, RawInputIsReadableAtOnceAndNotEchoed) {
  set_raw();
  EXPECT_EQ(type("a\r\x03\x04"), "");
  EXPECT_EQ(read(), "a\r\x03\x04");
  EXPECT_TRUE(signals_.empty());
  EXPECT_FALSE(tty_.readable());
  type("xy");
  EXPECT_FALSE(tty_.readable(3));
  EXPECT_TRUE(tty_.readable(2));
}

TEST_F(Keyboard, AChangeToRawMakesTheUnfinishedLineReadable) {
  type("line\npart");
  set_raw();
  EXPECT_EQ(read(), "line\npart");
}

TEST_F(Keyboard, AChangeToCanonicalKeepsWhatIsThere) {
  set_raw();
  type("bytes");
  change([](Termios& t) { t.lflag |= icanon; });
  EXPECT_EQ(read(), "bytes");
}

TEST_F(Keyboard, ALineThatIsTooLongLosesItsRestButNotItsEnd) {
  type(std::string(10'000, 'x'));
  EXPECT_EQ(taken_, 10'000U);
  type("\n");
  const std::string line = read(100'000);
  EXPECT_EQ(line.size(), LineDiscipline::max_input_bytes);
  EXPECT_EQ(line.back(), '\n');
}

TEST_F(Keyboard, AReaderThatIsBehindStopsTheTyping) {
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "ab\n";
  type(lines);
  EXPECT_LT(taken_, LineDiscipline::max_input_bytes);
  EXPECT_FALSE(tty_.accepts());
  EXPECT_EQ(read(), "ab\n");
  EXPECT_TRUE(tty_.accepts());
}

TEST_F(Keyboard, EndsOfFileAreBounded) {
  type(std::string(100'000, '\x04'));
  EXPECT_LE(taken_, LineDiscipline::max_input_bytes);
}

TEST_F(Keyboard, InputTranslations) {
  change([](Termios& t) {
    t.iflag |= igncr;
    t.lflag &= ~echo;
  });
  type("a\rb\n");
  EXPECT_EQ(read(), "ab\n");
  change([](Termios& t) { t.iflag = (t.iflag & ~(igncr | icrnl)) | inlcr | istrip; });
  type("\xe1\n");
  change([](Termios& t) { t.lflag &= ~icanon; });
  EXPECT_EQ(read(), "a\r");
}

TEST_F(Keyboard, EchoOffStillEchoesNewlinesWhenAsked) {
  change([](Termios& t) { t.lflag = (t.lflag & ~echo) | echonl; });
  EXPECT_EQ(type("secret\n"), "\r\n");
  EXPECT_EQ(read(), "secret\n");
}

TEST_F(Keyboard, OutputGetsCarriageReturns) {
  EXPECT_EQ(show("a\nb"), "a\r\nb");
  change([](Termios& t) { t.oflag |= tabdly; });
  EXPECT_EQ(show("\tc"), "       c");
  set_raw();
  EXPECT_EQ(show("a\nb"), "a\nb");
}

TEST_F(Keyboard, OutputStopsWhereTheRoomEnds) {
  std::string out;
  const std::string lines(100, '\n');
  const std::size_t used = tty_.process_output(std::as_bytes(std::span(lines)), 20, out);
  EXPECT_LE(out.size(), 20U);
  EXPECT_EQ(out.size(), 2 * used);
  EXPECT_GT(used, 0U);
}

}  // namespace
}  // namespace cloche::kernel
