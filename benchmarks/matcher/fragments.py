"""``caniexport workaround --scan`` held against code of real packages whose right answers were found by hand.

``python benchmarks/matcher/fragments.py [--cache DIRECTORY] [--only PACKAGE ...] [--misses]``

``fragments.jsonl`` says of each fragment where it is (package, version, file, first and last line, the digest of those
lines joined by newlines) and what it is:

- ``answer``: ``case/fix`` of the corpus, of which it is a copy or a variant (fix ``?``: a form of its own; ``plain``:
  the failing form), ``none`` (a workaround that the corpus does not know), ``other-backend``, ``export-call``, or
  ``unrelated``
- ``also``: further answers that are as right
- ``gate``: for a branch on a release or on exporting, its condition and the word that the rows of the case give, for
  the newest torch at its own opset, to the fix that the gate chooses
- ``registered``: lines elsewhere in the file that register the fragment as an export rule
- ``call``: the opset and the exporter of an export call

The packages' code is not in the repository: it is fetched with ``pip download``, without dependencies. Whole packages
are scanned, since a gate's flag may be made in another file. A finding counts for a fragment if its line lies in it,
and claims the case that it names first, or of a finding that is sure of the operator only that operator; one that is
only similar claims nothing (``listed`` counts it, as ``--all`` tells it). Recall: the share of fragments with a
known case (or another backend) that some claim has right; wanted: of those among them of which no label accepts
silence. Precision: the share of claims within any fragment that are
right. Findings elsewhere are not judged.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from caniexport.answers.plain import plain  # noqa: E402  # the package beside this script
from caniexport.scan.normal import operator_of  # noqa: E402  # the same
from caniexport.scan.scan import scan as scan_source  # noqa: E402  # the same
from caniexport.store import Dataset  # noqa: E402  # the same

FRAGMENTS = Path(__file__).with_name("fragments.jsonl")
HALVES = (
    "build", "held_out", "fresh", "looked", "kept", "outside", "last", "unseen", "unseen_later", "unseen_last",
    "unseen_again", "unseen_fifth", "streets", "avenues_looked", "avenues_blind", "byways",
)  # fmt: skip
#: old setup.py files import pkg_resources
_CONSTRAINT = "setuptools<70\n"
_OTHER_BACKEND = "other-backend"
_OPERATOR, _SIMILAR = "the same operator", "similar"
#: a pin names cases that depend on the model, which is no claim about the code beside it
_NO_CLAIM = ("opset-pin", "dynamo-pin")

#: a branch on a release, and one on exporting
_GATES = ("version-gate", "stated-workaround")

Fragment = dict[str, Any]
Finding = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """A fragment, the findings in it, and of each finding that names a case whether it is right. ``is_similar``: a
    finding that claims nothing has the right case.
    """

    fragment: Fragment
    findings: tuple[Finding, ...]
    claims: tuple[tuple[str, bool], ...]
    is_similar: bool = False

    @property
    def is_known(self) -> bool:
        """Whether a claim is wanted."""
        return "/" in self.fragment["answer"] or self.fragment["answer"] == _OTHER_BACKEND

    @property
    def is_wanted(self) -> bool:
        """Whether silence is wrong: no label says that nothing need be told."""
        return self.is_known and not {"none", "unrelated"}.intersection(self.fragment["also"])

    @property
    def is_found(self) -> bool:
        return any(right for _, right in self.claims)

    @property
    def has_case(self) -> bool:
        return any(right and not name.startswith("operator ") for name, right in self.claims)


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


def scan(dataset: Dataset, folder: Path) -> dict[str, Any]:
    """What the scan says of a package, as ``--json`` does."""
    answer: dict[str, Any] = plain(scan_source(dataset, folder))
    return answer


def judge(fragment: Fragment, answer: dict[str, Any]) -> Judged:
    """The findings of a scan that lie in a fragment, and which claims are right."""
    first, last = fragment["lines"]
    inside = tuple(
        finding
        for finding in answer["findings"]
        if finding["site"]["path"] == fragment["file"]
        and (first <= finding["site"]["line"] <= last or finding["site"]["line"] in fragment.get("registered", ()))
    )
    right = {name.partition("/")[0] for name in (fragment["answer"], *fragment["also"]) if "/" in name}
    if _OTHER_BACKEND in (fragment["answer"], *fragment["also"]):
        right.add(_OTHER_BACKEND)
    right |= {f"operator {_family(name)}" for name in fragment["operators"]}
    claimed = [(name, finding) for finding in inside for name in [_claim(finding)] if name]
    return Judged(
        fragment,
        inside,
        tuple((name, name in right or _has_case(finding, right)) for name, finding in claimed),
        any(finding["site"]["sure"] == _SIMILAR and right & _cases(finding) for finding in inside),
    )


def _cases(finding: Finding) -> set[str]:
    return {case for case, _ in finding["site"]["fixes"]}


def _family(operator: str) -> str:
    """An operator, whatever its number of axes."""
    return re.sub(r"[123]d$", "", operator_of(operator))


def _has_case(finding: Finding, right: set[str]) -> bool:
    """Whether a right case is among those of the operator that a finding names."""
    return finding["site"]["sure"] == _OPERATOR and any(item["case"] in right for item in finding["evidence"])


def _claim(finding: Finding) -> str:
    """The case that a finding names first, ``other-backend``, or nothing."""
    site = finding["site"]
    if site["kind"] in _NO_CLAIM:
        return ""
    if site["runtime"]:
        return _OTHER_BACKEND
    if site["sure"] == _SIMILAR:
        return ""
    if site["sure"] == _OPERATOR:
        return f"operator {_family(site['name'])}"
    named = [fix[0] for fix in site["fixes"]] + [evidence["case"] for evidence in finding["evidence"]]
    return named[0] if named else ""


def gate_is_right(judged: Judged) -> bool:
    """Whether a gate about a measured case gets the word of its rows."""
    words = {finding["word"] for finding in judged.findings if finding["site"]["kind"] in _GATES}
    return judged.fragment["gate"]["judged_as"] in words


def call_is_right(judged: Judged, answer: dict[str, Any]) -> bool:
    """Whether the opset of an export call is found beside it, or is the project's."""
    wanted = judged.fragment["call"]["opset"]
    pins = {finding["site"]["name"] for finding in judged.findings if finding["site"]["kind"] == "opset-pin"}
    return str(wanted) in pins or answer["opset"] == wanted


