"""What a cell's row does not tell of a file: the inputs that it does not have, and its values beside an error.

A cell ends at the first set of inputs that stops the runtime, also where that is one which nobody gave.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

#: bytes of a file that is loaded once more to see what it gives
_SMALL = 1 << 28
#: seconds for running sets of inputs that nobody gave
_PATIENT = 1.0
#: sets of inputs from which an argument's other values are taken
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
    """``ignores``: the arguments that the file does not have, each with the number of a set whose values of it
    change what eager gives, ``None`` where none of them does. ``wrong``: where a set behind the first ``given`` stops
    the runtime, what is wrong for others, in words; ``outputs`` is the module in eager. ``twice``: arguments by whose
    names the file calls an input and what a node gives, too.
    """
    found: Dict[str, Any] = {}
    try:
        ignored = {name: _telling(place, sets, outputs) for place, name in _ignored(model, names, sets[0])}
        found.update({"ignores": ignored} if ignored else {})
        made = {name for node in model.graph.node for name in node.output}
        twice = sorted({item.name for item in model.graph.input} & made & set(names))
        found.update({"twice": twice} if twice else {})
        if given < len(sets) and model.ByteSize() < _SMALL:
            wrong = _wrong(model, names, sets, given, outputs, tolerance)
            found.update({"wrong": wrong} if wrong else {})
    except Exception:  # the cell goes on, and says what is in the way
        pass
    return found


def _ignored(model: Any, names: Sequence[str], first: _Inputs) -> Iterator[Tuple[int, str]]:
    """The arrays among the arguments that no node of the file takes, where its inputs are named as they are."""
    taken = {item.name for item in model.graph.input} - {item.name for item in model.graph.initializer}
    if not taken <= set(names):
        return
    used = {item.name for item in model.graph.output} | set(_taken_by(model.graph))
    for place, (name, item) in enumerate(zip(names, first)):
        if hasattr(item, "dtype") and not (name in taken and name in used):
            yield place, name


def _taken_by(graph: Any) -> Iterator[str]:
    """The names that the nodes of a graph take, those within branches and loops too."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                yield from _taken_by(inner)
                yield from (item.name for item in inner.output)


def _telling(place: int, sets: Sequence[_Inputs], outputs: Callable[[_Inputs], List[Any]]) -> Optional[int]:
    """The number of a set whose values of one argument change what eager gives for the first."""
    import numpy as np

    first = sets[0]
    tried = 0
    for number, other in enumerate(sets):
        one, two = first[place], other[place]
        if np.shape(one) != np.shape(two) or np.array_equal(one, two):
            continue
        tried += 1
        if tried > _MOST_TAKEN:
            return None
        expected, found = outputs(first), outputs((*first[:place], two, *first[place + 1 :]))
        if len(expected) != len(found) or not all(
            left.shape == right.shape and np.array_equal(left, right) for left, right in zip(expected, found)
        ):
            return number
    return None


def _wrong(
    model: Any,
    names: Sequence[str],
    sets: Sequence[_Inputs],
    given: int,
    outputs: Callable[[_Inputs], List[Any]],
    tolerance: _Tolerance,
) -> str:
    """What is wrong for sets of inputs beside one that stops the runtime, in the words of a cell; empty for nothing."""
    from caniexport.model import runtimes
    from caniexport.worker import onnx_file
    from caniexport.worker.compare import compare
    from caniexport.worker.subject import arrays_in_order

    steps = onnx_file.find_quanta(model)
    session = runtimes.load(onnx_file.normalize(model), "cpu", {})
    told, is_stopped, began = [], False, time.perf_counter()
    for number, inputs in enumerate(sets):
        if number >= given and time.perf_counter() - began > _PATIENT:
            break
        first, named = (
            {name: item for name, item in zip(names, arrays) if hasattr(item, "dtype")} for arrays in (sets[0], inputs)
        )
        try:
            # as for a cell: the exported set says which argument each input is
            chosen = runtimes.choose_sources(onnx_file.find_inputs(model), first, arrays_in_order(sets[0]))
            found = session.run(runtimes.make_feeds(chosen, named, arrays_in_order(inputs)))
        except Exception:
            if number < given:
                return ""  # the cell says so
            is_stopped = True
            continue
        told.append((number, inputs, found))
    if not is_stopped:
        return ""  # the cell compares them
    problems = (
        (number, compare(outputs(inputs), found, *tolerance, "onnxruntime", quanta=steps))
        for number, inputs, found in told
    )
    lines = [(number, line) for number, difference in problems for line in difference.problem.split("\n") if line]
    return "\n".join("input set {}, {}".format(*line) for line in lines)
