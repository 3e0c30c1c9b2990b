"""One cell: the outcome of a variant at a point, the message, what was installed, the script that shows it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Code, Link, Mark, Message, Table
from caniexport.answers.documents import read_claims
from caniexport.answers.helping import find_helping
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import Point, call_text
from caniexport.answers.signs import EXPORTER_SHORT, checker_text, unstable_text
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Stage, Status
from caniexport.store import Dataset, sql
from caniexport.store.schema import columns
from caniexport.store.sql import moment
from caniexport.store.views import Views

#: a row by column
Row = Mapping[str, Any]
#: packages that decide an export, in the order in which they are named
_PACKAGES = ("torch", "onnx", "onnxscript", "onnx_ir", "onnx-ir", "onnxruntime", "numpy", "protobuf")
_HOW = {
    Status.PASS: "Works",
    Status.DEGRADED: "Works, but not as asked",
    Status.UNSUPPORTED: "Refused",
    Status.MISMATCH: "Wrong values",
    Status.CRASH: "Crashes",
    Status.TIMEOUT: "Takes too long",
    Status.OOM: "Out of memory",
    Status.UNSTABLE: "Not the same every time",
}


@dataclass(frozen=True)
class NamedCase:
    """A case, and a variant of it where one is named."""

    case: str
    variant: str = ""

    @property
    def text(self) -> str:
        """``CASE`` or ``CASE/VARIANT``, as a command takes it."""
        return f"{self.case}/{self.variant}" if self.variant not in ("", PLAIN) else self.case


def read_rows(views: Views, relation: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the rows of a relation about cells, each with every column of a cell; times in microseconds."""
    wanted = (*columns("cells"), "origin")
    found = views.fetch(f"SELECT {', '.join(map(sql.select_column, wanted))} FROM {relation}", values)
    return [dict(zip(wanted, row, strict=True)) for row in found]


def answer_cell(dataset: Dataset, named: NamedCase, point: Point, notes: Iterable[str]) -> Answer:
    """Answer how a variant of a case ends at a point, with its evidence."""
    variant = named.variant or PLAIN
    query = f"""({point.rows}) WHERE "case" = $1 ORDER BY provider <> 'cpu', provider"""
    rows = read_rows(Views.of(dataset), query, [named.case])
    row = next((row for row in rows if row["variant"] == variant), None)
    where = f"torch {point.torch}, {point.call}"
    if row is None or row["status"] in (Status.NOT_RUN.value, Status.SKIP.value, Status.INVALID.value):
        more = f"caniexport case {named.text} shows where it was measured."
        return Answer(f"Not measured ({where}).", AnswerOutcome.NOT_MEASURED, notes=tuple(notes), more=more)
    helps = find_helping(Views.of(dataset), point, [named.case])[named.case]
    works = [item.variant for item in helps if item.variant != variant]
    made = answer_evidence(dataset.of(point.profile), row, where, workarounds=works)
    return replace(made, notes=tuple(notes))


def answer_evidence(dataset: Dataset, row: Row, where: str, workarounds: Sequence[str] = ()) -> Answer:
    """Answer with the facts of the cell of a row, one in a line."""
    status = Status(row["status"])
    how = f"Fails at {row['stage']}" if status is Status.FAIL else _HOW[status]
    if status in WORKS and checker_text(row["checker"], None, works=True):
        how = "Works, and onnx's checker refuses the file"
    facts = [
        (name, value) for name, value in _list_facts(dataset, row, status, workarounds) if value not in ("", None, ())
    ]
    outcome = AnswerOutcome.WORKS if status in WORKS else AnswerOutcome.FAILS
    table = Table("", ("fact", "value"), tuple(facts), shown=len(facts))
    return Answer(f"{how} ({where}).", outcome, (table,), more="--all shows full messages.")


