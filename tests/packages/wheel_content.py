#!/usr/bin/env python3
"""Does a wheel keep to the rules of its format? wheel_content.py WHEEL VERSION. Prints what is wrong, and ends with 1 then.

https://packaging.python.org/en/latest/specifications/binary-distribution-format
"""
import base64
import csv
import email
import hashlib
import os
import re
import stat
import sys
import zipfile

faults = []


def expect(true, what):
    if not true:
        faults.append(what)


def main():
    path, version = sys.argv[1:]
    name = re.match(r"diogenes-([^-]+)-(py3-none-manylinux_2_\d+_x86_64)\.whl$", os.path.basename(path))
    expect(name and name.group(1) == version, f"the name {os.path.basename(path)}")
    expect(os.path.getsize(path) < 40 << 20, "larger than 40 MiB")
    wheel = zipfile.ZipFile(path)
    names = wheel.namelist()
    info = f"diogenes-{version}.dist-info/"
    expect(wheel.testzip() is None, "a damaged member")
    expect(len(set(names)) == len(names), "a name twice")

    listed = {row[0]: row[1:] for row in csv.reader(wheel.read(info + "RECORD").decode().splitlines())}
    expect(sorted(listed) == sorted(names), f"RECORD and content differ: {set(listed) ^ set(names)}")
    for member in wheel.infolist():
        mode = member.external_attr >> 16
        expect(stat.S_ISREG(mode), f"{member.filename} is no plain file")
        expect(member.date_time == (1980, 1, 1, 0, 0, 0), f"{member.filename} has a time of its own")
        expect(not member.filename.startswith("/") and ".." not in member.filename.split("/"), f"the path {member.filename}")
        is_program = member.filename.endswith(("scripts/diogenes", "lib/diogenes/diogenes-discover"))
        expect(mode & 0o777 == (0o755 if is_program else 0o644), f"{member.filename} has the rights {mode:o}")
        if member.filename == info + "RECORD":
            continue
        content = wheel.read(member)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        expect(listed.get(member.filename) == [f"sha256={digest}", str(len(content))], f"RECORD on {member.filename}")

    about = email.message_from_bytes(wheel.read(info + "WHEEL"))
    expect(about["Wheel-Version"] == "1.0" and about["Root-Is-Purelib"] == "false", "WHEEL")
    expect(name and about.get_all("Tag") == [name.group(2)], f"WHEEL has the tags {about.get_all('Tag')}")
    metadata = email.message_from_bytes(wheel.read(info + "METADATA"))
    expect((metadata["Name"], metadata["Version"]) == ("diogenes", version), "METADATA: name or version")
    expect(metadata["License"] == "Apache-2.0" and b"Apache License" in wheel.read(info + "LICENSE"), "the license")
    expect("Requires-Dist" not in metadata, "it depends on something")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
