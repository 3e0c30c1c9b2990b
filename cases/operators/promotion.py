"""Binary operators with a Python number on either side of a tensor, and with tensors of two dtypes."""

from caniexport.model.made_cases import DatabaseEntry, make_cases
from caniexport.worker import promotion
from caniexport.worker.codehash import module_hash

#: the releases whose database is measured too
_SINCE, _UNTIL = "1.9", "99"

globals().update(
    make_cases(
        [DatabaseEntry(name, _SINCE, _UNTIL, "", promotion.calls(name)) for name in promotion.NAMES],
        promotion.call,
        module_hash("opinfo", "operators", "promotion"),
        __name__,
        "promotion-",
        "type promotion",
    )
)
