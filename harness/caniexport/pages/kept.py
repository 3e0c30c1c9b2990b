"""The dataset as pages read it: each table and each answer once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from caniexport.answers import select
from caniexport.answers.reading import move_to_runtime
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import Rows
from caniexport.answers.upstream import SourceState, upstream
from caniexport.model.errors import StoreError
from caniexport.pages.setting import Setting
from caniexport.store import graphs
from caniexport.store.dataset import Dataset
from caniexport.store.elsewhere import Runtime
from caniexport.store.onnx_graph import Graph

if TYPE_CHECKING:
    import pandas as pd

_Answer = TypeVar("_Answer")
#: answers kept at once; they are small beside the cells
_MOST_KEPT = 2000
#: cases that are read with one question
_TOGETHER = 60


class Kept(Dataset):
    """A dataset that reads each of its small tables, and each set of columns of all its cells, once."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def cells(self, *given: Any, **asked: Any) -> pd.DataFrame:
        """One row per cell, as :meth:`Dataset.cells` gives them; a question without filters is read once."""
        if given or set(asked) != {"columns"}:
            return super().cells(*given, **asked)
        read = super().cells
        return cast("pd.DataFrame", self._once(("cells", tuple(asked["columns"] or ())), lambda: read(**asked)))

    def of(self, profile: str) -> Kept:
        """The dataset of another profile, kept as well."""
        return cast("Kept", super().of(profile))

    def cases(self) -> pd.DataFrame:
        """One row per case and variant."""
        return cast("pd.DataFrame", self._once("cases", super().cases))

    def claims(self) -> pd.DataFrame:
        """One row per claim."""
        return cast("pd.DataFrame", self._once("claims", super().claims))

    def environments(self) -> pd.DataFrame:
        """One row per environment and run."""
        return cast("pd.DataFrame", self._once("environments", super().environments))

    def environment_records(self) -> list[dict[str, Any]]:
        """The same as plain values; pandas is not loaded for them."""
        read = super().environment_records
        return cast("list[dict[str, Any]]", self._once("environment records", read))

    def on(self, runtime: Runtime) -> Kept:
        """The same dataset with every file as it ends on one release of a runtime."""
        return cast("Kept", self._once(("on", runtime), lambda: self._moved(runtime)))

    def at(self, mine: Setting) -> Kept:
        """What a reader's setting reads: the dataset of its packages, every file as it ends on its runtime."""
        chosen = self.of(mine.profile)
        runtime = mine.runtime(chosen.rows())
        return chosen.on(runtime) if runtime else chosen

    def _moved(self, runtime: Runtime) -> Kept:
        moved = move_to_runtime(self, runtime)
        moved._kept = OrderedDict()
        return moved

    def rows(self) -> Rows:
        """Every cell and the catalogue, as the answers read them."""
        return cast("Rows", self._once("rows", lambda: select.load(self)))

    def cells_of(self, case: str) -> list[MeasuredCell]:
        """The measured cells of a case."""
        return cast(
            "list[MeasuredCell]", self._once(("cells", case), lambda: [cell for cell, _ in self.rows().of_case(case)])
        )

    def read_cases(self, cases: Sequence[str]) -> None:
        """Read the cells of those cases at once that are not kept: a question for each takes five times as long."""
        new = [case for case in cases if ("cells", case) not in self._kept]
        for begin in range(0, len(new), _TOGETHER):
            found: dict[str, list[MeasuredCell]] = {case: [] for case in new[begin : begin + _TOGETHER]}
            for cell in self.rows().cells(case=found):
                found[cell.case].append(cell)
            self._kept |= {("cells", case): cells for case, cells in found.items()}

    def sources(self, case: str) -> tuple[SourceState, ...]:
        """The sources of a case with what became of them upstream."""
        if "all sources" in self._kept:
            return self.all_sources().get(case, ())
        found = self._once(("sources", case), lambda: upstream(self, {case}))
        return cast("dict[str, tuple[SourceState, ...]]", found).get(case, ())

    def all_sources(self) -> dict[str, tuple[SourceState, ...]]:
        """By case: its sources with what became of them; read in one pass."""
        return cast("dict[str, tuple[SourceState, ...]]", self._once("all sources", lambda: upstream(self)))

    def graph(self, bundle: str | None) -> Graph | None:
        """The exported graph of a bundle, where it is kept and small enough to draw."""
        try:
            local = self.folder("local")
            return cast("Graph | None", self._once(("graph", bundle), lambda: graphs.find(self, local, bundle)))
        except StoreError as error:
            self._problems.append(str(error))
            return None

    def graph_here(self, bundle: str) -> Graph | None:
        """The same, of the bundles on this machine alone."""
        local = self.folder("local")
        return self.graph(bundle) if local is not None and graphs.file_of(local, bundle).is_file() else None

    def answer(self, question: Callable[..., _Answer], *asked: Any) -> _Answer:
        """``question(self, *asked)``, kept; ``asked`` must be hashable."""
        return cast("_Answer", self._once((question, asked), lambda: question(self, *asked)))

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is kept, or is made and kept now; what nobody has asked for longest goes first."""
        try:
            self._kept.move_to_end(key)
            return self._kept[key]
        except KeyError:  # new, or another thread has let it go
            found = self._kept.setdefault(key, make())
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found
