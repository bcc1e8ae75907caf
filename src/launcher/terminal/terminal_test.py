"""Programs on a terminal, run several times as `diogenes run` does it: terminal_test.py TERMINAL_RUNS DIOGENES FAULTY
[CASE...]

Each case types into a pseudo-terminal and waits for what is on it, never for a time. What the user sees is compared with
what he sees without us."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
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


def lines_are_played_back(folder):
    script = folder.script(
        f"""#!{SHELL}
printf 'name? '; read name; echo "hello $name"
printf 'number? '; read number; echo "$number it is"
while read line; do echo "got <$line>"; done
echo "the end"; exit 7
"""
    )

    def play(terminal):
        terminal.say(b"name? ", b"bob\n")
        terminal.say(b"number? ", b"4\x7f17\x7f2\n")  # with corrections
        terminal.until(b"12 it is\r\n")
        terminal.type(b"one more\n")
        terminal.until(b"got <one more>\r\n")
        terminal.type(b"\x04")

    runs, log = both(folder, 3, [script], play)
    assert all(run["status"] == "7" and run["more"] == "false" for run in runs), log
    assert not any("|" in line for line in log), log
    for number in "123":
        text = folder.read(number + "/stdout")
        assert text.endswith("got <one more>\nthe end\n"), text
    assert float(runs[1]["runtime"]) < 30


def a_terminal_is_what_it_was(folder):
    script = folder.script(
        f"""#!{SHELL}
for fd in 0 1 2; do [ -t $fd ] && echo "$fd is a terminal"; done
stty size; stty -g; stty -g </dev/tty; stty -a
tty </dev/tty >/dev/null && echo 'and has a name'
echo error >&2
printf 'done\\rDONE\\n'
"""
    )
    _, log = both(folder, 2, [script], lambda terminal: None)
    assert not any("|" in line for line in log), log
    assert "30 100" in folder.read("2/stdout")
    assert "30 100" in folder.read("1/stdout")


def the_size_follows(folder):
    script = folder.script(
        """#!/usr/bin/env python3
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})  # a handler might run too late: behind input()
signal.signal(signal.SIGWINCH, lambda *_: None)
print("before", *os.get_terminal_size(), flush=True)
signal.sigwait({signal.SIGWINCH})
print("now", *os.get_terminal_size(), flush=True)
print("typed", input(), flush=True)
"""
    )

    def play(terminal):
        terminal.until(b"before 100 30\r\n")
        terminal.resize(11, 47)
        terminal.until(b"now 47 11\r\n")
        terminal.type(b"x\n")

    both(folder, 1, [script], play)


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


def keys_are_played_back(folder):
    script = folder.script(KEYS)

    def play(terminal):
        at = terminal.until(b"keys? ")
        for key in (b"a", b"\x1b[A", b"\x7f", b"\xc3\xa4", b"\r", b"q"):
            terminal.type(key)
            shown = b"[0[ad]]" if key == b"\r" else re.escape(b"[" + key.hex().encode() + b"]")
            at = terminal.until(re.compile(shown), at)

    for mode in ("cbreak", "raw"):
        runs, log = both(folder, 3, [script, folder / "keys", mode], play)
        assert all(run["status"] == "0" and run["drew"] == "true" for run in runs), log
        for number in "123":
            # A terminal maps Return to a new line unless it is raw.
            wanted = b"a\x1b[A\x7f\xc3\xa4" + (b"\r" if mode == "raw" else b"\n") + b"q"
            with open(folder / ("keys" + number), "rb") as file:
                got = file.read()
            assert got == wanted, (number, got)


def a_password_is_played_back_and_not_kept(folder):
    script = folder.script(
        """#!/usr/bin/env python3
