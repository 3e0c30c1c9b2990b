"""Cases that a table makes: one for each operator of torch's database, its variants the calls that are measured.

The table (``cases/operators/op_db.jsonl``) says which calls there are in which releases, so that planning needs no
torch; the modules themselves are made inside the measured environment, from the database of the release.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

from caniexport.model.case import PLAIN, Case, Variant
from caniexport.model.releases import Release
from caniexport.model.status import Exporter

#: the corpus of these cases
OPERATORS = "operators"
#: opsets that the TorchScript exporter is asked for, beside the newest that it takes
_TRACED = range(8, 24, 3)
#: opsets that dynamo is asked for: the one that it writes, its default, and the newest that onnxruntime loads
_CAPTURED = (18, 20, 26)
_DEFAULT = 20
#: dtypes that dynamo is not asked for: no model has them alone
_TRACED_ONLY = ("uint8", "int32")
#: relative and absolute tolerance of calls in a dtype that comes and goes as another
_TOLERANCES = {"bfloat16": (2e-2, 1e-2)}

#: what torch's database calls the operators of Python
OF_PYTHON = {
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

#: makes what :class:`caniexport.worker.operators.ModuleCall` is, inside a measured environment
MakeCall = Callable[[str], Any]


class DatabaseEntry(NamedTuple):
    """An entry of the database in a range of releases.

    name      as the database has it: ``div.floor_rounding``
    since     the first of these releases, ``until`` the last
    aten      the operator's name in aten
    calls     samples and their forms by dtype: ``float32`` -> ``plain``, ``plain-dynamic``, ``shape``
    arguments by sample, of the first dtype: ``plain`` -> ``f32[2, 3], 1``
    random    samples whose values differ every time: ``plain``
    left_out  dtypes that are not measured, with the reason; the dtype is empty where it is the whole entry
    """

    name: str
    since: str
    until: str
    aten: str
    calls: Dict[str, List[str]]
    arguments: Dict[str, str] = {}
    random: Sequence[str] = ()
    left_out: Dict[str, str] = {}

    def holds(self, release: str) -> bool:
        """Whether a release is among those that it is about."""
        return parse_release(self.since) <= parse_release(release) <= parse_release(self.until)

    def has(self, variant: str) -> bool:
        """Whether it has a call: ``float32-plain-dynamic``."""
        dtype, _, call = variant.partition("-")
        return call in self.calls.get(dtype, ())


class MadeVariant(Variant):
    """A call of an operator. Its module is made when it is first asked for, inside a measured environment."""

    def __init__(self, case: Type["MadeCase"], name: str) -> None:
        self.case = case
        self._make = case.make
        self.name = name
        self.fix = None
        self.kind = PLAIN
        self.note = case.arguments(name)
        self.export: Dict[str, Any] = {}
        self.patch = self.prepare = self.route = self.surgery = None
        self.session: Dict[str, Any] = {}
        self.changes_values = False
        self.rtol, self.atol = _TOLERANCES.get(name.split("-")[0], (None, None))
        self.compares_values = not case.is_random(name)
        self.by_largest = True

    @property
    def input_sets(self) -> int:
        """Two, which is known without making them."""
        return 2

    @property
    def forward(self) -> Callable[..., Any]:  # type: ignore[override]  # of other variants it is an attribute
        """The call as a module's ``forward``."""
        found: Callable[..., Any] = self._make(self.name).forward
        return found

    @property
    def inputs(self) -> Tuple[Any, ...]:
        """Its tensors as arrays, twice."""
        found: Tuple[Any, ...] = self._make(self.name).inputs
        return found

    @property
    def dynamic(self) -> Dict[str, Any]:  # type: ignore[override]  # the same
        """Its dynamic axes."""
        found: Dict[str, Any] = self._make(self.name).dynamic
        return found


