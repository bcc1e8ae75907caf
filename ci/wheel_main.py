"""`python -m diogenes`: the installed program, for where its folder is not in the PATH. ci/wheel.py packs this as the main
module of a package. The command `diogenes` itself is the program, with no Python before it."""
import importlib.metadata
import os
import signal
import sys


def program():
    for file in importlib.metadata.files("diogenes") or ():
        if file.parts[-2:] == ("bin", "diogenes") and os.access(file.locate(), os.X_OK):
            return os.path.realpath(file.locate())
    sys.exit("diogenes: the program is missing; install the wheel again, and without --target, which leaves parts of it out")


def main():
    # Python ignores these, and a program that is measured would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    path = program()
    os.execv(path, [path] + sys.argv[1:])


if __name__ == "__main__":
    main()
