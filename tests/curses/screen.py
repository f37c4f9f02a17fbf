# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows after the bytes that it was sent: as much of an xterm as programs of curses use."""
import re
import unicodedata

SEQUENCE = re.compile(rb"\x1b\[([?>]?)([\d;]*)([ -/]?)([@-~])|\x1b\][^\x07]*\x07|\x1b[()][0-9A-Za-z]|\x1b[ -'*-Z\\^-~]")
LINES = dict(zip("jklmnqtuvwx`af~", "┘┐┌└┼─├┤┴┬│◆▒°·"))


class Screen:
    """`rows` are lists of (character, attributes)."""

    def __init__(self, height, width):
        self.pending = b""
        self.bell = 0
        self.other = None  # the rows of the other screen
        self.resize(height, width)
        self.rows = [self.empty() for _ in range(height)]
        self.row = self.column = 0
        self.saved = (0, 0)
        self.attributes, self.lines, self.wraps, self.shown = frozenset(), False, False, True
        self.last = " "

    def resize(self, height, width):
        self.height, self.width = height, width
        self.top, self.bottom = 0, height - 1
        if hasattr(self, "rows"):
            self.rows = [(row + [(" ", frozenset())] * width)[:width] for row in self.rows[:height]]
            self.rows += [self.empty() for _ in range(height - len(self.rows))]
            self.row, self.column = min(self.row, height - 1), min(self.column, width - 1)

    def empty(self):
        return [(" ", frozenset())] * self.width

    def blank(self):
        """What erasing leaves: the background goes with it."""
        return " ", frozenset(a for a in self.attributes if a.startswith("4") and len(a) > 1)

    def feed(self, data):
        data = self.pending + data
        self.pending = b""
        at = 0
        while at < len(data):
            byte = data[at]
            if byte == 0x1B:
                found = SEQUENCE.match(data, at)
                if found is None:
                    self.pending = data[at:]
                    return
                self.sequence(found)
                at = found.end()
            elif byte < 0x20:
                self.control(byte)
                at += 1
            else:
                length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                if at + length > len(data):
                    self.pending = data[at:]
                    return
                self.put(data[at:at + length].decode(errors="replace"))
                at += length

    def control(self, byte):
        if byte == 7:
            self.bell += 1
        elif byte == 8:
            self.column, self.wraps = max(0, self.column - 1), False
        elif byte == 9:
            self.column = min(self.width - 1, self.column // 8 * 8 + 8)
        elif byte == 10:
            self.down()
        elif byte == 13:
            self.column, self.wraps = 0, False
        elif byte in (14, 15):
            self.lines = byte == 14

    def down(self):
        if self.row == self.bottom:
            self.scroll(self.top, self.bottom, 1)
        else:
            self.row = min(self.height - 1, self.row + 1)

    def scroll(self, top, bottom, count):
        """Up by so many lines, down where it is negative."""
        part = self.rows[top:bottom + 1]
        count = max(-len(part), min(len(part), count))
        fresh = [[self.blank()] * self.width for _ in range(abs(count))]
        self.rows[top:bottom + 1] = part[count:] + fresh if count >= 0 else fresh + part[:count]

    def put(self, character):
        if self.lines:
            character = LINES.get(character, character)
        wide = unicodedata.east_asian_width(character) in "WF"
        if unicodedata.combining(character):
            return
        if self.wraps or (wide and self.column == self.width - 1):
            self.wraps, self.column = False, 0
            self.down()
        self.rows[self.row][self.column] = (character, self.attributes)
        if wide:
            self.rows[self.row][self.column + 1] = ("", self.attributes)
        self.last = character
        step = 2 if wide else 1
        if self.column + step >= self.width:
            self.column, self.wraps = self.width - 1, True
        else:
            self.column += step

    def sequence(self, found):
        mark, numbers, _, final = found.groups()
        if final is None:
            return self.escape(found[0])
        numbers = [int(number) if number else 0 for number in numbers.split(b";")]
        final = final.decode()
        count = max(1, numbers[0])
        row = self.rows[self.row]
        if mark:
            if final in "hl" and mark == b"?":
                self.mode(numbers, final == "h")
            return None
        if final not in "mrb":
            self.wraps = False
        if final in "Hf":
            self.row = min(self.height, count) - 1
            self.column = min(self.width, max(1, numbers[1] if len(numbers) > 1 else 1)) - 1
        elif final in "AF":
            self.row = max(0, self.row - count)
        elif final in "BE":
            self.row = min(self.height - 1, self.row + count)
        elif final == "C":
            self.column = min(self.width - 1, self.column + count)
        elif final == "D":
            self.column = max(0, self.column - count)
        elif final == "G":
            self.column = min(self.width, count) - 1
        elif final == "d":
            self.row = min(self.height, count) - 1
        elif final == "J":
            self.erase_display(numbers[0])
        elif final == "K":
            start, end = ((self.column, self.width), (0, self.column + 1), (0, self.width))[numbers[0]]
            row[start:end] = [self.blank()] * (end - start)
        elif final == "X":
            end = min(self.width, self.column + count)
            row[self.column:end] = [self.blank()] * (end - self.column)
        elif final == "@":
            row[self.column:] = ([self.blank()] * count + row[self.column:])[:self.width - self.column]
        elif final == "P":
            row[self.column:] = (row[self.column + count:] + [self.blank()] * count)[:self.width - self.column]
        elif final in "LM":
            self.scroll(self.row, self.bottom, count if final == "M" else -count)
        elif final in "ST":
            self.scroll(self.top, self.bottom, count if final == "S" else -count)
        elif final == "b":
            for _ in range(count):
                self.put(self.last)
        elif final == "r":
            self.top, self.bottom = count - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.height) - 1
            self.row = self.column = 0
        elif final == "m":
            self.colour(numbers)
        return None

    def erase_display(self, which):
        cells = [[self.blank()] * self.width for _ in range(self.height)]
        row = self.rows[self.row]
        if which == 0:
            row[self.column:] = cells[0][self.column:]
            self.rows[self.row + 1:] = cells[self.row + 1:]
        elif which == 1:
            row[:self.column + 1] = cells[0][:self.column + 1]
            self.rows[:self.row] = cells[:self.row]
        else:
            self.rows = cells

    def mode(self, numbers, on):
        for number in numbers:
            if number == 25:
                self.shown = on
            elif number == 1049 and on != (self.other is not None):
                if on:
                    self.other, self.saved = self.rows, (self.row, self.column)
                    self.rows = [self.empty() for _ in range(self.height)]
                else:
                    self.rows, self.other = self.other, None
                    (self.row, self.column), self.wraps = self.saved, False
                    self.resize(self.height, self.width)

    def colour(self, numbers):
        kept = set(self.attributes)
        numbers = iter(numbers)
        for number in numbers:
            if number == 0:
                kept.clear()
            elif number in (38, 48):
                kind = next(numbers, 0)
                kept = {a for a in kept if a[0] != str(number)[0] or len(a) == 1}
                kept.add(f"{number // 10}:{[next(numbers, 0) for _ in range(1 if kind == 5 else 3)]}")
            elif 30 <= number <= 49 or 90 <= number <= 107:
                ground = "4" if 40 <= number <= 49 or number >= 100 else "3"
                kept = {a for a in kept if a[0] != ground or len(a) == 1}
                if number not in (39, 49):
                    kept.add(f"{ground}:{number % 10}{'b' if number >= 90 else ''}")
            elif 21 <= number <= 29:
                kept -= {"1", "2"} if number == 22 else {str(number - 20)}
            else:
                kept.add(str(number))
        self.attributes = frozenset(kept)

    def escape(self, text):
        if text == b"\x1b7":
            self.saved = (self.row, self.column)
        elif text == b"\x1b8":
            (self.row, self.column), self.wraps = self.saved, False
        elif text == b"\x1bM":
            if self.row == self.top:
                self.scroll(self.top, self.bottom, -1)
            else:
                self.row = max(0, self.row - 1)
        elif text[:2] == b"\x1b(":
            self.lines = text[2:] == b"0"

    def text(self):
        return ["".join(character for character, _ in row).rstrip() for row in self.rows]

    def told(self):
        """Lines of text, then where which attributes are, then the cursor."""
        lines = [f"|{line}" for line in self.text()]
        for number, row in enumerate(self.rows):
            column = 0
            while column < len(row):
                attributes, start = row[column][1], column
                while column < len(row) and row[column][1] == attributes:
                    column += 1
                if attributes:
                    lines.append(f"{number}:{start}-{column} {' '.join(sorted(attributes))}")
        return [*lines, f"cursor {self.row} {self.column} {'shown' if self.shown else 'hidden'}"]
