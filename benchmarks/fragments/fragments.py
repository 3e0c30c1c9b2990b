"""``caniexport scan`` held against code of real packages whose right answers were found by hand.

``python benchmarks/fragments/fragments.py [--cache DIRECTORY] [--only PACKAGE ...] [--misses]``

``fragments.jsonl`` says of each fragment where it is (package, version, file, first and last line, the digest of those
lines joined by newlines) and of which ``kind``:

- ``gate``: a branch on a release or on exporting
- ``symbolic``: a registered symbolic; ``registered`` are the lines that register it
- ``call``: an export call with its opset

The packages' code is fetched with ``pip download``, without dependencies. A branch on exporting that asks a name of the
project's own, and a call whose opset another file names, are not read: recall tells how many these are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from caniexport.scan import files  # noqa: E402  # the package beside this script
from caniexport.scan.files import SourceFile  # noqa: E402  # the same
from caniexport.scan.site import Site, SiteKind  # noqa: E402  # the same
from caniexport.scan.sites import find  # noqa: E402  # the same

FRAGMENTS = Path(__file__).with_name("fragments.jsonl")
#: old setup.py files import pkg_resources
_CONSTRAINT = "setuptools<70\n"
_KINDS = {
    "gate": (SiteKind.GATE, SiteKind.BRANCH),
    "symbolic": (SiteKind.SYMBOLIC,),
    "call": (SiteKind.CALL,),
}

Fragment = dict[str, Any]


def fetch(package: str, version: str, cache: Path) -> Path | None:
    """The folder of the Python files of a release, downloaded and unpacked once; ``None`` where it is not to be had."""
    into = cache.resolve() / f"{package}-{version}"
    if into.exists():
        return into
    with tempfile.TemporaryDirectory(dir=cache.resolve()) as scratch:
        constraint = Path(scratch) / "constraint.txt"
        constraint.write_text(_CONSTRAINT, encoding="utf-8")
        line = ["pip", "-qq", "download", "--no-deps", "--dest", scratch, f"{package}=={version}"]
        done = subprocess.run(line, check=False, env={**os.environ, "PIP_CONSTRAINT": str(constraint)})
        if done.returncode:
            return None
        constraint.unlink()
        (archive,) = Path(scratch).iterdir()
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        _unpack(archive, unpacked)
        unpacked.rename(into)
    return into


def _unpack(archive: Path, into: Path) -> None:
    """The Python files of an archive, none of them outside ``into``."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(into, [name for name in opened.namelist() if name.endswith(".py")])
        return
    with tarfile.open(archive) as opened:
        for item in opened:
            path = (into / item.name).resolve()
            content = opened.extractfile(item) if item.name.endswith(".py") and path.is_relative_to(into) else None
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def is_unchanged(fragment: Fragment, folder: Path) -> bool:
    """Whether the fragment's lines are those that were labelled."""
    first, last = fragment["lines"]
    lines = (folder / fragment["file"]).read_bytes().decode("utf-8").splitlines()
    digest: str = fragment["sha256"]
    return sha256("\n".join(lines[first - 1 : last]).encode()).hexdigest() == digest


def is_found(fragment: Fragment, sites: Sequence[Site]) -> bool:
    """Whether a fragment is among the sites, an export call with its opset."""
    first, last = fragment["lines"]
    inside = [
        site
        for site in sites
        if site.path == fragment["file"] and (first <= site.line <= last or site.line in fragment.get("registered", ()))
    ]
    opset = fragment["call"]["opset"] if fragment["kind"] == "call" else None
    return any(site.kind in _KINDS[fragment["kind"]] and (opset is None or site.opset == opset) for site in inside)


def main() -> int:
    """Fetch, check, scan, and print the figures; exit code 1 where a fragment is not what was labelled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "caniexport-fragments")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--misses", action="store_true", help="name the fragments that were missed")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    fragments: list[Fragment] = [json.loads(line) for line in FRAGMENTS.read_text(encoding="utf-8").splitlines()]
    fragments = [one for one in fragments if not asked.only or one["package"] in asked.only]
    found: dict[str, list[bool]] = defaultdict(list)
    changed, missing = [], []
    for package, version in sorted({(one["package"], one["version"]) for one in fragments}):
        folder = fetch(package, version, asked.cache)
        if folder is None:
            missing.append(f"{package} {version}")
            continue
        sites, _ = find([item for item in files.find_torch_files(folder) if isinstance(item, SourceFile)])
        for fragment in (one for one in fragments if (one["package"], one["version"]) == (package, version)):
            if not is_unchanged(fragment, folder):
                changed.append(fragment["id"])
                continue
            found[fragment["kind"]].append(is_found(fragment, sites))
            if asked.misses and not found[fragment["kind"]][-1]:
                print(f"    missed: {fragment['id']}")
    for kind, told in found.items():
        print(f"{kind:9} {sum(told)} of {len(told)} found ({sum(told) / len(told):.0%})")
    for what, names in (("not to be had, and left out", missing), ("not what was labelled", changed)):
        if names:
            print(f"{what}: {', '.join(names)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
