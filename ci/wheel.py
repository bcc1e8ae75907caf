#!/usr/bin/env python3
"""Makes a wheel of the .tar.gz that the target `packages` makes: wheel.py ARCHIVE FOLDER.

The wheel holds what the archive holds. The program becomes a script of the wheel, so pip puts it into bin/ as it is, and all
else goes beside it into lib/ and share/ of the same environment: the program finds its parts relative to itself. A wheel
holds no links, so a library is packed under the name by which it is asked for.

The tag names the oldest glibc that has all that the files ask for (PEP 600). One archive gives one wheel, byte for byte.
Prints the wheel's path. Needs readelf and tar.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

LARGEST = 40 << 20
# What every system with that glibc has; the driver's library is the measured program's matter.
GLIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|libresolv|libcuda|ld-linux-x86-64)\.so\.\d+$")

METADATA = """\
Metadata-Version: 2.1
Name: diogenes
Version: {version}
Summary: Finds needless synchronizations and transfers of CUDA programs
License: Apache-2.0
License-File: LICENSE
Classifier: Environment :: Console
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development
Requires-Python: >=3.8
Description-Content-Type: text/markdown

Diogenes runs an unmodified CUDA program several times and tells which synchronizations and transfers it did not need, and
how much faster it would be without them.

    diogenes doctor -- python3 train.py
    diogenes run -- python3 train.py

The documents are in `share/doc/diogenes` of the environment.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: diogenes ({version})
Root-Is-Purelib: false
Tag: {tag}
"""


def readelf(option, path):
    done = subprocess.run(["readelf", "-W", option, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else ""


def files_of(top):
    """Archive's path -> file. A link stands for what it leads to, which is then not packed under its own name, too."""
    found, behind_links = {}, set()
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = path
            if os.path.islink(path):
                behind_links.add(os.path.realpath(path))
    return {name: path for name, path in found.items() if path not in behind_links}


def oldest_glibc(files):
    """(2, N). Ends the program where a library is asked for that is neither packed nor of glibc."""
    packed = {os.path.basename(name) for name in files}
    newest = (2, 0)
    for name, path in files.items():
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path)):
            if needed not in packed and not GLIBC.match(needed):
                sys.exit(f"{name} needs {needed}, which is not packed")
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("-V", path)):
            newest = max(newest, tuple(map(int, version)))
    if newest == (2, 0):
        sys.exit("nothing here asks for glibc; can readelf read it?")
    return newest


def write(path, entries, record):
    """entries: (name, content, executable), in their order. The same bytes each time: no times, no owners."""
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def add(name, content, executable=False):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix: what follows are its rights
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)

        for name, content, executable in entries:
            add(name, content, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        add(record, "".join(lines) + record + ",,\n")


def main():
    archive, folder = sys.argv[1:]
    match = re.match(r"(diogenes-([\d.]+)-x86_64)\.tar\.gz$", os.path.basename(archive))
    if not match:
        sys.exit(f"{archive} is not named diogenes-VERSION-x86_64.tar.gz")
    version = match.group(2)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["tar", "-C", work, "-xzf", archive], check=True)
        top = os.path.join(os.path.realpath(work), match.group(1))
        files = files_of(top)
        tag = "py3-none-manylinux_%d_%d_x86_64" % oldest_glibc(files)

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        data, info = f"diogenes-{version}.data", f"diogenes-{version}.dist-info"
        entries = [("diogenes/__init__.py", b"", False),
                   ("diogenes/__main__.py", read(os.path.join(os.path.dirname(__file__), "wheel_main.py")), False)]
        for name in sorted(files):
            within = f"scripts/{name[4:]}" if name.startswith("bin/") else f"data/{name}"
            entries.append((f"{data}/{within}", read(files[name]), os.access(files[name], os.X_OK)))
        # By convention the wheel's own description stands at the end.
        entries += [(f"{info}/LICENSE", read(files["share/doc/diogenes/copyright"]), False),
                    (f"{info}/METADATA", METADATA.format(version=version).encode(), False),
                    (f"{info}/WHEEL", WHEEL.format(version=version, tag=tag).encode(), False)]
        path = os.path.join(folder, f"diogenes-{version}-{tag}.whl")
        write(path, entries, f"{info}/RECORD")
    if os.path.getsize(path) > LARGEST:
        sys.exit(f"{path} has {os.path.getsize(path)} bytes, more than {LARGEST}")
    print(path)


if __name__ == "__main__":
    main()
