// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/line_discipline.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "kernel/process/signal.h"

namespace cloche::kernel {
namespace {

using namespace tty;

constexpr std::uint8_t newline = '\n';
constexpr std::size_t tab_width = 8;

bool is_control(std::uint8_t c) { return c < 0x20 || c == 0x7f; }
bool is_continuation(std::uint8_t c) { return (c & 0xc0) == 0x80; }
bool is_word(std::uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c >= 0x80;
}
std::uint8_t lower(std::uint8_t c) {
  return c >= 'A' && c <= 'Z' ? static_cast<std::uint8_t>(c + 32) : c;
}
std::uint8_t upper(std::uint8_t c) {
  return c >= 'a' && c <= 'z' ? static_cast<std::uint8_t>(c - 32) : c;
}

}  // namespace

void LineDiscipline::set_termios(const Termios& termios) {
  const bool was_canonical = canonical();
  termios_ = termios;
  if (was_canonical == canonical()) return;
  if (canonical()) {
    if (!raw_.empty()) {
      lines_bytes_ += raw_.size();
      lines_.push_back(std::exchange(raw_, {}));
    }
  } else {
    for (const std::string& line : lines_) raw_ += line;
    raw_ += line_;
    lines_.clear();
    lines_bytes_ = 0;
    line_.clear();
  }
  literal_next_ = false;
  erasing_ = false;
}

void LineDiscipline::flush_input() {
  line_.clear();
  lines_.clear();
  lines_bytes_ = 0;
  raw_.clear();
  literal_next_ = false;
}

// An end of file counts: otherwise endless ^D would take memory.
std::size_t LineDiscipline::held_bytes() const noexcept {
  return raw_.size() + line_.size() + lines_bytes_ + lines_.size();
}

bool LineDiscipline::accepts() const noexcept {
  if (held_bytes() + 1 < max_input_bytes) return true;
  // A line that is too long must still come to its end: then what does not fit is dropped.
  // Otherwise the reader is behind.
  return canonical() && lines_.empty();
}

std::size_t LineDiscipline::receive(std::span<const std::byte> typed, Effects& effects) {
  std::size_t taken = 0;
  while (taken < typed.size() && accepts() && !effects.is_much())
    receive_one(static_cast<std::uint8_t>(typed[taken++]), effects);
  return taken;
}

void LineDiscipline::receive_one(std::uint8_t c, Effects& effects) {
  if (termios_.has_input(istrip)) c &= 0x7f;
  if (termios_.has_input(iuclc) && termios_.has_local(iexten)) c = lower(c);
  if (literal_next_) {
    literal_next_ = false;
    if (termios_.has_local(tty::echo)) echo_character(c, effects);
    store(c, effects);
    return;
  }
  if (receive_special(c, effects)) return;
  if (c == '\r') {
    if (termios_.has_input(igncr)) return;
    if (termios_.has_input(icrnl)) c = newline;
  } else if (c == newline && termios_.has_input(inlcr)) {
    c = '\r';
  }
  if (canonical() && receive_editing(c, effects)) return;
  if (termios_.has_local(tty::echo)) {
    finish_erasing(effects);
    if (c == newline) {
      echo_raw("\n", effects);
    } else {
      echo_character(c, effects);
    }
  }
  if (c == 0xff && termios_.has_input(parmrk)) store(c, effects);
  store(c, effects);
}

bool LineDiscipline::receive_special(std::uint8_t c, Effects& effects) {
  return receive_flow_control(c) || receive_signal(c, effects);
}

bool LineDiscipline::receive_flow_control(std::uint8_t c) {
  if (!termios_.has_input(ixon)) return false;
  if (termios_.is(vstart, c)) {
    stopped_ = false;
    return true;
  }
  if (termios_.is(vstop, c)) {
    stopped_ = true;
    return true;
  }
  if (stopped_ && termios_.has_input(ixany)) stopped_ = false;
  return false;
}

bool LineDiscipline::receive_signal(std::uint8_t c, Effects& effects) {
  if (!termios_.has_local(isig)) return false;
  int signo = 0;
  if (termios_.is(vintr, c)) signo = sigint;
  if (termios_.is(vquit, c)) signo = sigquit;
  if (termios_.is(vsusp, c)) signo = sigtstp;
  if (signo == 0) return false;
  if (!termios_.has_local(noflsh)) {
    flush_input();
    effects.flush_output = true;
    effects.echo.clear();
    effects.input_changed = true;
  }
  stopped_ = false;
  if (termios_.has_local(tty::echo)) echo_character(c, effects);
  effects.signals.push_back(signo);
  return true;
}

bool LineDiscipline::receive_editing(std::uint8_t c, Effects& effects) {
  const bool extended = termios_.has_local(iexten);
  if (termios_.is(verase, c)) {
    erase_character(effects);
    return true;
  }
  if (termios_.is(vkill, c)) {
    erase_line(effects);
    return true;
  }
  if (extended && termios_.is(vwerase, c)) {
    erase_word(effects);
    return true;
  }
  if (extended && termios_.is(vlnext, c)) {
    literal_next_ = true;
    if (termios_.has_local(tty::echo)) {
      finish_erasing(effects);
      if (termios_.has_local(echoctl)) echo_raw("^\b", effects);
    }
    return true;
  }
  if (extended && termios_.is(vreprint, c) && termios_.has_local(tty::echo)) {
    finish_erasing(effects);
    echo_character(c, effects);
    echo_raw("\n", effects);
    line_column_ = column_;
    for (const char typed : line_) echo_character(static_cast<std::uint8_t>(typed), effects);
    return true;
  }
  if (c == newline) {
    if (termios_.has_local(tty::echo) || termios_.has_local(echonl)) {
      finish_erasing(effects);
      echo_raw("\n", effects);
    }
    line_.push_back('\n');
    finish_line(effects);
    return true;
  }
  if (termios_.is(veof, c)) {
    finish_line(effects);
    return true;
  }
  if (termios_.is(veol, c) || (extended && termios_.is(veol2, c))) {
    if (termios_.has_local(tty::echo)) {
      finish_erasing(effects);
      echo_character(c, effects);
    }
    line_.push_back(static_cast<char>(c));
    finish_line(effects);
    return true;
  }
  return false;
}

void LineDiscipline::store(std::uint8_t c, Effects& effects) {
  if (held_bytes() + 1 >= max_input_bytes) {
    if (termios_.has_input(imaxbel)) effects.echo.push_back('\a');
    return;
  }
  if (canonical()) {
    line_.push_back(static_cast<char>(c));
  } else {
    raw_.push_back(static_cast<char>(c));
    effects.input_changed = true;
  }
}

void LineDiscipline::finish_line(Effects& effects) {
  lines_bytes_ += line_.size();
  lines_.push_back(std::exchange(line_, {}));
  line_column_ = column_;
  effects.input_changed = true;
}

// --- Erasing ---

std::size_t LineDiscipline::last_character_at() const noexcept {
  std::size_t at = line_.size() - 1;
  if (termios_.has_input(iutf8)) {
    while (at > 0 && is_continuation(static_cast<std::uint8_t>(line_[at]))) --at;
  }
  return at;
}

std::size_t LineDiscipline::column_after(std::size_t bytes) const noexcept {
  std::size_t column = line_column_;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto c = static_cast<std::uint8_t>(line_[i]);
    if (c == '\t') {
      column = (column / tab_width + 1) * tab_width;
    } else if (is_control(c)) {
      if (termios_.has_local(echoctl)) column += 2;
    } else if (!termios_.has_input(iutf8) || !is_continuation(c)) {
      ++column;
    }
  }
  return column;
}

