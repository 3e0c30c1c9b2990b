"""Every operator of torch's own database, as far as it can be a module: the table beside this file says which calls."""

from pathlib import Path

from caniexport.model.made_cases import make_cases, read_entries
from caniexport.worker import operators
from caniexport.worker.codehash import module_hash

globals().update(
    make_cases(
        read_entries(Path(__file__).with_name("op_db.jsonl")),
        operators.call,
        module_hash("opinfo", "operators"),
        __name__,
        "op-",
        "torch's database of operators",
    )
)
