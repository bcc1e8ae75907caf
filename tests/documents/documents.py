#!/usr/bin/env python3
"""What documents must keep to, checked by reading them: documents.py ROOT.

- No line of a document (*.md) is longer than 130 characters.
- Every file that a document cites in backticks or links to, or a comment of a source cites, is there.
- The versions of trace, plan, session, report and examples' truth that documents name are the code's.
- Each marker of an example's output (docs/make-examples.sh) has its end.
- Nothing lies in the root that does not belong there.

Prints one line for each fault. Exit status 1 if there is any, 2 if ROOT holds no documents.
"""
import os
import re
import sys

LONGEST = 130

# What belongs into the root; what is made by building and measuring is left out of the search.
ROOT = set(
    """.ci .clang-format .clang-tidy .github .gitignore ARCHITECTURE.md CHANGELOG.md CMakeLists.txt
    CMakePresets.json CONTRIBUTING.md LICENSE README.md bench check ci cmake demo docs examples sim src
    tests""".split())
MADE = {".git", ".ccache", "build", "compile_commands.json", "node_modules", "__pycache__"}
TOP = ("src", "sim", "docs", "tests", "examples", "bench", "ci", "cmake")

# A word with one of these ends names a file. Headers without a folder are looked for everywhere in the tree.
ENDS = "h|cc|cpp|cu|def|inc|S|ptx|ts|mjs|py|sh|md|cmake|json|map|png|svg"
CITED = re.compile(r"(?<![\w$}~/.<*-])((?:[\w.-]+/)*[\w.-]*\w\.(?:%s))(?![\w/*])" % ENDS)
FOLDER = re.compile(r"(?<![\w$}~/.<-])((?:%s)/[\w./-]*)" % "|".join(TOP))

# Named in documents and comments, and not in the tree.
ELSEWHERE = {
    # What the tool writes into a session.
    "session.json", "names.json", "report.json",
    # What tests and benches write for whoever runs them.
    "accuracy.json", "bench.json", "litmus.json", "pairs.json", "random.json", "schedules.json", "times.json",
    "OUT/accuracy.md", "loops.md", "schedules.md", "times.md",
    # Placeholders, and programs of users.
    "x.h", "x.cc", "x_test.cc", "NAME_fuzz.cc", "a.cc", "file.cc", "als.cc", "src/als.cc", "train.py",
    # Of Linux, GCC, CUDA and CPython.
    "include/linux/syscalls.h", "linux/fs.h", "unwind-dw2-fde.h", "cupti_activity.h", "cupti_callbacks.h",
    "cupti_result.h", "nvml.h", "cupti_pcsampling.h", "nvToolsExt.h", "nvtxDetail/nvtxTypes.h", "InternalDocs/code_objects.md",
}
BUILT = ("build/", "share/")

COMMENTED_BY_SLASHES = (".h", ".cc", ".cpp", ".c", ".cu", ".def", ".inc", ".S", ".ts", ".mjs", ".ptx", ".css")
COMMENTED_BY_HASH = (".sh", ".py", ".cmake", "CMakeLists.txt")


def files_of(root):
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in MADE and not d.endswith(".diogenes"))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names)]
    return found


class Tree:
    def __init__(self, root, files):
        self.root = root
        self.ends = set()
        for path in files:
            parts = path.split("/")
            for i in range(len(parts)):
                self.ends.add("/".join(parts[i:]))
                # A folder may be named from any folder above it.
                for j in range(i + 1, len(parts)):
                    self.ends.add("/".join(parts[i:j]))

    def has(self, cited):
        cited = os.path.normpath(cited)
        while cited.startswith("../"):
            cited = cited[3:]
        return cited in self.ends


def is_elsewhere(cited):
    placeholder = re.search(r"(?:^|[/-])[A-Z]{2,}[./]", cited) and not cited.endswith(".md")
    return cited in ELSEWHERE or cited.startswith(BUILT) or bool(placeholder)


def cited_in(text):
    return [m.group(1) for m in CITED.finditer(text)] + [m.group(1).rstrip("./-") for m in FOLDER.finditer(text)]


