"""`diogenes run` on a terminal: the first run has it, later ones have one of their own to write to, and what was typed ends
the runs. Called with DIOGENES FAULTY. Types into a pseudo-terminal, and waits for what is on it, never for a time."""
import json
import os
import pty
import re
import select
import signal
import sys
import tempfile
import time

DIOGENES, FAULTY = (os.path.abspath(path) for path in sys.argv[1:3])
PATIENCE = 120  # seconds: until a test is given up, not what it waits for


class Terminal:
    def __init__(self, *command):
        self.seen, self.at = b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.environ.update({"PS1": "READY> ", "TERM": "xterm", "NO_COLOR": "1"})
            os.execvp(command[0], command)

    def read(self):
        try:
            got = os.read(self.fd, 65536) if select.select([self.fd], [], [], 0.1)[0] else b""
        except OSError:  # its last process has gone
            got = b""
        self.seen += got
        return got

    def until(self, pattern):
        """Until this is seen behind what was waited for before."""
        end = time.monotonic() + PATIENCE
        while not (found := re.compile(pattern, re.S).search(self.seen, self.at)):
            assert time.monotonic() < end, f"not seen: {pattern!r}; there is: {self.seen!r}"
            self.read()
        self.at = found.end()

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        gone, end = 0, time.monotonic() + PATIENCE
        while gone == 0:
            assert time.monotonic() < end, f"it does not end; there is: {self.seen!r}"
            self.read()
            gone, status = os.waitpid(self.pid, os.WNOHANG)
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Folder:
    def __init__(self, path):
        self.session = os.path.join(path, "session")
        # What a script reads to go on: it starts no program meanwhile, which could not be stopped between vfork and exec.
        self.gate = os.path.join(path, "gate")
        os.mkfifo(self.gate)
        self.key = os.open(self.gate, os.O_RDWR)
        self.script = os.path.join(path, "script")

    def open_gate(self):
        os.write(self.key, b"go\n" * 10)  # for each run

    def command(self, script):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{FAULTY} none\n{script}\n")
        os.chmod(self.script, 0o755)
        return [DIOGENES, "run", "--driver", "simulated", "--output", self.session, "--", self.script]

    def told(self):
        with open(os.path.join(self.session, "session.json"), encoding="utf-8") as file:
            return json.load(file)

    def runs(self):
        return [(run["name"], run["state"]) for run in self.told()["runs"]]

    def check_complete(self):
        told = self.told()
        assert told["finished"] and len(told["runs"]) >= 3, told
        assert all(run["state"] == "complete" and run["output_difference"] == "" for run in told["runs"]), told

    def output(self, run):
        with open(os.path.join(self.session, run, "stdout"), encoding="utf-8", newline="") as file:
            return file.read()


def what_is_typed_ends_the_runs(folder):
    for script in ("printf 'name? '; read name; echo \"hello $name\"; exit 7", "printf 'name? '; read name </dev/tty; exit 7"):
        terminal = Terminal(*folder.command(script))
        terminal.until(rb"name\? ")
        terminal.type(b"bob\n")
        assert terminal.end() == 7, terminal.seen
        assert folder.runs() == [("baseline", "typed")], folder.told()
        assert re.search(rb"something was typed.*script < FILE", terminal.seen, re.S), terminal.seen
        # It can go on from the beginning, with a file.
        again = Terminal("sh", "-c", f"echo bob | {DIOGENES} run --resume {folder.session}")
        if "/dev/tty" in script:
            again.until(rb"name\? ")
            again.type(b"bob\n")
        assert again.end() == 7, again.seen
        if "/dev/tty" not in script:
            folder.check_complete()
            assert folder.output("tracing").endswith("hello bob\n"), folder.output("tracing")
        os.rename(folder.session, folder.session + "." + str(len(script)))