void LineDiscipline::drop_last(Effects& effects) {
  const std::size_t at = last_character_at();
  const std::string dropped = line_.substr(at);
  const std::size_t columns = column_after(line_.size()) - column_after(at);
  line_.resize(at);
  if (!termios_.has_local(tty::echo)) return;
  if (termios_.has_local(echoprt)) {
    if (!erasing_) echo_raw("\\", effects);
    erasing_ = true;
    for (const char c : dropped) echo_character(static_cast<std::uint8_t>(c), effects);
  } else if (!termios_.has_local(echoe)) {
    echo_character(termios_.cc[verase], effects);
  } else if (dropped == "\t") {
    for (std::size_t i = 0; i < columns; ++i) echo_raw("\b", effects);
  } else {
    for (std::size_t i = 0; i < columns; ++i) echo_raw("\b \b", effects);
  }
}

void LineDiscipline::erase_character(Effects& effects) {
  if (!line_.empty()) drop_last(effects);
}

void LineDiscipline::erase_word(Effects& effects) {
  bool in_word = false;
  while (!line_.empty()) {
    if (is_word(static_cast<std::uint8_t>(line_[last_character_at()]))) {
      in_word = true;
    } else if (in_word) {
      break;
    }
    drop_last(effects);
  }
}

void LineDiscipline::erase_line(Effects& effects) {
  if (termios_.has_local(tty::echo) &&
      !(termios_.has_local(echok) && termios_.has_local(echoke) && termios_.has_local(echoe))) {
    line_.clear();
    finish_erasing(effects);
    echo_character(termios_.cc[vkill], effects);
    if (termios_.has_local(echok)) echo_raw("\n", effects);
    line_column_ = column_;
    return;
  }
  while (!line_.empty()) drop_last(effects);
}

