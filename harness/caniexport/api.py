"""The answers as Python functions: frozen dataclasses, and pandas frames where rows are asked for.

::

    import caniexport

    here = caniexport.open()                                      # what is published, and this machine's rows before it
    caniexport.workaround(here, "cross-no-symbolic")              # keep, remove; needed, obsolete, broken, harmful
    caniexport.upgrade(here, "torch=2.8.0", "torch=2.9.1")        # what breaks, which axis did it
    caniexport.cells(here, torch="2.8", status="mismatch")        # rows as a frame

Every function takes the open dataset first. Filters are keyword arguments, one name or several, with the names and the
meanings of the commands' options: ``case, variant, torch, opset, exporter, provider, status, theme, op``. A name that
nobody knows raises :class:`caniexport.UnknownName` with the nearest ones, and so does a dataset that is not there; one
that cannot be read raises :class:`caniexport.StoreError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from caniexport import home, names
from caniexport.alerts import expectations as listed
from caniexport.alerts.answer import alerts_answer
from caniexport.alerts.comparison import compare
from caniexport.answers import case as cases
from caniexport.answers import changes as changed
from caniexport.answers import declared as registries
from caniexport.answers import documents
from caniexport.answers import op as operators
from caniexport.answers import runtimes as releases
from caniexport.answers import upgrade as upgrades
from caniexport.answers import why as errors
from caniexport.answers import workaround as workarounds
from caniexport.answers.answer import Answer, import_pandas
from caniexport.answers.filters import FilterNames, exporter_names, read_filters, require_statuses
from caniexport.answers.model import answer_model_upgrade
from caniexport.answers.model_file import read_model
from caniexport.answers.operators import OperatorFilters
from caniexport.answers.point import Points, parse_point
from caniexport.answers.samples import EXPORTERS
from caniexport.answers.scope import find_scope, resolve_name, select
from caniexport.answers.table import By, TableLines, answer_table
from caniexport.model.errors import UnknownName
from caniexport.store import Dataset
from caniexport.store.views import Views

if TYPE_CHECKING:
    import pandas as pd

    from caniexport.check.touched import KnownFailures


def open(
    published: Path | str | None = None, local: Path | str | None = None, *, profile: str = home.NEWEST
) -> Dataset:
    """A dataset: the folders named, or where none is those of the home that the commands use.

    ``profile`` is what was installed beside torch: ``newest``, or ``period`` (two weeks after each release). Raises
    :class:`UnknownName` for a folder that has no dataset, and for a profile without rows.
    """
    if published is None and local is None:
        found = home.find()
        if not any(map(home.holds_dataset, (found.published, found.local))):
            raise UnknownName(f"nothing has been measured yet below {found.root}: `caniexport measure` does")
        return Dataset.open(found.published, found.local).of(profile)
    return Dataset.open(_dataset_folder(published), _dataset_folder(local)).of(profile)


def _dataset_folder(named: Path | str | None) -> Path | None:
    if named is None:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise UnknownName(f"{folder} is no folder: there is no dataset")
    if not home.holds_dataset(folder):
        raise UnknownName(f"{folder} has no dataset (a folder with cells/*.parquet is wanted)")
    return folder


def cells(dataset: Dataset, **filters: Unpack[FilterNames]) -> pd.DataFrame:
    """Measured rows, one per cell: the columns of docs/data.md and ``origin`` (published or local).

    Seconds are seconds, errors absolute and relative differences, times UTC.
    """
    pandas = import_pandas("cells()")
    taken = select(dataset, read_filters("cells", filters))
    where: dict[str, tuple[Any, ...]] = {name: tuple(values) for name, values in taken.where.items()}
    if taken.statuses:
        where["status"] = tuple(status.value for status in taken.statuses)
    frame = dataset.cells(**where)
    variants = pandas.MultiIndex.from_frame(frame[["case", "variant"]])
    found: pd.DataFrame = frame[variants.isin(list(taken.catalogue))].reset_index(drop=True)
    return found


def table(dataset: Dataset, by: str = "torch", lines: str = "cases", **filters: Unpack[FilterNames]) -> Answer:
    """What passes where: ``lines`` (cases, themes, operators, models, patches), ``by`` a column each: torch,
    opset, exporter, runtime, provider, onnxscript, onnx; or what becomes of the exported files: tool, plugin, file.
    """
    axis = By(names.require("axis", by, list(By)))
    down = TableLines(names.require("lines", lines, list(TableLines)))
    return answer_table(dataset, read_filters("table", filters), axis, down)


def case(
    dataset: Dataset,
    name: str,
    *,
    torch: str = "",
    exporter: str = "",
    opset: int | str = "",
    runtime: str = "",
    provider: str = "",
) -> Answer:
    """Where ``CASE`` or ``CASE/VARIANT`` works, since when and by which call; with any of the others the evidence of
    one cell. Operator samples are cases too: ``op-cross/float32-plain``.
    """
    asked = {"torch": torch, "exporter": exporter, "opset": str(opset), "runtime": runtime, "provider": provider}
    return cases.answer_case(dataset, name, {axis: value for axis, value in asked.items() if value})


def explain_error(dataset: Dataset, text: str, *, torch: str = "", exporter: str = "", opset: str | int = "") -> Answer:
    """What to do about a pasted error at a point, and the cases that fail like it; the parts of the point that are not
    named are the newest cell's with the error.
    """
    asked = {"torch": torch, "exporter": exporter, "opset": str(opset)}
    return errors.answer_error(dataset, text, {name: value for name, value in asked.items() if value})


def changes(
    dataset: Dataset,
    name: str,
    along: str = "torch",
    *,
    torch: str = "",
    exporter: str | Iterable[str] = (),
    opset: int | str = "",
) -> Answer:
    """Where the outcome of ``CASE`` or ``CASE/VARIANT`` changed, as intervals ``(after, by]`` of torch's releases, or
    ``along`` the versions of a package beside one of them: onnxscript, onnx, onnx-ir.
    """
    return changed.answer_changes(dataset, name, along, torch, _texts(exporter), str(opset))


def workaround(
    dataset: Dataset,
    name: str = "",
    *,
    torch: str = "",
    opset: int | str = "",
    exporter: str | Iterable[str] = (),
    case: str | Iterable[str] = (),
    theme: str | Iterable[str] = (),
    op: str | Iterable[str] = (),
) -> Answer:
    """What to do with each workaround at a torch release (the newest measured), and since when.

    ``name`` is a case, ``CASE/WORKAROUND``, an operator, a theme or a workaround. Without ``opset`` each release is
    judged at its own. Raises :class:`UnknownName`.
    """
    views = Views.of(dataset)
    asked = resolve_name(views, name) if name else find_scope(views, _texts(case), _texts(theme), _texts(op))
    number = int(opset) if str(opset) else None
    return workarounds.answer_workaround(dataset, asked, torch, number, exporter_names(_texts(exporter)))


def op(
    dataset: Dataset,
    name: str = "",
    *,
    torch: str = "",
    exporter: str | Iterable[str] = (),
    opset: int | str = "",
    dtype: str = "",
    status: str | Iterable[str] = (),
) -> Answer:
    """Since when an operator exports, by which call, at which opsets and in which dtypes; ``name`` is any spelling.

    Without a name, with a glob (``fft.*``) or with filters: which operators work. ``dtype`` is ``all``, or one in place
    of the first of each operator.
    """
    asked = OperatorFilters(
        torch=torch,
        exporters=exporter_names(_texts(exporter)),
        opset=int(opset) if str(opset) else None,
        dtype=dtype,
        statuses=require_statuses(_texts(status)),
    )
    return operators.answer_op(dataset, name, asked)


def upgrade(
    dataset: Dataset,
    before: str,
    after: str = "",
    model: Path | str | None = None,
    *,
    case: str | Iterable[str] = (),
    theme: str | Iterable[str] = (),
    op: str | Iterable[str] = (),
) -> Answer:
    """What changes between two points (``torch=2.8.0,opset=17``), about the cases in scope; what is left out is the
    release's default. Without ``after``: how far one can go.

    With an ONNX file as ``model``: what is known to touch it; what ``before`` leaves out is then read off the file.
    """
    if model is not None:
        file = read_model(Path(model), Points(dataset).releases)
        return answer_model_upgrade(dataset, file, parse_point(before), parse_point(after))
    asked = find_scope(Views.of(dataset), _texts(case), _texts(theme), _texts(op))
    return (
        upgrades.answer_upgrade(dataset, parse_point(before), parse_point(after), asked)
        if after
        else upgrades.answer_ladder(dataset, parse_point(before), asked)
    )


def claims(dataset: Dataset, source: str | Iterable[str] = (), **filters: Unpack[FilterNames]) -> documents.Claims:
    """What documents say against what was measured; ``status`` is an outcome here."""
    return documents.find_claims(dataset, read_filters("claims", filters), _texts(source))


def declared(
    dataset: Dataset, torch: str = "", *, exporter: str | Iterable[str] = (), op: str | Iterable[str] = ()
) -> Answer:
    """What the exporters of a release register for operators, against what was measured."""
    return registries.answer_declared(dataset, torch, exporter_names(_texts(exporter)) or EXPORTERS, _texts(op))


def runtimes(dataset: Dataset, corpus: str = "") -> Answer:
    """What each runtime release takes; ``corpus="onnx-node"`` for ONNX's own node tests."""
    return releases.answer_runtimes(dataset, (), corpus and names.require("corpus", corpus, ["onnx-node"]))


