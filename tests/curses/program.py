# SPDX-License-Identifier: Apache-2.0
"""What curses_test.py runs on terminals: `program.py SCENE` draws, and tells on the last line what it waits for."""
import curses
import curses.ascii
import curses.panel
import curses.textpad
import io
import signal
import sys
import threading
import time


def say(screen, text):
    """The driver goes on once this is shown."""
    height, _ = screen.getmaxyx()
    screen.move(height - 1, 0)
    screen.clrtoeol()
    screen.addstr(height - 1, 0, f"<{text}>")
    screen.refresh()


def draw(screen):
    try:
        curses.curs_set(0)
    except curses.error as error:
        screen.addstr(8, 2, str(error))
    for pair in range(1, 8) if curses.has_colors() else ():
        curses.init_pair(pair, pair, 7 - pair)
        screen.addstr(pair, 2, f"pair {pair}", curses.color_pair(pair) | (curses.A_BOLD if pair % 2 else 0))
    screen.border()
    screen.hline(9, 2, curses.ACS_HLINE, 20)
    screen.vline(1, 30, curses.ACS_VLINE, 8)
    for column, attribute in enumerate((curses.A_BOLD, curses.A_DIM, curses.A_REVERSE, curses.A_UNDERLINE, curses.A_BLINK, curses.A_STANDOUT)):
        screen.addstr(10, 2 + 3 * column, "ab", attribute)
    screen.addstr(11, 2, "Grüße, 日本語 ⚙ é")
    screen.addch(12, 2, "ß")
    screen.insstr(12, 2, "inserted ")
    screen.chgat(12, 2, 8, curses.A_REVERSE)
    window = curses.newwin(5, 20, 2, 40)
    window.box()
    window.addstr(1, 1, "a window")
    inner = window.derwin(2, 10, 2, 2)
    inner.addstr(0, 0, "derived")
    screen.noutrefresh()
    window.noutrefresh()
    pad = curses.newpad(40, 80)
    for line in range(40):
        pad.addstr(line, 0, f"line {line} of a pad")
    pad.noutrefresh(10, 2, 14, 40, 18, 58)
    curses.doupdate()
    saved = io.BytesIO()
    window.putwin(saved)
    saved.seek(0)
    again = curses.getwin(saved)
    again.mvwin(8, 40)
    again.refresh()
    for wanted in (window.instr(1, 1, 8), screen.inch(1, 2) & curses.A_CHARTEXT, curses.has_colors() and curses.pair_content(3), curses.can_change_color(), curses.COLORS > 7,
                   curses.longname(), curses.termname(), curses.baudrate() > 0, curses.erasechar(), curses.ascii.ctrl("a")):
        screen.addstr(13 + wanted_row(), 2, str(wanted)[:36])
    say(screen, "drawn")
    screen.getch()


_row = -1


def wanted_row():
    global _row
    _row += 1
    return _row


def panels(screen):
    made = []
    for number in range(3):
        window = curses.newwin(6, 20, 2 + 2 * number, 4 + 6 * number)
        window.bkgd(" ", curses.A_REVERSE if number == 1 else 0)
        window.box()
        window.addstr(1, 2, f"panel {number}")
        made.append(curses.panel.new_panel(window))
    for act in (lambda: None, made[0].top, made[2].hide, lambda: made[1].move(10, 30), made[2].show):
        act()
        curses.panel.update_panels()
        curses.doupdate()
        say(screen, f"panels {act.__name__}")
        screen.getch()
    made[0].set_userptr("mine")
    screen.addstr(20, 0, f"{made[0].userptr()} {curses.panel.top_panel().window().getbegyx()} {made[0].above() is made[2]}")
    say(screen, "panels told")
    screen.getch()


