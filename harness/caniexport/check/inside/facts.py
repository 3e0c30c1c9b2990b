"""Facts of an exported file that its row lacks: missing inputs, and wrong values if made inputs stop the runtime.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from caniexport.check.inside.inputs import is_different

#: largest file, in bytes, that is loaded again
_SMALL = 1 << 28
#: seconds for running made inputs
_MOST_SECONDS = 1.0
#: sets of inputs that are tried for one argument
_MOST_TAKEN = 4
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

    ``ignores``: the arguments that the file lacks, each with the number of a set whose value changes the eager outputs
    (or ``None``). ``wrong``: the differences on other sets if a made set stops the runtime. ``twice``: names that are
    both an input and the output of a node.
    """
    found: Dict[str, Any] = {}
    try:
        ignored = {
            name: _find_needed_set(position, sets, outputs) for position, name in _find_ignored(model, names, sets[0])
        }
        found.update({"ignores": ignored} if ignored else {})
        outputs_of_nodes = {name for node in model.graph.node for name in node.output}
        twice = sorted({item.name for item in model.graph.input} & outputs_of_nodes & set(names))
        found.update({"twice": twice} if twice else {})
        if given < len(sets) and model.ByteSize() < _SMALL:
            wrong = _find_wrong_values(model, names, sets, given, outputs, tolerance)
            found.update({"wrong": wrong} if wrong else {})
    except Exception:  # the cell reports the error
        pass
    return found


def _find_ignored(model: Any, names: Sequence[str], first: _Inputs) -> Iterator[Tuple[int, str]]:
    """Yield position and name of each array argument that the file does not use."""
    taken = {item.name for item in model.graph.input} - {item.name for item in model.graph.initializer}
    if not taken <= set(names):
        return
    used = {item.name for item in model.graph.output} | set(_names_taken(model.graph))
    for position, (name, item) in enumerate(zip(names, first)):
        if hasattr(item, "dtype") and not (name in taken and name in used):
            yield position, name


def _names_taken(graph: Any) -> Iterator[str]:
    """Yield the input names of a graph's nodes, nested graphs included."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                yield from _names_taken(inner)
                yield from (item.name for item in inner.output)


def _find_needed_set(position: int, sets: Sequence[_Inputs], outputs: Callable[[_Inputs], List[Any]]) -> Optional[int]:
    """Return the number of a set whose value of one argument changes the eager outputs of the first set."""
    import numpy as np

    first = sets[0]
    tried = 0
    for number, other in enumerate(sets):
        one, two = first[position], other[position]
        if np.shape(one) != np.shape(two) or np.array_equal(one, two):
            continue
        tried += 1
        if tried > _MOST_TAKEN:
            return None
        expected, found = outputs(first), outputs((*first[:position], two, *first[position + 1 :]))
        if is_different(tuple(expected), tuple(found)):
            return number
    return None


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

    steps = onnx_file.find_quanta(model)
    session = runtimes.load(onnx_file.normalize(model), "cpu", {})
    runs, is_stopped, began = [], False, time.perf_counter()
    for number, inputs in enumerate(sets):
        if number >= given and time.perf_counter() - began > _MOST_SECONDS:
            break
        first, named = (
            {name: item for name, item in zip(names, arrays) if hasattr(item, "dtype")} for arrays in (sets[0], inputs)
        )
        try:
            # as for a cell: inputs are matched by the exported set
            chosen = runtimes.choose_sources(onnx_file.find_inputs(model), first, arrays_in_order(sets[0]))
            found = session.run(runtimes.make_feeds(chosen, named, arrays_in_order(inputs)))
        except Exception:
            if number < given:
                return ""  # the cell reports it
            is_stopped = True
            continue
        runs.append((number, inputs, found))
    if not is_stopped:
        return ""  # the cell has compared them
    problems = (
        (number, compare(outputs(inputs), found, *tolerance, "onnxruntime", quanta=steps))
        for number, inputs, found in runs
    )
    lines = [(number, line) for number, difference in problems for line in difference.problem.split("\n") if line]
    return "\n".join("input set {}, {}".format(*line) for line in lines)