def check_model(
    dataset: Dataset,
    target: str,
    *,
    torch: str | Iterable[str] = (),
    exporter: str | Iterable[str] = (),
    opset: int | Iterable[int] = (),
    packages: Iterable[str] = (),
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
) -> Answer:
    """What ``caniexport check`` says of ``MODULE:FACTORY``: measures it, which takes about ten seconds for a release
    that is installed.

    ``dynamic`` is ``{argument: {axis: name}}``. Raises :class:`caniexport.check.target.UnusableModel` for a model that
    no release could take.
    """
    from caniexport.check.check import CheckRequest, check
    from caniexport.check.target import Options

    opsets = (opset,) if isinstance(opset, int) else tuple(opset)
    request = CheckRequest(_texts(torch), exporter_names(_texts(exporter)), opsets, tuple(packages))
    return check(
        target,
        request,
        Options(dynamic or {}),
        home=home.find(),
        corpus=dataset,
        cwd=Path.cwd(),
        say=lambda _: None,
    )


def known_failure(
    model: object,
    args: Iterable[Any] = (),
    *,
    torch: str = "",
    exporter: str = "",
    opset: int | str = "",
    dataset: Dataset | None = None,
) -> KnownFailures:
    """What is known to fail of a module with these arguments, or of an ONNX file, at the versions of this process.

    The module is exported here, with ``exporter`` and ``opset`` or as by default; ``torch`` names another release to go
    to. ``is_touched`` is true, false, or ``None`` where nobody knows.
    """
    from caniexport.check.touched import known_failures
    from caniexport.locks import read_running

    asked = {"torch": torch, "exporter": exporter, "opset": str(opset)}
    here = {} if isinstance(model, str | Path) else dict(read_running().packages)
    named = {axis: value for axis, value in asked.items() if value}
    return known_failures(open() if dataset is None else dataset, model, tuple(args), here, named)


def scan_source(
    dataset: Dataset,
    path: Path | str,
    torch: str | Iterable[str] = (),
    exporter: str | None = None,
    opset: int | None = None,
) -> Answer:
    """What ``caniexport scan`` says of a source tree; ``torch`` empty: what its own files ask for."""
    from caniexport.scan.scan import scan

    return scan(dataset, Path(path), _texts(torch), exporter, opset)


def compare_datasets(
    before: Dataset, after: Dataset, expectations: Path | str | None = None, today: date | None = None
) -> Answer:
    """What ``caniexport alerts`` prints: regressions, workarounds that became obsolete, counts of every verdict."""
    entries = listed.read_expectations(Path(expectations)) if expectations else []
    day = today or datetime.now(UTC).date()
    return alerts_answer(compare(("before", before), ("after", after), entries, [], day))


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