def comments_by_slashes(text):
    """Yields (line, text) of // and /* */ comments; strings are passed over."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/', re.S)
    for match in token.finditer(text):
        if match.group(0)[0] == "/":
            line = text.count("\n", 0, match.start()) + 1
            for offset, part in enumerate(match.group(0).split("\n")):
                yield line + offset, part


def comments_by_hash(text, python):
    if python:
        for match in re.finditer(r'"""(.*?)"""', text, re.S):
            line = text.count("\n", 0, match.start()) + 1
            for offset, part in enumerate(match.group(1).split("\n")):
                yield line + offset, part
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?:^|\s)#(.*)", line)
        if match:
            yield number, match.group(1)


def check_citations(tree, path, text, fault):
    name = os.path.basename(path)
    if path.endswith(".md"):
        spans = []
        fenced = False
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("```"):
                fenced = not fenced
            if fenced or line.startswith("    "):
                continue  # what a program prints, or what somebody else's file holds
            spans += [(number, span) for span in re.findall(r"`([^`]+)`", line)]
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if re.match(r"[a-z]+:", target) or target.startswith("#"):
                    continue
                linked = os.path.normpath(os.path.join(os.path.dirname(path), target.split("#")[0]))
                if not os.path.exists(os.path.join(tree.root, linked)):
                    fault(path, number, f"links to {target}, which is not there")
    elif name.endswith(COMMENTED_BY_SLASHES):
        spans = list(comments_by_slashes(text))
    elif name.endswith(COMMENTED_BY_HASH) or (text.startswith("#!/bin/sh") and "." not in name):
        spans = list(comments_by_hash(text, name.endswith(".py")))
    else:
        return
    for number, span in spans:
        for cited in dict.fromkeys(cited_in(span)):
            if not tree.has(cited) and not is_elsewhere(cited):
                fault(path, number, f"cites {cited}, which is not in the repository")


def check_lines(path, text, fault):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST:
            fault(path, number, f"{len(line)} characters; a document's lines have at most {LONGEST}")


def check_markers(path, text, fault):
    """`<!-- example NAME -->` ... `<!-- end -->`, likewise `<!-- screen NAME -->`."""
    open_at = 0
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"<!-- (example|screen) ", line):
            if open_at:
                fault(path, number, f"a marker begins inside that of line {open_at}")
            open_at = number
        elif line == "<!-- end -->":
            if not open_at:
                fault(path, number, "the end of no marker")
            open_at = 0
    if open_at:
        fault(path, open_at, "this marker has no end")


def versions_in_code(root):
    def find(path, pattern):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                match = re.search(pattern, file.read())
        except OSError:
            return None
        return match.group(1) if match else None

    return {
        "trace": find("src/trace/format.h", r"kTraceVersion\s*=\s*(\d+)"),
        "plan": find("src/ffm/plan.h", r"kPlanVersion\s*=\s*(\d+)"),
        "diogenes-session": find("src/trace/session.h", r'"diogenes-session/(\d+)"'),
        "diogenes-report": find("src/views/exports/json.cc", r'"diogenes-report/(\d+)"'),
        "diogenes-expected": find("examples/expected.json", r'"diogenes-expected/(\d+)"'),
    }


def check_versions(path, text, versions, fault):
    for number, line in enumerate(text.split("\n"), 1):
        for name, version in re.findall(r"\b(diogenes-(?:session|report|expected))/(\d+)", line):
            if versions[name] != version:
                fault(path, number, f"says {name}/{version}; the code has {versions[name]}")
        row = re.match(r"\| (trace|plan) \|[^|]*\| (\d+) \|", line)
        if row and versions[row.group(1)] != row.group(2):
            fault(path, number, f"says version {row.group(2)} of the {row.group(1)}; the code has {versions[row.group(1)]}")


def main():
    root = os.path.abspath(sys.argv[1])
    files = files_of(root)
    documents = [path for path in files if path.endswith(".md")]
    if not documents:
        print(f"no documents in {root}: is this the project's root?", file=sys.stderr)
        return 2
    faults = []

    def fault(path, number, text):
        faults.append(f"{path}:{number}: {text}" if number else f"{path}: {text}")

    for name in sorted(os.listdir(root)):
        if name not in ROOT and name not in MADE and not name.endswith(".diogenes"):
            fault(name, 0, "does not belong into the root; if it does, add it to tests/documents/documents.py")
    tree = Tree(root, files)
    versions = versions_in_code(root)
    for name, version in versions.items():
        if version is None:
            fault("tests/documents/documents.py", 0, f"does not find the version of {name} in the code any more")
    for path in files:
        if path.startswith("tests/documents/") or "/testdata/" in path or "/corpus/" in path:
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, OSError):
            continue
        check_citations(tree, path, text, fault)
        if not path.endswith(".md"):
            continue
        check_lines(path, text, fault)
        check_markers(path, text, fault)
        if not path.startswith("docs/lab/"):
            check_versions(path, text, versions, fault)
    print("\n".join(faults) if faults else f"{len(documents)} documents keep to the rules")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