import getpass
print("got", len(getpass.getpass()), "letters", input("and? "))
"""
    )

    def play(terminal):
        terminal.until(b"Password: ")
        terminal.type(b"open sesame\n")
        terminal.say(b"and? ", b"yes\n")

    runs, log = both(folder, 2, [script], play)
    assert "got 11 letters yes" in folder.read("2/stdout"), folder.read("2/stdout")
    assert not any("|" in line for line in log), log
    assert os.stat(folder / "terminal").st_mode & 0o777 == 0o600
    kept = folder.read("terminal")
    assert b"open sesame".hex() not in kept and "secret" in kept and b"yes".hex() in kept, kept


def what_is_typed_without_being_asked_is_handed_over(folder):
    script = folder.script(
        """#!/usr/bin/env python3
import select, sys, time
limit = float(sys.argv[1])
print("working", flush=True)
while not select.select([0], [], [], limit)[0]: time.sleep(0.01)
print("stopped by", sys.stdin.readline().strip(), flush=True)
"""
    )
    for limit in ("0", "0.5"):

        def play(terminal):
            terminal.until(b"working\r\n")
            terminal.type(b"me\n")
            terminal.until(b"stopped by me\r\n")

        runs, log = both(folder, 2, [script, limit], play)
        assert "stopped by me" in folder.read("2/stdout"), log


def the_time_for_typing_is_no_run_time(folder):
    script = folder.script(
        f"""#!{SHELL}
printf 'go? '; read answer; echo "$answer"
"""
    )
    terminal = Terminal(folder.runs(1, script))
    terminal.until(b"go? ")
    begin = time.monotonic()
    time.sleep(1.5)  # what is typed late counts as waiting, however busy the machine
    thought = time.monotonic() - begin
    terminal.type(b"yes\n")
    assert terminal.end() == 0
    run = run_of(folder.log()[0])
    assert float(run["waited"]) > 0.3 * thought, run


def ctrl_c_ends_the_program(folder):
    script = folder.script(
        f"""#!{SHELL}
trap 'echo caught; exit 9' INT
echo started; while :; do sleep 0.05; done
"""
    )

    def play(terminal):
        terminal.until(b"started\r\n")
        terminal.type(b"\x03")

    runs, log = both(folder, 1, [script], play)
    assert runs[0]["interrupted"] == "2", log

    asking = folder.script(
        f"""#!{SHELL}
trap 'echo caught; exit 9' INT
printf 'well? '; read answer; echo not reached
"""
    )

    def answer(terminal):
        terminal.until(b"well? ")
        wait_for(lambda: not terminal.same_modes() or terminal.pid in UNTAKEN, "the terminal is taken")
        terminal.type(b"ab")
        terminal.until(b"ab")
        terminal.type(b"\x03")

    for how in ([asking], folder.runs(1, asking)):
        terminal = Terminal(how)
        if how[0] == asking:
            UNTAKEN.add(terminal.pid)
        answer(terminal)
        terminal.until(b"caught\r\n")
        assert terminal.end() == 9
        assert terminal.seen == b"well? ab^Ccaught\r\n", terminal.seen
    assert run_of(folder.log()[0])["interrupted"] == "2"


UNTAKEN = set()


class Shell(Terminal):
    """A shell with jobs."""

    def __init__(self, folder):
        bash = shutil.which("bash")
        super().__init__([bash, "--norc", "--noprofile", "--noediting", "-i"])
        self.folder = folder
        self.at = self.until(b"READY> ")

    def run(self, command, until=b"READY> "):
        """Types a command, and returns what came up to `until`."""
        begin = self.at
        self.type(command.encode() + b"\n")
        begin = self.until(b"\r\n", begin)
        self.at = self.until(until, begin)
        return self.seen[begin : self.at]

    def type_until(self, text, until):
        begin = self.at
        self.type(text)
        self.at = self.until(until, begin)
        return self.seen[begin : self.at]

    def modes_of_job(self):
        got = self.run("stty -g", re.compile(rb"[0-9a-f]+(:[0-9a-f]+)+\r\nREADY> "))
        return got.split()[0]


JOB = f"""#!{SHELL}
printf 'first? '; read first; echo "first $first"
printf 'second? '; read second; echo "second $second"
"""


def ctrl_z_and_fg(folder):
    script = folder.script(JOB)
    shell = Shell(folder)
    modes = shell.modes_of_job()
    shell.run(" ".join(folder.runs(2, script)), b"first? ")
    shell.type_until(b"one\n", b"second? ")
    shell.type_until(b"\x1a", b"Stopped")
    shell.at = shell.until(b"READY> ", shell.at)
    assert shell.modes_of_job() == modes
    # In the background it computes, and asks: it is stopped again.
    assert b"Stopped" in shell.run("bg; wait %1; jobs", re.compile(rb"Stopped[^\n]*runs.*READY> ", re.S))
    shell.run("fg", b"terminal_runs")
    shell.type_until(b"two\n", b"second two\r\n")
    shell.at = shell.until(b"READY> ", shell.at)
    assert shell.modes_of_job() == modes
    log = folder.log()
    assert len(log) == 2 and "|" not in log[1] and "signal 0" in log[1], log
    assert "second two" in folder.read("2/stdout")
    shell.type(b"exit\n")
    shell.end()


def a_program_that_stops_itself_at_ctrl_z(folder):
    """As full-screen programs do, once they have given the screen back."""
    script = folder.script(
        """#!/usr/bin/env python3