def report(half: str, everything: Sequence[tuple[Judged, dict[str, Any]]], misses: bool) -> Iterator[str]:
    """The figures of one half, a line each."""
    known = [one for one, _ in everything if one.is_known]
    claims = [right for one, _ in everything for _, right in one.claims]
    gates = [one for one, _ in everything if one.fragment["gate"]]
    measured = [
        one for one in gates if one.fragment["gate"]["judged_as"] in ("needed", "obsolete", "harmful", "broken")
    ]
    calls = [call_is_right(*pair) for pair in everything if pair[0].fragment["answer"] == "export-call"]
    yield f"{half}: {len(everything)} fragments of {len({one.fragment['package'] for one, _ in everything})} packages"
    yield f"  recall     {_share([one.is_found for one in known])} of fragments that the corpus knows"
    yield f"  wanted     {_share([one.is_found for one in known if one.is_wanted])} of those where silence is wrong"
    yield f"  by case    {_share([one.has_case for one in known])} of them by the case, not by its operator alone"
    yield f"  listed     {_share([one.is_found or one.is_similar for one in known])} of them, with what --all lists"
    yield f"  precision  {_share(claims)} of claims"
    yield f"  gates      {_share([gate_is_right(one) for one in measured])} of measured ones judged right"
    yield f"  opsets     {_share(calls)} of export calls"
    for one, _ in everything if misses else ():
        wrong = sorted({name for name, right in one.claims if not right})
        if wrong or (one.is_known and not one.is_found):
            yield f"    {one.fragment['id']}: {one.fragment['answer']}; said {', '.join(wrong) or 'nothing'}"


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values)}/{len(values)}" + (f" = {sum(values) / len(values):.0%}" if values else "")


def main() -> int:
    """Fetch, check, scan, and print the figures; exit code 1 where a fragment is not what was labelled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "caniexport-fragments")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--misses", action="store_true", help="name the fragments that were missed or called wrong")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    fragments: list[Fragment] = [json.loads(line) for line in FRAGMENTS.read_text(encoding="utf-8").splitlines()]
    fragments = [one for one in fragments if not asked.only or one["package"] in asked.only]
    found: dict[str, list[tuple[Judged, dict[str, Any]]]] = {half: [] for half in HALVES}
    changed, missing = [], []
    dataset = Dataset.open(ROOT / "results", None)
    for package, version in sorted({(one["package"], one["version"]) for one in fragments}):
        folder = fetch(package, version, asked.cache)
        if folder is None:
            missing.append(f"{package} {version}")
            continue
        answer = scan(dataset, folder)
        for fragment in (one for one in fragments if (one["package"], one["version"]) == (package, version)):
            if is_unchanged(fragment, folder):
                found[fragment["half"]].append((judge(fragment, answer), answer))
            else:
                changed.append(fragment["id"])
    for half, everything in found.items():
        print("\n".join(report(half, everything, asked.misses)))
    if missing:
        print(f"not to be had, and left out: {', '.join(missing)}")
    if changed:
        print(f"not what was labelled: {', '.join(changed)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
