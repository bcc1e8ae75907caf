"""What a program on a terminal sees and what is played back to it in later runs: lines, keys, passwords, sizes, pipes."""
import json
import os
import re
import subprocess
import time

from terminal_fixture import DIOGENES, FAULTY, KEYS, SHELL, Terminal, both, run_cases, run_of, wait_for


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


run_cases(
    [
        a_session_is_measured_and_resumed,
        lines_are_played_back,
        a_terminal_is_what_it_was,
        the_size_follows,
        keys_are_played_back,
        a_password_is_played_back_and_not_kept,
        what_is_typed_without_being_asked_is_handed_over,
        the_time_for_typing_is_no_run_time,
        a_program_that_leaves_keys_on,
        pipes_beside_a_terminal,
        more_is_asked_than_was_typed,
        much_output,
        no_pseudo_terminal,
    ]
)