import os, signal, sys, tty
signal.signal(signal.SIGTSTP, lambda *_: (print("leaving", end="\\r\\n", flush=True), os.kill(0, signal.SIGSTOP)))
tty.setcbreak(0)
print("keys? ", end="", flush=True)
while (key := os.read(0, 1)) != b"q": pass
print("bye")
"""
    )
    shell = Shell(folder)
    modes = shell.modes_of_job()
    shell.run(" ".join(folder.runs(2, script)), b"keys? ")
    shell.type_until(b"\x1a", b"Stopped")
    shell.at = shell.until(b"READY> ", shell.at)
    assert shell.modes_of_job() == modes
    shell.run("fg", b"terminal_runs")
    shell.type_until(b"q", b"bye")
    shell.at = shell.until(b"READY> ", shell.at)
    assert shell.modes_of_job() == modes
    log = folder.log()
    assert len(log) == 2 and "status 0" in log[1], log
    shell.type(b"exit\n")
    shell.end()


def a_shell_as_the_program(folder):
    """Its jobs are its own: Ctrl-Z stops one of them, in every run."""
    bash = shutil.which("bash")
    environment = {"PS1": "inner> "}
    terminal = Terminal(folder.runs(2, bash, "--norc", "--noprofile", "-i"), environment=environment)
    at = terminal.until(b"inner> ")
    # What is typed before the shell has given the terminal back from its line editor is not echoed.
    terminal.type(b"echo into; cat -\n")
    at = terminal.until(re.compile(rb"into; cat -\r\n.*into\r\n", re.S), at)
    terminal.type(b"to cat\n")
    at = terminal.until(re.compile(rb"to cat\r\n.*to cat\r\n", re.S), at)
    terminal.type(b"\x1a")
    at = terminal.until(re.compile(rb"Stopped.*inner> ", re.S), at)
    terminal.type(b"fg\n")
    at = terminal.until(re.compile(rb"fg\r\n.*cat -\r\n", re.S), at)
    terminal.type(b"\x04")
    at = terminal.until(b"inner> ", at)
    terminal.type(b"exit 5\n")
    assert terminal.end() == 5, folder.log()
    log = folder.log()
    assert len(log) == 2 and all(" status 5 " in line for line in log), log
    assert "Stopped" in folder.read("2/stdout"), folder.read("2/stdout")


def in_the_background(folder):
    script = folder.script(JOB)
    shell = Shell(folder)
    modes = shell.modes_of_job()
    shell.run(" ".join(folder.runs(2, script)) + " &", b"first? ")
    shell.type(b"\n")
    shell.run("wait %1; jobs", re.compile(rb"Stopped[^\n]*runs.*READY> ", re.S))
    shell.run("fg", b"terminal_runs")
    shell.type_until(b"one\n", b"second? ")
    shell.type_until(b"two\n", b"second two\r\n")
    shell.at = shell.until(b"READY> ", shell.at)
    assert shell.modes_of_job() == modes
    log = folder.log()
    assert len(log) == 2 and "|" not in log[1], log
    # `stty tostop`: output from the background stops the job.
    noisy = folder.script(f"#!{SHELL}\necho noise\n", "noisy")
    shell.run("stty tostop")
    shell.run(" ".join(folder.runs(1, noisy)) + " &")
    got = shell.run("wait %1; jobs", re.compile(rb"Stopped[^\n]*runs.*READY> ", re.S))
    assert b"noise" not in got
    shell.run("fg", b"noise\r\n")
    shell.at = shell.until(b"READY> ", shell.at)
    shell.type(b"exit\n")
    shell.end()


def what_nobody_reads_stays_for_the_shell(folder):
    script = folder.script(
        f"""#!{SHELL}