class MadeCase(Case):
    """An operator of torch's database.

    entries  what there is of it, by range of releases
    make     makes the call of a variant
    source   loads what calls are made of
    code     hash of the code that makes it
    """

    corpus = OPERATORS
    entries: Tuple[DatabaseEntry, ...] = ()
    code = ""
    make: MakeCall
    source: Optional[Callable[[], Any]] = None

    @classmethod
    def load(cls) -> None:
        """Load the database, which takes a second."""
        if cls.source is not None:
            cls.source()

    def forward(self, *_: Any) -> Any:
        """Every variant has its own."""
        raise NotImplementedError

    @classmethod
    def own_variants(cls) -> Dict[str, Variant]:
        """The variants of all releases by name."""
        calls = [(dtype, call) for entry in cls.entries for dtype, own in entry.calls.items() for call in own]
        names = dict.fromkeys("-".join(item) for item in calls)
        return {name: MadeVariant(cls, name) for name in names}

    @classmethod
    def hash_of(cls, variant: str) -> str:
        """Names what is measured: the call, and the code that makes it."""
        return hashlib.sha256("\n".join((cls.case_id(), variant, cls.code)).encode("utf-8")).hexdigest()[:16]

    @classmethod
    def asks(cls, variant: str, release: Release, exporter: str) -> Tuple[Optional[int], ...]:
        """Opsets to ask of an exporter; none where the release does not have the call."""
        entry = cls.entry(release.torch)
        if entry is None or not entry.has(variant):
            return ()
        return choose_opsets(variant, release, exporter)

    @classmethod
    def entry(cls, release: str) -> Optional[DatabaseEntry]:
        """What there is of it in a release."""
        return next((entry for entry in cls.entries if entry.holds(release)), None)

    @classmethod
    def arguments(cls, variant: str) -> str:
        """The arguments of a call in the newest release that has it."""
        which = variant.split("-")[1]
        return next((entry.arguments.get(which, "") for entry in reversed(cls.entries) if entry.has(variant)), "")

    @classmethod
    def is_random(cls, variant: str) -> bool:
        """Whether a call gives other values every time, in any release."""
        which = variant.split("-")[1]
        return any(which in entry.random for entry in cls.entries)


def choose_opsets(variant: str, release: Release, exporter: str) -> Tuple[Optional[int], ...]:
    """Opsets that an exporter is asked for; a dtype beside the first, and a form, take fewer of dynamo's."""
    every = release.opsets(exporter)
    dtype, _, form = (variant.split("-") + [""])[:3]
    if exporter == Exporter.TRACE.value:
        accepted = [opset for opset in every if opset is not None and opset <= release.torchscript[1]]
        newest = accepted[-1:]
        return tuple(newest) if form else tuple(item for item in accepted if item in _TRACED or item in newest)
    if exporter != Exporter.DYNAMO.value or dtype in _TRACED_ONLY or form == "out":
        return ()
    wanted = _CAPTURED if dtype == "float32" and not form else (_DEFAULT,)
    return tuple(item for item in every if item in wanted) or every[:1]


def make_cases(
    entries: Sequence[DatabaseEntry],
    make: Callable[..., Any],
    code: str,
    module: str,
    prefix: str,
    title: str,
    source: Optional[Callable[[], Any]] = None,
) -> Dict[str, Type[MadeCase]]:
    """The cases of these entries by the name of their class, which is that of the case.

    ``make`` takes an entry's name and the parts of a variant's; ``prefix`` begins each id, ``title`` each title;
    ``source`` loads what ``make`` needs.
    """
    by_name: Dict[str, List[DatabaseEntry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    found = {}
    for name, own in by_name.items():
        members = {
            "__doc__": "{}: {}.".format(title, name),
            "__module__": module,
            "id": prefix + name,
            "sources": ("torch:op_db",),
            "aten_ops": tuple(sorted({"aten::" + entry.aten for entry in own if entry.aten})),
            "entries": tuple(own),
            "exporters": (Exporter.TRACE.value, Exporter.DYNAMO.value),
            "code": code,
            "make": staticmethod(_bind_name(make, name)),
            "source": None if source is None else staticmethod(source),
        }
        key = re.sub(r"\W", "_", prefix + name)
        found[key] = type(key, (MadeCase,), members)
    return found


def _bind_name(make: Callable[..., Any], name: str) -> MakeCall:
    return lambda variant: make(name, *variant.split("-"))


def read_entries(table: Path) -> List[DatabaseEntry]:
    """The entries of a table; those of one operator one after the other, by release."""
    lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    return [DatabaseEntry(**json.loads(line)) for line in lines]


def parse_release(release: str) -> Tuple[int, ...]:
    """A release so that it can be compared."""
    return tuple(int(part) for part in release.split("."))
