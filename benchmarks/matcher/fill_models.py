"""Fills ``failures`` of ``models.jsonl``: ``python benchmarks/matcher/fill_models.py RELEASE ANSWERS [MODEL...]``.

Each model is checked by trace and by dynamo at opset 18, all packages in one environment; its answer is kept as JSON
in the folder ANSWERS, and one that is there is not asked again. Environments go to ANSWERS/into (6 GB a release).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = HERE / "models.jsonl"
_LONGEST = 400


def main() -> int:
    """Check what is not answered yet, and write the rows."""
    release, answers, wanted = sys.argv[1], Path(sys.argv[2]), set(sys.argv[3:])
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    packages = sorted({name for row in rows for name in row["packages"]})
    for row in rows:
        path = answers / release / f"{row['model']}.json"
        if not path.exists() and (not wanted or row["model"] in wanted):
            ask(row["model"], release, packages, path, answers / "into")
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            row["failures"] = {**(row["failures"] or {}), release: failures(found)}
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


def ask(model: str, release: str, packages: list[str], path: Path, into: Path) -> None:
    """Keep what ``check`` says of a model; one that cannot be checked at all is said and left out."""
    line = ["caniexport", "check", f"{HERE / 'models.py'}:{model}", "--release", release, "--opset", "18", "--json"]
    line += ["--exporter", "trace", "--exporter", "dynamo", "--into", str(into)]
    line += [word for name in packages for word in ("--with", name)]
    reply = subprocess.run(line, capture_output=True, text=True, check=False)
    if not reply.stdout.strip():
        print(f"{model}: {reply.stderr.strip().splitlines()[-1]}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reply.stdout, encoding="utf-8")


def failures(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each exporter that fails: where, how, the operator, and the text that a user would see."""
    return [
        {
            "exporter": place["exporter"],
            "stage": failure["stage"],
            "status": failure["status"],
            "operator": failure["operator"],
            "text": shortened(failure["message"]),
            "warnings": failure["warnings"] if failure["status"] == "mismatch" else "",
            "differs": failure["differs"],
        }
        for failure in answer["failures"]
        for place in failure["where"]
    ]


def shortened(message: str) -> str:
    """The first line of a message and the last of its causes."""
    lines = [line for line in message.splitlines() if line.strip()]
    causes = [line for line in lines[1:] if line.startswith("caused by ")]
    return "\n".join(line[:_LONGEST] for line in [*lines[:1], *causes[-1:]])


if __name__ == "__main__":
    sys.exit(main())
