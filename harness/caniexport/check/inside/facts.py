"""Facts of an exported file that its row lacks: missing inputs, and wrong values if made inputs stop the runtime.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

#: largest file, in bytes, that is loaded again
_SMALL = 1 << 28
#: seconds for running made inputs
_MOST_SECONDS = 1.0
_Inputs = Tuple[Any, ...]
_Tolerance = Tuple[Optional[float], Optional[float]]


def file_facts(
    model: Any,
    names: Sequence[str],
    sets: Sequence[_Inputs],
    given: int,
    outputs: Callable[[_Inputs], List[Any]],
    tolerance: _Tolerance,
) -> Dict[str, Any]:
    """Return the facts; ``outputs`` runs the module in eager, ``given`` is the number of the user's own sets.

    ``ignores``: the arguments that the file lacks. ``wrong``: the differences on other sets if a made set stops the
    runtime. ``twice``: names that are both an input and the output of a node.
    """
    found: Dict[str, Any] = {"ignores": list(_find_ignored(model, names, sets[0]))}
    outputs_of_nodes = {name for node in model.graph.node for name in node.output}
    found["twice"] = sorted({item.name for item in model.graph.input} & outputs_of_nodes & set(names))
    if given < len(sets) and model.ByteSize() < _SMALL:
        with suppress(Exception):  # the cell reports the error
            found["wrong"] = _find_wrong_values(model, names, sets, given, outputs, tolerance)
    return {name: fact for name, fact in found.items() if fact}


def _find_ignored(model: Any, names: Sequence[str], first: _Inputs) -> Iterator[str]:
    """Yield each array argument that the file does not use."""
    taken = {item.name for item in model.graph.input} - {item.name for item in model.graph.initializer}
    if taken <= set(names):
        used = {item.name for item in model.graph.output} | set(_names_taken(model.graph))
        yield from (name for name, item in zip(names, first) if hasattr(item, "dtype") and name not in taken & used)


def _names_taken(graph: Any) -> Iterator[str]:
    """Yield the input names of a graph's nodes, nested graphs included."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                yield from _names_taken(inner)
                yield from (item.name for item in inner.output)


def _find_wrong_values(
    model: Any,
    names: Sequence[str],
    sets: Sequence[_Inputs],
    given: int,
    outputs: Callable[[_Inputs], List[Any]],
    tolerance: _Tolerance,
) -> str:
    """Return the differences on sets that run, if a made set stops the runtime; else empty."""
    from caniexport.model import runtimes
    from caniexport.worker import onnx_file
    from caniexport.worker.compare import compare
    from caniexport.worker.subject import arrays_in_order

    def by_name(arrays: _Inputs) -> Dict[str, Any]:
        return {name: item for name, item in zip(names, arrays) if hasattr(item, "dtype")}

    session = runtimes.load(onnx_file.normalize(model), "cpu", {})
    # as for a cell: inputs are matched by the exported set
    sources = runtimes.choose_sources(onnx_file.find_inputs(model), by_name(sets[0]), arrays_in_order(sets[0]))
    runs, is_stopped, began = [], False, time.perf_counter()
    for number, inputs in enumerate(sets):
        if number >= given and time.perf_counter() - began > _MOST_SECONDS:
            break
        try:
            found = session.run(runtimes.make_feeds(sources, by_name(inputs), arrays_in_order(inputs)))
        except Exception:
            if number < given:
                return ""  # the cell reports it
            is_stopped = True
            continue
        runs.append((number, inputs, found))
    if not is_stopped:
        return ""  # the cell has compared them
    steps = onnx_file.find_quanta(model)
    lines: List[str] = []
    for number, inputs, found in runs:
        problem = compare(outputs(inputs), found, *tolerance, "onnxruntime", quanta=steps).problem
        lines += ["input set {}, {}".format(number, line) for line in problem.split("\n") if line]
    return "\n".join(lines)