def keys(screen):
    available, _ = curses.mousemask(curses.ALL_MOUSE_EVENTS)
    screen.addstr(0, 0, f"mouse {available != 0} {curses.has_key(curses.KEY_UP)}")
    for row in range(1, 12):
        say(screen, f"key {row}")
        key = screen.getch()
        text = f"{key} {curses.keyname(key)}"
        if key == curses.KEY_MOUSE:
            text += f" {curses.getmouse()}"
        screen.addstr(row, 0, text)
    say(screen, "wide")
    screen.addstr(13, 0, repr(screen.get_wch()))
    say(screen, "named")
    screen.addstr(14, 0, repr(screen.getkey()))
    curses.ungetch(ord("u"))
    curses.unget_wch("ü")
    screen.addstr(15, 0, f"{screen.get_wch()!r} {screen.getch()}")
    curses.echo()
    say(screen, "line")
    screen.addstr(16, 0, repr(screen.getstr(17, 4, 20)))
    curses.noecho()
    screen.nodelay(True)
    screen.addstr(18, 0, str(screen.getch()))
    try:
        screen.getkey()
    except curses.error as error:
        screen.addstr(19, 0, str(error))
    screen.timeout(30)
    before = time.monotonic()
    screen.addstr(20, 0, f"{screen.getch()} {time.monotonic() - before > 0.025}")
    screen.timeout(-1)
    curses.halfdelay(1)
    screen.addstr(21, 0, str(screen.getch()))
    curses.nocbreak()
    curses.cbreak()
    before = time.monotonic()
    curses.napms(20)
    screen.addstr(21, 10, str(time.monotonic() - before > 0.015))
    screen.addstr(22, 0, f"{curses.tigetstr('cup')} {curses.tparm(curses.tigetstr('cup'), 3, 4)} {curses.tigetnum('colors')} {curses.tigetflag('am')}")
    say(screen, "end")
    screen.getch()


def resize(screen):
    say(screen, f"size {curses.LINES} {curses.COLS}")
    while (key := screen.getch()) != ord("q"):
        screen.erase()
        screen.border()
        height, width = screen.getmaxyx()
        screen.addstr(1, 1, f"{curses.keyname(key)} {curses.LINES} {curses.COLS} {curses.is_term_resized(height, width)}")
        say(screen, f"size {height} {width}")
    curses.resizeterm(10, 40)
    screen.addstr(2, 1, str(screen.getmaxyx()))
    say(screen, "resized")
    while screen.getch() != ord("q"):
        pass


def text(screen):
    window = curses.newwin(4, 20, 2, 2)
    curses.textpad.rectangle(screen, 1, 1, 6, 22)
    say(screen, "edit")
    content = curses.textpad.Textbox(window, insert_mode=True).edit()
    screen.addstr(10, 0, repr(content))
    say(screen, "edited")
    screen.getch()


def signals(screen):
    came = []
    signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    screen.addstr(0, 0, f"{screen.getch()} {came}")
    say(screen, "interrupt")
    try:
        while True:
            screen.getch()
    except KeyboardInterrupt:
        screen.addstr(1, 0, "interrupted")

    def stop(number, frame):
        raise OSError("stopped")
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while True:
            screen.getch()
    except OSError as error:
        screen.addstr(2, 0, str(error))
    say(screen, "signalled")
    while screen.getch() != ord("q"):
        pass


def threads(screen):
    turns, done = [], threading.Event()

    def count():
        while not done.wait(0.001):
            turns.append(1)
            if len(turns) == 20:
                print(end="\7", flush=True)  # the driver sends a key then
    counter = threading.Thread(target=count)
    counter.start()
    key = screen.getch()
    done.set()
    counter.join()
    screen.addstr(0, 0, f"{key} {len(turns) >= 20}")
    say(screen, "counted")
    screen.getch()


def shell(screen):
    screen.addstr(0, 0, "before")
    screen.refresh()
    curses.def_prog_mode()
    curses.endwin()
    print(f"outside {curses.isendwin()}", flush=True)
    curses.reset_prog_mode()
    screen.refresh()
    say(screen, "back")
    screen.getch()


def stop(screen):
    screen.addstr(0, 0, "before")
    say(screen, "stop")
    while screen.getch() != ord("x"):
        pass
    say(screen, "continued")
    while screen.getch() != ord("q"):
        pass


if __name__ == "__main__":
    scene = globals()[sys.argv[1]]
    curses.wrapper(scene)
    print("left")
