"""A job on a pseudo-terminal, or a shell that has jobs, and the same run several times as `diogenes run` does it. Tests are
called with TERMINAL_RUNS DIOGENES FAULTY [CASE...].

Each case types into a pseudo-terminal and waits for what is on it, never for a time. What the user sees is compared with
what he sees without us."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
import traceback

RUNS, DIOGENES, FAULTY = (os.path.abspath(path) for path in sys.argv[1:4])
PATIENCE = 60  # seconds: until a test is given up, not what it waits for


THERE = set()  # terminals whose job may not have ended


class Terminal:
    """A terminal with one job on it, or with a shell that has jobs."""

    def __init__(self, command, size=(30, 100), environment=None):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        THERE.add(self)
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.environ.update({"PS1": "READY> ", "PS2": "", "ENV": "", "TERM": "xterm"})
            os.environ.update(environment or {})
            # Not before the size is set.
            os.read(0, 1)
            termios.tcflush(0, termios.TCIFLUSH)
            os.write(1, b"GO\n")
            try:
                os.execvp(command[0], command)
            except OSError as problem:
                os.write(2, f"{command[0]}: {problem}".encode())
            os._exit(127)
        self.resize(*size)
        echo = termios.tcgetattr(self.fd)
        os.write(self.fd, b"\n")
        begin = self.until(b"GO\r\n")
        self.seen = self.seen[begin:]
        self.modes = echo

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            got = b""
        self.seen += got
        return got != b""

    def until(self, text, since=0):
        """Until `text` (a pattern, or bytes) is seen after position `since`; returns where it ends."""
        pattern = text if isinstance(text, re.Pattern) else re.compile(re.escape(text))
        end = time.monotonic() + PATIENCE
        while True:
            if found := pattern.search(self.seen, since):
                return found.end()
            if time.monotonic() > end:
                raise AssertionError(f"not seen: {text!r}; there is: {self.seen!r}")
            self.read(0.1)

    def type(self, text):
        os.write(self.fd, text)

    def say(self, prompt, answer):
        """The answer to a prompt that is there."""
        at = self.until(prompt)
        self.type(answer)
        return at

    def end(self):
        """Reads to the end; returns the exit status of the job, -N on signal N."""
        end = time.monotonic() + PATIENCE
        gone = 0
        while gone == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end; there is: {self.seen!r}")
            self.read(0.05)
            gone, status = os.waitpid(self.pid, os.WNOHANG)
        while self.read(0.05):
            pass
        os.close(self.fd)
        THERE.discard(self)
        return os.waitstatus_to_exitcode(status)

    def same_modes(self):
        return termios.tcgetattr(self.fd) == self.modes


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.01)


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        with open(self / name, encoding="latin-1") as file:
            return file.read()

    def log(self):
        return self.read("log").splitlines()

    def script(self, text, name="script"):
        with open(self / name, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self / name, 0o755)
        return self / name

    def runs(self, count, *command):
        return [RUNS, self.path, str(count), *command]


def run_of(line):
    words = line.split(" | ")[0].split()
    return dict(zip(words[::2], words[1::2]))


def both(folder, count, command, play, environment=None):
    """Plays the same with and without us; the user has to see the same. Returns the log."""
    seen = []
    for how in (list(command), folder.runs(count, *command)):
        terminal = Terminal(how, environment=environment)
        play(terminal)
        status = terminal.end()
        seen.append(b"status %d\n" % status + terminal.seen)
    same = len(os.path.commonprefix(seen))
    there = [text[max(0, same - 100) : same + 200] for text in seen]
    assert seen[0] == seen[1], f"without us: {there[0]!r}\nwith us:    {there[1]!r}\nlog: {folder.read('log')}"
    log = folder.log()
    assert len(log) == count, log
    return [run_of(line) for line in log], log


SHELL = shutil.which("dash") or "/bin/sh"


KEYS = """#!/usr/bin/env python3
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0) if "raw" in sys.argv else tty.setcbreak(0)
os.write(1, b"keys? ")
keys = b""
while not keys.endswith(b"q"):
    key = os.read(0, 100)
    keys += key
    os.write(1, b"[%s]" % key.hex().encode())
if "leave" not in sys.argv: termios.tcsetattr(0, termios.TCSAFLUSH, before)
with open(sys.argv[1] + os.environ.get("RUN", "0"), "wb") as file: file.write(keys)
"""


def run_cases(cases):
    """Those that the command line names, or all; ends the process with 0 if all passed."""
    failed = 0
    chosen = sys.argv[4:]
    for case in cases:
        if chosen and case.__name__ not in chosen:
            continue
        begin = time.monotonic()
        try:
            with Folder() as folder_of_case:
                case(folder_of_case)
            print(f"passed: {case.__name__}, {time.monotonic() - begin:.1f} s", flush=True)
        except Exception:  # the next case may tell more
            failed += 1
            print(f"FAILED: {case.__name__}", flush=True)
            traceback.print_exc()
        for left in THERE:
            try:
                os.close(left.fd)
                os.kill(left.pid, signal.SIGKILL)
            except OSError:
                pass
        THERE.clear()
    sys.exit(failed != 0)