echo working; while [ ! -e {folder.path}/go ]; do sleep 0.05; done
"""
    )
    shell = Shell(folder)
    shell.run(" ".join(folder.runs(2, script)) + " | cat", b"working\r\n")
    shell.type_until(b"echo for the sh''ell\n", b"ell\r\n")
    with open(folder / "go", "w", encoding="utf-8"):
        pass
    shell.at = shell.until(b"for the shell\r\nREADY> ", shell.at)
    shell.type(b"exit\n")
    shell.end()
    assert "typed" not in folder.read("terminal")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def ended(process):
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as file:
            return file.read().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


def the_terminal_is_given_back(folder):
    """Whoever is killed."""
    script = folder.script(KEYS)
    for victim in ("program", "launcher", "leader", "launcher by SIGTERM"):
        shell = Shell(folder)
        modes = shell.modes_of_job()
        shell.run(" ".join(folder.runs(1, script, folder / "keys", "raw", "leave")), b"keys? ")
        wait_for(lambda: termios.tcgetattr(shell.fd)[3] & termios.ICANON == 0, "the terminal is taken")
        launcher = children_of(shell.pid)[0]
        leader = children_of(launcher)[0]
        program = children_of(leader)[0]
        if victim == "launcher by SIGTERM":
            os.kill(launcher, signal.SIGTERM)
        else:
            os.kill({"program": program, "launcher": launcher, "leader": leader}[victim], signal.SIGKILL)
        shell.at = shell.until(b"READY> ", shell.at)
        # A leader that outlives us gives the modes back as soon as it sees that we are gone.
        wait_for(lambda: termios.tcgetattr(shell.fd)[3] & termios.ICANON, "the terminal is given back")
        now = shell.modes_of_job()
        assert now == modes, (victim, now, modes)
        for process in (leader, program):
            wait_for(lambda: ended(process), f"{victim}: {process} ends")
        shell.type(b"exit\n")
        shell.end()


def the_program_goes_on_without_us(folder):
    script = folder.script(
        f"""#!{SHELL}
echo asking; read line || echo 'no more input'; echo "done" >{folder.path}/done
"""
    )
    shell = Shell(folder)
    shell.run(" ".join(folder.runs(1, script)), b"asking\r\n")
    os.kill(children_of(shell.pid)[0], signal.SIGKILL)
    shell.until(re.compile(rb"no more input\r+\n"), shell.at)
    wait_for(lambda: os.path.exists(folder / "done"), "the program ends by itself")
    shell.type(b"exit\n")
    shell.end()


def a_program_that_leaves_keys_on(folder):
    """Its terminal is not the user's any more, so neither are its modes."""
    script = folder.script(KEYS)
    terminal = Terminal(folder.runs(1, script, folder / "keys", "raw", "leave"))
    terminal.until(b"keys? ")
    terminal.type(b"q")
    terminal.until(b"[71]")
    assert terminal.end() == 0


