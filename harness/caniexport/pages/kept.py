"""The dataset as pages read it: each answer once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

from caniexport.answers.inventory import Inventory
from caniexport.answers.upstream import SourceState, upstream
from caniexport.model.errors import StoreError
from caniexport.store import graphs
from caniexport.store.dataset import Dataset
from caniexport.store.onnx_graph import Graph

_Answer = TypeVar("_Answer")
#: answers kept at once; they are much smaller than the cells
_MOST_KEPT = 2000


class Kept(Dataset):
    """A dataset that keeps the answers about it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def of(self, profile: str) -> Kept:
        """The dataset of another profile, kept as well."""
        return cast("Kept", super().of(profile))

    @property
    def inventory(self) -> Inventory:
        """What the dataset has."""
        return Inventory.of(self)

    def environment_records(self) -> list[dict[str, Any]]:
        """One row per environment and run, as plain values."""
        read = super().environment_records
        return cast("list[dict[str, Any]]", self._once("environment records", read))

    def sources(self, case: str) -> tuple[SourceState, ...]:
        """The sources of a case with what became of them upstream."""
        return self.answer(upstream, frozenset({case})).get(case, ())

    def graph(self, bundle: str | None) -> Graph | None:
        """The exported graph of a bundle, where it is kept and small enough to draw."""
        try:
            return self.answer(graphs.find_graph, self.folder("local"), bundle)
        except StoreError as error:
            self._problems.append(str(error))
            return None

    def graph_here(self, bundle: str) -> Graph | None:
        """The same, of the bundles on this machine alone."""
        local = self.folder("local")
        return self.graph(bundle) if local is not None and graphs.locate_bundle(local, bundle).is_file() else None

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
