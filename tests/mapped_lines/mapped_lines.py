"""How many lines of code are mapped into a program that is measured, held against limits.txt.

Usage: mapped_lines.py NINJA BUILD ROOT LIMITS OBJECTS [RESULT]
  OBJECTS  a file with a line for each library: its name, then its object files, all separated by spaces
  RESULT   gets the table that is printed
Exit status: 1 above a limit, 2 where nothing can be counted.
"""
import os
import re
import subprocess
import sys

# A string or character literal, kept as it is; or a comment, which becomes as many line breaks as it has.
TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def count(text):
    """(lines of code, all lines)"""
    bare = TOKENS.sub(lambda m: "\n" * m[0].count("\n") if m[0].startswith("/") else m[0], text)
    return sum(1 for line in bare.split("\n") if line.strip()), text.count("\n")


def sources(ninja, build, root, objects):
    """The project's own files that the objects were compiled from. What the build makes is nobody's code."""
    found = set()
    for at in range(0, len(objects), 500):
        output = subprocess.run([ninja, "-C", build, "-t", "deps", *objects[at:at + 500]], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        found |= {os.path.realpath(os.path.join(build, line.strip())) for line in output.split("\n")
                  if line.startswith("    ")}
    return {f for f in found if f.startswith(root + "/") and not f.startswith(build + "/")}


def limits(path):
    for line in open(path):
        words = line.split("#")[0].split()
        if words:
            yield words[0], int(words[1]), words[2:]


def main(ninja, build, root, limits_file, objects_file, result=None):
    build, root = os.path.realpath(build), os.path.realpath(root)
    objects = {}
    for line in open(objects_file):
        name, *files = line.split()
        objects[name] = [os.path.relpath(os.path.realpath(f), build) for f in files]
    counted, table, bad = set(), [], False
    for group, limit, libraries in limits(limits_file):
        files = set()
        for library in libraries:
            new = sources(ninja, build, root, objects[library])
            if not new:
                print(f"{library} has no files: is it built?", file=sys.stderr)
                return 2
            files |= new
        files -= counted
        counted |= files
        code, lines = (sum(n) for n in zip(*(count(open(f).read()) for f in files)))
        bad |= code > limit
        table.append(f"{group:8} {code:6} lines of code of at most {limit} ({limit - code} left; {lines} with comments and "
                     f"empty lines, in {len(files)} files)")
    print("\n".join(table))
    if result:
        with open(result, "w") as file:
            file.write("\n".join(table) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
