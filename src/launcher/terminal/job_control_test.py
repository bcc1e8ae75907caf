"""Who holds the terminal: Ctrl-C, Ctrl-Z, jobs in the background, shells, and whoever is killed."""
import os
import re
import shutil
import signal
import termios

from terminal_fixture import KEYS, SHELL, Terminal, both, run_cases, run_of, wait_for


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


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def reads_below(pid, name):
    """A process of this name, below that one, stands in read(0, ...)."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as its, open(f"/proc/{pid}/syscall", encoding="ascii") as call:
            if its.read().strip() == name and call.read().split()[:2] == ["0", "0x0"]:
                return True
        return any(reads_below(child, name) for child in children_of(pid))
    except OSError:  # it has ended
        return False


def a_shell_as_the_program(folder):
    """Its jobs are its own: Ctrl-Z stops one of them, in every run."""
    bash = shutil.which("bash")
    environment = {"PS1": "inner> "}
    terminal = Terminal(folder.runs(2, bash, "--norc", "--noprofile", "-i"), environment=environment)
    at = terminal.until(b"inner> ")
    # What is typed before the shell has given the terminal back from its line editor is not echoed.
    terminal.type(b"echo into; cat -\n")
    at = terminal.until(re.compile(rb"into; cat -\r\n.*into\r\n", re.S), at)
    # A line that nobody asks for within a second is played back at its time, be `cat` there or not.
    wait_for(lambda: reads_below(terminal.pid, "cat"), "cat reads")
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


def ctrl_z_for_a_job_that_computes(folder):
    """The user's terminal is not taken then, and stops the job itself. It is played back all the same."""
    bash = shutil.which("bash")
    # No shell: where it is stopped while it makes a process by vfork(), it does not stop before that one goes on.
    job = folder.script(
        f"""#!/usr/bin/env python3
import os, time
print("computing", flush=True)
while not os.path.exists("{folder.path}/go"): time.sleep(0.05)
print("computed", flush=True)
""",
        "job",
    )
    terminal = Terminal(folder.runs(1, bash, "--norc", "--noprofile", "-i"), environment={"PS1": "inner> "})
    at = terminal.until(b"inner> ")
    terminal.type(job.encode() + b"\n")
    at = terminal.until(b"computing\r\n", at)
    wait_for(lambda: termios.tcgetattr(terminal.fd)[3] & termios.ICANON, "the terminal is given back")
    terminal.type(b"\x1a")
    at = terminal.until(re.compile(rb"Stopped.*inner> ", re.S), at)
    with open(folder / "go", "w", encoding="utf-8"):
        pass
    terminal.type(b"fg\n")
    at = terminal.until(re.compile(rb"computed.*inner> ", re.S), at)
    terminal.type(b"exit 5\n")
    assert terminal.end() == 5, folder.log()
    assert re.search(r"^typed \d+ lines unasked 1a$", folder.read("terminal"), re.M), folder.read("terminal")


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


run_cases(
    [
        ctrl_c_ends_the_program,
        ctrl_z_and_fg,
        a_program_that_stops_itself_at_ctrl_z,
        a_shell_as_the_program,
        ctrl_z_for_a_job_that_computes,
        in_the_background,
        what_nobody_reads_stays_for_the_shell,
        the_terminal_is_given_back,
        the_program_goes_on_without_us,
        a_terminal_that_hangs_up,
        who_stays_behind_keeps_its_terminal,
    ]
)
