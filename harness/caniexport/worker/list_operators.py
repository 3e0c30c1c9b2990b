"""The operators of the installed torch as a JSON file: which calls of its database can be measured, and why not others.

``python -m caniexport.worker.list_operators --out FILE`` inside the environment of a release. Every entry is looked at
in a process of its own: one that ends its process is an entry that cannot be measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from caniexport.model.status import Status
from caniexport.worker import distinct, operators, opinfo
from caniexport.worker.envinfo import strip_local_part
from caniexport.worker.isolate import Limits, Report, run_in_child

#: dtypes of which every sample is measured; of others the plainest
_WHOLE = ("float32", "int64")
_LIMITS = Limits(memory_mb=0, start_seconds=120.0)
#: what they give is whatever lay in memory
_UNINITIALISED = "empty"


def main() -> int:
    """List the operators of this environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    path = Path(parser.parse_args().out)
    import torch

    torch.set_num_threads(1)
    names = list(opinfo.entries())
    # forks write into no page that the collector would touch
    gc.collect()
    gc.freeze()
    found = {name: _list_entry_in_child(name) for name in names}
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = {"torch": strip_local_part(torch.__version__), "operators": found}
    path.write_text(json.dumps(listed, indent=0, sort_keys=True), encoding="utf-8")
    return 0


def list_entry(name: str) -> Dict[str, Any]:
    """What there is of an entry, as :class:`caniexport.model.made_cases.DatabaseEntry` has it."""
    entry = opinfo.entries()[name]
    dtypes = opinfo.declared(entry)
    calls: Dict[str, List[str]] = {}
    arguments: Dict[str, str] = {}
    left_out: Dict[str, str] = {}
    for dtype in dtypes:
        for which, form, text, reason in _list_calls(name, dtype, dtype == dtypes[0]):
            if reason:
                left_out.setdefault(dtype, reason)
            else:
                calls.setdefault(dtype, []).append("-".join(filter(None, (which, form))))
                arguments.setdefault(which, text)
    if not dtypes:
        left_out[""] = "it declares none of the dtypes that are measured"
    return {
        "aten": str(getattr(entry, "aten_name", None) or ""),
        "calls": calls,
        "arguments": arguments,
        "random": [which for which in calls.get("".join(dtypes[:1]), ()) if _is_random(name, dtypes[0], which)],
        "left_out": {dtype: why for dtype, why in left_out.items() if dtype not in calls},
    }


def _list_calls(name: str, dtype: str, is_first: bool) -> Iterator[Tuple[str, str, str, str]]:
    """Sample, form, arguments and why not of each call of an entry in a dtype that is to be measured."""
    try:
        found = opinfo.samples(name, dtype)
    except Exception as error:  # some samples are made for a GPU
        yield "", "", "", "torch makes no samples of it here: {}".format(_format_error(error))
        return
    if not found:
        yield "", "", "", "it has no sample with a tensor"
    for which, (sample, _) in found.items():
        if which == opinfo.SAMPLES[0] or is_first or dtype in _WHOLE:
            for form in ("", *operators.FORMS) if is_first and which == opinfo.SAMPLES[0] else ("",):
                reason = _find_obstacle(name, dtype, which, form)
                if not (form and reason):
                    yield which, form, sample.text(), reason


def _find_obstacle(name: str, dtype: str, which: str, form: str) -> str:
    """Why a call cannot be measured; empty where it can: its forward gives something for both input sets."""
    import torch

    try:
        call = (distinct if name in distinct.NAMES else operators).call(name, dtype, which, form)
        with torch.no_grad():
            for inputs in call.inputs:
                call.forward(None, *[torch.from_numpy(item.copy()) for item in inputs])
    except operators.NoModule as error:
        return str(error)
    except Exception as error:
        return "it cannot be called as a module: {}".format(_format_error(error))
    return ""


def _is_random(name: str, dtype: str, which: str) -> bool:
    """Whether a sample gives other values every time."""
    if which not in opinfo.SAMPLES:
        return False  # a form of a sample
    sample = opinfo.samples(name, dtype)[which][0]
    return _UNINITIALISED in name or operators.is_random(opinfo.entries()[name].op, sample)


def _format_error(error: BaseException) -> str:
    return "{}: {}".format(type(error).__name__, (str(error).strip().split("\n") or [""])[0][:120])


def _list_entry_in_child(name: str) -> Dict[str, Any]:
    """:func:`list_entry` in a process of its own: one that an entry ends is one that cannot be measured."""

    def work(report: Report) -> None:
        warnings.simplefilter("ignore")
        report.send(list_entry(name))

    messages, child = run_in_child(work, _LIMITS)
    if messages:
        found: Dict[str, Any] = messages[0]
        return found
    assert child.ending is not None
    how = "late" if child.ending.status is Status.TIMEOUT else "crashed"
    return {
        "aten": "",
        "calls": {},
        "arguments": {},
        "random": [],
        "left_out": {"": "calling it in torch itself ends the process ({})".format(how)},
    }


if __name__ == "__main__":
    sys.exit(main())