def _list_facts(dataset: Dataset, row: Row, status: Status, workarounds: Sequence[str]) -> list[tuple[str, Cell]]:
    texts = dataset.messages(row[name] for name in ("message_id", "checker_id", "warning_id"))
    error, checker, warnings = (texts.get(row[name] or "", "") for name in ("message_id", "checker_id", "warning_id"))
    if row["message_id"] and not error:
        error = f"(the text {row['message_id']} is missing in the dataset)"
    runtime = f"{row['runtime']} {row['runtime_version']} on {row['provider']}" if row["runtime_version"] else ""
    refused = checker_text(row["checker"], runtime, works=status in WORKS)
    noted = json.loads(row["facts"] or "{}")
    cell_id = f"{row['torch']}/{row['case']}/{row['variant']}/{row['exporter']}/{row['opset']}"
    claims = [claim for claim in read_claims(dataset, [row["case"]]) if cell_id in claim.cells]
    is_local = row["origin"] == "local"
    when = moment(row["measured_at"]).isoformat()[:16].replace("T", " ") if row["measured_at"] else "at an unknown time"
    return [
        ("outcome", Mark(status)),
        ("stage", "" if row["stage"] == Stage.DONE.value else row["stage"]),
        ("error", Message(short_cause(error), error) if error else None),
        ("repetitions", unstable_text(row["unstable"] or ())),
        ("largest difference", _difference_text(row)),
        ("file", _file_text(row)),
        ("operators in it", row["ops"] or ""),
        ("onnx's checker", refused and Message(refused, f"{refused}: {checker}")),
        ("of the file", ", ".join(f"{name}={value}" for name, value in noted.items())),
        ("runtime", runtime),
        ("environment", _environment_text(read_packages(dataset, row), row["python"])),
        ("warnings", Message(warnings.strip().partition("\n")[0], warnings) if warnings else None),
        *(("claim", f"{claim.source}: {claim.says} ({claim.word})") for claim in claims),
        (
            "workarounds that work",
            tuple(Link(name, "case", {"case": row["case"], "variant": name}) for name in workarounds),
        ),
        ("reproduce", Code(write_command("reproduce", dataset, row))),
        ("measure again", Code(write_command("measure", dataset, row))),
        ("measured", f"{when} UTC, {'on this machine' if is_local else 'published'}, run {row['run_id']}"),
    ]  # fmt: skip


def read_packages(dataset: Dataset, row: Row) -> dict[str, str]:
    """Return the packages of a row: those of its run, else of the newest run in the same environment."""
    found = dataset.records("environments", {"env_id": (row["env_id"],)}) if row["env_id"] else []
    own = max(found, key=lambda item: (item["run_id"] == row["run_id"], str(item["measured_at"])), default=None)
    packages: dict[str, str] = json.loads((own or {}).get("packages") or "{}")
    return packages


def _environment_text(packages: Mapping[str, str], python: str | None) -> str:
    named = [f"{name} {packages[name]}" for name in _PACKAGES if name in packages]
    return ", ".join([*([f"Python {python}"] if python else []), *named])


def write_command(name: str, dataset: Dataset, row: Row) -> str:
    """Return the command line that shows (``reproduce``) or measures (``measure``) the cell of a row."""
    is_script, case = name == "reproduce", f"{row['case']}/{row['variant']}"
    words = ["caniexport", name, *([case] if is_script else ["--case", case if row["exporter"] else row["case"]])]
    for option in ("torch", "exporter", "opset"):
        value = row[option]
        words += [f"--{option}", EXPORTER_SHORT.get(value, str(value))] if value is not None else []
    words += ["--provider", row["provider"]] if row["provider"] not in ("cpu", "none", None) else []
    words += ["--profile", dataset.profile] if dataset.profile != NEWEST else []
    return shlex.join(words if is_script else [*words, "--fresh"])


def _difference_text(row: Row) -> str:
    if row["max_abs_error"] is None:
        return ""
    relative = f", {row['max_rel_error']:.3g} relative" if row["max_rel_error"] is not None else ""
    allowed = f" (allowed: {row['atol']:.2g} and {row['rtol']:.2g})" if row["rtol"] is not None else ""
    return f"{row['max_abs_error']:.3g} absolute{relative}{allowed}"


def _file_text(row: Row) -> str:
    if row["opset_effective"] is None:
        return ""
    by = call_text(row["torch"], row["exporter_effective"]) if row["exporter_effective"] and row["torch"] else ""
    parts = [f"opset {row['opset_effective']}{f' by {by}' if by else ''}"]
    parts += [f"IR version {row['ir_version']}"] if row["ir_version"] is not None else []
    parts += [f"{row['node_count']} nodes"] if row["node_count"] is not None else []
    return ", ".join(parts)


def find_most_telling(dataset: Dataset, where: sql.Where) -> tuple[Row | None, int]:
    """Return the cell to look at first of those with these values, and their number: at the opset of a call
    that names none, one that does not work if any, on the newest release, by the exporter of its default call.
    """
    condition = sql.condition({**where, "profile": (dataset.profile,)})
    views = Views.of(dataset)
    views.include(dataset.profile)
    query = f"""(SELECT c.*, version.n, release.exporter AS usual,
                c.exporter = 'default' OR coalesce(is_own, false) AS bare
            FROM cells c LEFT JOIN version USING (torch) LEFT JOIN release USING (profile, torch)
            LEFT JOIN call ON (call.profile, call.torch, call.exporter, call.opset)
                = (c.profile, c.torch, c.exporter, c.opset)) WHERE {condition}
        ORDER BY NOT bare, status = 'unsupported', coalesce(works(status), true), n DESC, exporter <> usual,
            list_position(['torchscript-trace', 'dynamo', 'torchscript-script'], exporter), opset DESC LIMIT 1"""
    found = read_rows(views, query)
    ((count,),) = views.fetch(f"SELECT count(*) FROM cells WHERE {condition}")
    return (found[0] if found else None), count
