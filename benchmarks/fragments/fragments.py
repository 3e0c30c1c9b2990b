"""``caniexport workaround --scan`` held against code of real packages whose right answers were found by hand.

``python benchmarks/fragments/fragments.py [--cache DIRECTORY] [--only PACKAGE ...] [--misses]``

``fragments.jsonl`` says of each fragment where it is (package, version, file, first and last line, the digest of those
lines joined by newlines) and of which ``kind``:

- ``gate``: a branch on a release or on exporting, with the word that the rows give it at the newest torch
- ``symbolic``: an export rule; ``registered`` are lines elsewhere in the file that register it
- ``call``: an export call with its opset

The packages' code is fetched with ``pip download``, without dependencies. Recall of gates is of those that rows judge
(needed, obsolete, broken, harmful), precision of the words that the scan gives to any of them.
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

from caniexport.scan.judge import SiteFinding  # noqa: E402  # the package beside this script
from caniexport.scan.scan import SourceScan, scan  # noqa: E402  # the same
from caniexport.scan.site import SiteKind  # noqa: E402  # the same
from caniexport.store import Dataset  # noqa: E402  # the same

FRAGMENTS = Path(__file__).with_name("fragments.jsonl")
#: old setup.py files import pkg_resources
_CONSTRAINT = "setuptools<70\n"
_WORDS = ("needed", "obsolete", "broken", "harmful")
_GATES = (SiteKind.GATE, SiteKind.BRANCH)

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


def judge(fragment: Fragment, answer: SourceScan) -> tuple[bool | None, bool | None]:
    """Whether a fragment is found, and whether what is found is right; ``None`` where neither is asked."""
    first, last = fragment["lines"]
    own = fragment.get("registered", ())
    inside: Sequence[SiteFinding] = [
        item
        for item in answer.findings
        if item.site.path == fragment["file"] and (first <= item.site.line <= last or item.site.line in own)
    ]
    if fragment["kind"] == "symbolic":
        return any(item.site.kind is SiteKind.SYMBOLIC for item in inside), None
    if fragment["kind"] == "call":
        pins = {item.site.name for item in inside if item.site.kind is SiteKind.OPSET}
        wanted = fragment["call"]["opset"]
        return str(wanted) in pins or answer.opset == wanted, not pins or str(wanted) in pins
    wanted = fragment["gate"]["judged_as"]
    words = {item.word.value for item in inside if item.site.kind in _GATES} & set(_WORDS)
    return wanted in words if wanted in _WORDS else None, words == {wanted} if words else None


def _share(values: Sequence[bool | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known)}/{len(known)}" + (f" = {sum(known) / len(known):.0%}" if known else "")


def main() -> int:
    """Fetch, check, scan, and print the figures; exit code 1 where a fragment is not what was labelled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "caniexport-fragments")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--misses", action="store_true", help="name the fragments that were missed or judged wrong")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    fragments: list[Fragment] = [json.loads(line) for line in FRAGMENTS.read_text(encoding="utf-8").splitlines()]
    fragments = [one for one in fragments if not asked.only or one["package"] in asked.only]
    found: dict[str, list[tuple[bool | None, bool | None]]] = defaultdict(list)
    copied, changed, missing = [], [], []
    dataset = Dataset.open(ROOT / "results", None)
    for package, version in sorted({(one["package"], one["version"]) for one in fragments}):
        folder = fetch(package, version, asked.cache)
        if folder is None:
            missing.append(f"{package} {version}")
            continue
        answer = scan(dataset, folder)
        copied += [f"{package}: {item.site.path}:{item.site.line} {item.site.fixes[0]}" for item in answer.findings
                   if item.site.kind is SiteKind.COPY]  # fmt: skip
        for fragment in (one for one in fragments if (one["package"], one["version"]) == (package, version)):
            if not is_unchanged(fragment, folder):
                changed.append(fragment["id"])
                continue
            judged = judge(fragment, answer)
            found[fragment["kind"]].append(judged)
            if asked.misses and False in judged:
                print(f"    {fragment['id']}: found {judged[0]}, right {judged[1]}")
    for kind, judgements in found.items():
        recall, precision = zip(*judgements, strict=True)
        print(f"{kind:9} {len(judgements)} fragments: recall {_share(recall)}, precision {_share(precision)}")
    print(f"copies    {len(copied)} in these packages", *copied, sep="\n    ")
    for what, names in (("not to be had, and left out", missing), ("not what was labelled", changed)):
        if names:
            print(f"{what}: {', '.join(names)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