def pipes_beside_a_terminal(folder):
    script = folder.script(
        f"""#!{SHELL}
[ -t 0 ] && echo 'in is a terminal'; [ -t 1 ] && echo 'out is a terminal'
read line; echo "got $line"
"""
    )
    runs = " ".join(folder.runs(2, script))
    terminal = Terminal([SHELL, "-c", f"{runs} | sed 's/^/through: /'"])
    wait_for(lambda: not terminal.same_modes(), "the program waits for a line")
    terminal.type(b"typed\n")
    assert terminal.end() == 0
    for line in (b"typed\r\n", b"through: in is a terminal\r\n", b"through: got typed\r\n"):
        assert line in terminal.seen, terminal.seen
    assert "got typed" in folder.read("2/stdout") and "|" not in folder.log()[1], folder.log()

    terminal = Terminal([SHELL, "-c", f"echo piped | {runs}"])
    assert terminal.end() == 0
    assert terminal.seen == b"out is a terminal\r\ngot piped\r\n", terminal.seen
    assert folder.read("2/stdout") == "out is a terminal\ngot piped\n", folder.read("2/stdout")
    assert "|" not in folder.log()[1], folder.log()


def a_terminal_that_hangs_up(folder):
    script = folder.script(
        f"""#!{SHELL}
trap 'echo gone >{folder.path}/told; exit 1' HUP
echo started; read line; read line
"""
    )
    terminal = Terminal(folder.runs(1, script))
    terminal.until(b"started\r\n")
    os.close(terminal.fd)
    wait_for(lambda: os.path.exists(folder / "told"), "the program is told")
    wait_for(lambda: os.waitpid(terminal.pid, os.WNOHANG)[0] != 0, "we end")


def more_is_asked_than_was_typed(folder):
    script = folder.script(
        f"""#!{SHELL}
read one; echo "one $one"
[ "$RUN" = 1 ] || {{ read two; echo "two <$two>"; }}
"""
    )
    terminal = Terminal(folder.runs(2, script))
    terminal.type(b"1\n")
    assert terminal.end() == 0
    log = folder.log()
    assert run_of(log[0])["more"] == "false" and run_of(log[1])["more"] == "true", log
    assert "two <>" in folder.read("2/stdout") and "stdout differs" in log[1], log

    # Keys have no end: the terminal goes away.
    keys = folder.script(KEYS.replace('b"q"', 'b"q" if os.environ["RUN"] == "1" else b"x"'), "more-keys")
    terminal = Terminal(folder.runs(2, keys, folder / "keys"))
    terminal.until(b"keys? ")
    terminal.type(b"q")
    assert terminal.end() == 0
    assert run_of(folder.log()[1])["signal"] == "1", folder.log()


def who_stays_behind_keeps_its_terminal(folder):
    script = folder.script(
        f"""#!{SHELL}
(while [ ! -e {folder.path}/go ]; do sleep 0.05; done; echo late; : >{folder.path}/ended) &
echo early
"""
    )
    terminal = Terminal([SHELL, "-c", f"{' '.join(folder.runs(1, script))}; echo 'it ended'; while [ ! -e {folder.path}/ended ]; do sleep 0.05; done"])
    terminal.until(b"it ended\r\n")
    with open(folder / "go", "w", encoding="utf-8"):
        pass
    terminal.until(re.compile(rb"late\r+\n"))
    assert terminal.end() == 0


def much_output(folder):
    script = folder.script(f"#!{SHELL}\nseq 1 60000; printf 'sure? '; read answer; echo \"$answer\"\n")
    runs, log = both(folder, 2, [script], lambda terminal: terminal.say(b"sure? ", b"yes\n"))
    assert not any("|" in line for line in log), log