def later_runs_have_a_terminal_to_write_to(folder):
    script = "[ -t 1 ] && [ -t 2 ] && echo terminals; stty size <&1; echo error >&2; printf 'one\\rtwo\\n'; cat"
    terminal = Terminal(*folder.command(script))
    terminal.until(rb"two\r\n")
    terminal.type(b"\x04")  # an end of the input is nothing typed
    assert terminal.end() == 0, terminal.seen
    folder.check_complete()
    assert folder.output("tracing") == "worked\nterminals\n0 0\nerror\none\rtwo\n", folder.output("tracing")
    assert terminal.seen.count(b"terminals\r\n") == 1, terminal.seen

    os.rename(folder.session, folder.session + ".0")
    terminal = Terminal("sh", "-c", " ".join(folder.command("[ -t 1 ] || echo none; [ -t 2 ] && echo one")) + " | cat")
    assert terminal.end() == 0, terminal.seen
    folder.check_complete()
    assert folder.output("tracing") == "worked\nnone\none\n", folder.output("tracing")


def ctrl_c_is_enough(folder):
    # `wait` sees a signal that comes right before it; `read` would go on waiting.
    terminal = Terminal(*folder.command("sleep 600 & trap 'kill $!; echo caught; exit 9' INT; echo started; wait"))
    terminal.until(rb"started")
    terminal.type(b"\x03")
    assert terminal.end() == 9, terminal.seen  # the program's own
    assert b"caught" in terminal.seen
    assert folder.runs() == [("baseline", "interrupted")], folder.told()


def what_a_shell_reads_meanwhile_is_not_the_programs(folder):
    waits = f"echo waits; read word <{folder.gate}; echo went on"
    for how in ("ctrl-z", "background"):
        shell = Terminal("bash", "--norc", "--noprofile", "--noediting", "-i")
        shell.until(rb"READY> ")
        shell.type(" ".join(folder.command(waits)).encode() + (b"\n" if how == "ctrl-z" else b" &\n"))
        shell.until(rb"waits\r\n")
        if how == "ctrl-z":
            shell.type(b"\x1a")
            shell.until(rb"Stopped.*READY> ")
        shell.type(b"echo $((6 * 7))\n")
        shell.until(rb"\r\n42\r\n.*READY> ")
        folder.open_gate()
        if how == "ctrl-z":
            shell.type(b"fg\n")
        shell.until(rb"went on")
        if how == "background":
            shell.type(b"wait\n")
        shell.until(rb"synchronization.*READY> ")
        shell.type(b"exit\n")
        shell.end()
        folder.check_complete()
        os.rename(folder.session, folder.session + "." + how)
        os.read(folder.key, 4096)


def the_time_of_a_later_run_counts_on(folder):
    script = f"case $DIOGENES_PLAN in */tracing/plan) read word <{folder.gate} ;; esac"
    terminal = Terminal("sh", "-c", "stty cols 120; exec " + " ".join(folder.command(script)))
    # Each time takes the place of the one before.
    terminal.until(rb"run 2 of 3, tracing: [^\n]* \.\.\. \d+ s(\x08{4,} {4,}\x08{4,} \d+ s){2}")
    folder.open_gate()
    terminal.until(rb"\x08{4,} \d+\.\d\d s, [^\n]* x baseline\r\n")
    assert terminal.end() == 0, terminal.seen
    folder.check_complete()
    # A terminal that is too narrow for it, and none.
    for size, redirected in ((60, ""), (120, " 2>err")):
        os.rename(folder.session, folder.session + "." + str(size))
        terminal = Terminal("sh", "-c", f"stty cols {size}; " + " ".join(folder.command("sleep 1.2")) + redirected)
        assert terminal.end() == 0, terminal.seen
        assert b"\x08" not in terminal.seen, terminal.seen


for case in (
    the_time_of_a_later_run_counts_on,
    what_is_typed_ends_the_runs,
    later_runs_have_a_terminal_to_write_to,
    ctrl_c_is_enough,
    what_a_shell_reads_meanwhile_is_not_the_programs,
):
    with tempfile.TemporaryDirectory() as scratch:
        case(Folder(scratch))
    print(f"passed: {case.__name__}", flush=True)