// --- Echo and output ---

void LineDiscipline::finish_erasing(Effects& effects) {
  if (std::exchange(erasing_, false)) echo_raw("/", effects);
}

void LineDiscipline::echo_raw(std::string_view bytes, Effects& effects) {
  for (const char c : bytes) {
    if (termios_.has_output(opost)) {
      put_output(static_cast<std::uint8_t>(c), effects.echo);
    } else {
      effects.echo.push_back(c);
    }
  }
}

void LineDiscipline::echo_character(std::uint8_t c, Effects& effects) {
  if (canonical() && line_.empty() && !erasing_) line_column_ = column_;
  if (termios_.has_local(echoctl) && is_control(c) && c != '\t') {
    const char shown[] = {'^', static_cast<char>(c ^ 0x40)};
    echo_raw({shown, 2}, effects);
  } else {
    const char shown = static_cast<char>(c);
    echo_raw({&shown, 1}, effects);
  }
}

void LineDiscipline::put_output(std::uint8_t c, std::string& to) {
  switch (c) {
    case newline:
      if (termios_.has_output(onlret)) column_ = 0;
      if (termios_.has_output(onlcr)) {
        column_ = 0;
        to += "\r\n";
        return;
      }
      break;
    case '\r':
      if (termios_.has_output(onocr) && column_ == 0) return;
      if (termios_.has_output(ocrnl)) {
        c = newline;
        if (termios_.has_output(onlret)) column_ = 0;
        break;
      }
      column_ = 0;
      break;
    case '\t': {
      const std::size_t spaces = tab_width - column_ % tab_width;
      column_ += spaces;
      if ((termios_.oflag & tabdly) == tabdly) {
        to.append(spaces, ' ');
        return;
      }
      break;
    }
    case '\b':
      if (column_ > 0) --column_;
      break;
    default:
      if (termios_.has_output(olcuc)) c = upper(c);
      if (!is_control(c) && !(termios_.has_input(iutf8) && is_continuation(c))) ++column_;
      break;
  }
  to.push_back(static_cast<char>(c));
}

std::size_t LineDiscipline::process_output(std::span<const std::byte> from, std::size_t room,
                                           std::string& to) {
  if (!termios_.has_output(opost)) {
    const std::size_t count = std::min(from.size(), room);
    to.append(reinterpret_cast<const char*>(from.data()), count);
    return count;
  }
  std::size_t used = 0;
  const std::size_t end = to.size() + room;
  while (used < from.size()) {
    // A tab is the byte that may become the most bytes.
    if (end - to.size() < tab_width) break;
    put_output(static_cast<std::uint8_t>(from[used++]), to);
  }
  return used;
}

// --- Reading ---

bool LineDiscipline::readable(std::size_t minimum) const noexcept {
  return canonical() ? !lines_.empty() : raw_.size() >= minimum;
}

std::size_t LineDiscipline::readable_bytes() const noexcept {
  return canonical() ? lines_bytes_ : raw_.size();
}

LineDiscipline::Taken LineDiscipline::take(std::span<std::byte> to) {
  if (!canonical()) {
    const std::size_t count = std::min(to.size(), raw_.size());
    std::ranges::copy(std::as_bytes(std::span(raw_)).first(count), to.begin());
    raw_.erase(0, count);
    return {count, false};
  }
  if (lines_.empty()) return {};
  std::string& line = lines_.front();
  const bool end_of_file = line.empty();
  const std::size_t count = std::min(to.size(), line.size());
  std::ranges::copy(std::as_bytes(std::span(line)).first(count), to.begin());
  line.erase(0, count);
  lines_bytes_ -= count;
  if (line.empty()) lines_.pop_front();
  return {count, end_of_file};
}

}  // namespace cloche::kernel