def no_pseudo_terminal(folder):
    script = folder.script(f"#!{SHELL}\n[ -t 0 ] && read line && echo \"got $line\" || echo nothing\n")
    command = " ".join(folder.runs(2, script))
    possible = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount --bind /dev/null /dev/ptmx"], stderr=subprocess.DEVNULL, check=False
    )
    if possible.returncode != 0:
        print("  (not tried: nothing can be mounted here)")
        return
    terminal = Terminal(["unshare", "-m", "sh", "-c", f"mount --bind /dev/null /dev/ptmx; {command}"])
    terminal.type(b"typed\n")
    assert terminal.end() == 0
    assert b"got typed\r\n" in terminal.seen, terminal.seen
    log = folder.log()
    assert "no pseudo-terminal" in log[2], log
    assert "nothing" in folder.read("2/stdout")


def a_session_is_measured_and_resumed(folder):
    session = folder / "session"
    script = folder.script(f"#!{SHELL}\nprintf 'word? '; read word; echo \"word $word\"; {FAULTY} cat\n")
    quiet = {"XDG_CACHE_HOME": folder / "cache", "NO_COLOR": "1"}
    terminal = Terminal([DIOGENES, "run", "--driver", "simulated", "--output", session, "--", script], environment=quiet)
    terminal.say(b"word? ", b"first\n")
    terminal.until(b"worked\r\n")
    terminal.type(b"second\n\x04")
    assert terminal.end() == 0, terminal.seen
    wanted = "word? first\nword first\nworked\nsecond\nsecond\n"

    def check():
        with open(folder / "session/session.json", encoding="utf-8") as file:
            told = json.load(file)
        assert told["finished"] and told["streams"]["terminal"] == ["stdin", "stdout", "stderr"], told
        for run in told["runs"]:
            assert run["state"] == "complete" and run["output_difference"] == "", run
            assert folder.read(f"session/{run['name']}/stdout") == wanted, run
        return told

    told = check()
    # The last run is made again, without a terminal of ours.
    told["finished"] = False
    told["runs"][-1]["state"] = "interrupted"
    with open(folder / "session/session.json", "w", encoding="utf-8") as file:
        json.dump(told, file)
    resume = [DIOGENES, "run", "--resume", session]
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "env": os.environ | quiet, "check": False}
    again = subprocess.run(resume, **options)
    assert again.returncode == 0, again.stderr
    assert again.stdout == b"", again.stdout
    check()
    # With a password among what was typed, it cannot be.
    told["finished"] = False
    with open(folder / "session/session.json", "w", encoding="utf-8") as file:
        json.dump(told, file)
    with open(folder / "session/terminal", "a", encoding="ascii") as file:
        file.write("secret 5\n")
    again = subprocess.run(resume, **options)
    assert again.returncode == 125 and b"password" in again.stderr, again


CASES = [
    a_session_is_measured_and_resumed,
    lines_are_played_back,
    a_terminal_is_what_it_was,
    the_size_follows,
    keys_are_played_back,
    a_password_is_played_back_and_not_kept,
    what_is_typed_without_being_asked_is_handed_over,
    the_time_for_typing_is_no_run_time,
    ctrl_c_ends_the_program,
    ctrl_z_and_fg,
    a_program_that_stops_itself_at_ctrl_z,
    a_shell_as_the_program,
    in_the_background,
    what_nobody_reads_stays_for_the_shell,
    the_terminal_is_given_back,
    the_program_goes_on_without_us,
    a_program_that_leaves_keys_on,
    pipes_beside_a_terminal,
    a_terminal_that_hangs_up,
    more_is_asked_than_was_typed,
    who_stays_behind_keeps_its_terminal,
    much_output,
    no_pseudo_terminal,
]

failed = 0
chosen = sys.argv[4:]
for case in CASES:
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
