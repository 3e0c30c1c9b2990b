"""Every operator of torch's own database, as far as it can be a module: the table beside this file says which calls."""

from pathlib import Path

from caniexport.model.made_cases import make_cases, read_entries
from caniexport.worker import distinct, operators, opinfo
from caniexport.worker.codehash import module_hash

_ENTRIES = read_entries(Path(__file__).with_name("op_db.jsonl"))
_DATABASE = (__name__, "op-", "torch's database of operators", opinfo.entries)

globals().update(
    make_cases(
        [entry for entry in _ENTRIES if entry.name not in distinct.NAMES],
        operators.call,
        module_hash("opinfo", "operators"),
        *_DATABASE,
    )
)
globals().update(
    make_cases(
        [entry for entry in _ENTRIES if entry.name in distinct.NAMES],
        distinct.call,
        module_hash("opinfo", "operators", "distinct"),
        *_DATABASE,
    )
)
