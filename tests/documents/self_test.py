#!/usr/bin/env python3
"""documents.py must pass a tree that keeps to the rules, and name each fault of one that does not."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = {
    "README.md": "A tool: `src/trace/format.h`, [more](docs/more.md).\n",
    "docs/more.md": "See `README.md`, `format.h`, `src/trace/` and `session.json`.\n\n    `not/checked.h` in a block\n",
    "src/trace/format.h": '// Source: docs/more.md.\nconstexpr int kTraceVersion = 9;  // see trace/session.h\n"cites gone.h";\n',
    "src/trace/session.h": 'const char* schema = "diogenes-session/1";\n',
    "src/ffm/plan.h": "constexpr int kPlanVersion = 5;\n",
    "src/views/exports/json.cc": 'schema = "diogenes-report/2";\n',
    "examples/expected.json": '{"schema": "diogenes-expected/1"}\n',
}
# What is wrong; a file; what it holds; a part of what has to be said.
CASES = [
    ("a long line", "docs/a.md", "x" * 131 + "\n", "docs/a.md:1: 131 characters"),
    ("a line in a table", "docs/a.md", "| a |\n|---|\n| " + "x" * 140 + " |\n", "docs/a.md:3: "),
    ("a file that is gone", "docs/a.md", "\nSee `src/trace/gone.h`.\n", "docs/a.md:2: cites src/trace/gone.h"),
    ("a folder that is gone", "docs/a.md", "See `src/gone/`.\n", "cites src/gone"),
    ("a name without a folder", "docs/a.md", "See `gone.h`.\n", "cites gone.h"),
    ("a script in a command", "docs/a.md", "Run `sh tests/gone.sh TOP`.\n", "cites tests/gone.sh"),
    ("a link", "docs/a.md", "[x](gone.md)\n", "links to gone.md"),
    ("a comment", "src/a.cc", "int a;  // as DESIGN.md says\n", "src/a.cc:1: cites DESIGN.md"),
    ("a long comment", "src/a.h", "/* one\n   docs/gone.md */\n", "src/a.h:2: cites docs/gone.md"),
    ("a comment of a script", "ci/a.sh", "# docs/gone.md\n", "ci/a.sh:1: cites docs/gone.md"),
    ("a docstring", "tests/a.py", '"""\nas docs/gone.md says"""\n', "tests/a.py:2: cites docs/gone.md"),
    ("the trace's version", "ARCHITECTURE.md", "| trace | x | 8 | |\n", "says version 8 of the trace; the code has 9"),
    ("the plan's version", "ARCHITECTURE.md", "| plan | x | 6 | |\n", "says version 6 of the plan; the code has 5"),
    ("the report's schema", "docs/a.md", "`diogenes-report/1`\n", "says diogenes-report/1; the code has 2"),
    ("a marker without its end", "docs/a.md", "\n<!-- example als -->\n", "docs/a.md:2: this marker has no end"),
    ("an end without a marker", "docs/a.md", "<!-- end -->\n", "docs/a.md:1: the end of no marker"),
    ("a file in the root", "notes.txt", "x\n", "notes.txt: does not belong into the root"),
    ("a folder in the root", "old/x", "x\n", "old: does not belong into the root"),
    ("a version that the code has no more", "src/ffm/plan.h", "\n", "does not find the version of plan"),
]
# What is no fault.
FINE = [
    ("a placeholder", "docs/a.md", "`OUT/NAME.json`, `x.h`, `build/bin/a.h`, `APP.1.diogenes`\n"),
    ("a string", "src/a.cc", 'const char* url = "http://x/docs/gone.md";\n'),
    ("a version of then", "docs/lab/a.md", "`diogenes-report/1`\n"),
    ("a file of the system", "src/a.cc", "int a;  // linux/fs.h\n"),
    ("130 characters", "docs/a.md", "x" * 130 + "\n"),
    ("a marker with its end", "docs/a.md", "<!-- example als -->\nx\n<!-- end -->\n"),
]


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, "documents.py"), root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    failures = 0

    def expect(name, files, status, part):
        nonlocal failures
        found, output = run(files)
        if found != status or part not in output:
            print(f"{name}: exit status {found}, output: {output}")
            failures += 1

    expect("a good tree", GOOD, 0, "keep to the rules")
    expect("no documents", {"src/a.h": ""}, 2, "no documents")
    for name, path, text, part in CASES:
        expect(name, {**GOOD, path: text}, 1, part)
    for name, path, text in FINE:
        expect(name, {**GOOD, path: text}, 0, "keep to the rules")
    if failures == 0:
        print("all cases as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
