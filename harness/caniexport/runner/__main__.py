"""``python -m caniexport.runner ARCHIVE``, where the code is not taken from the archive itself."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # numpy's library starts its threads when it is imported

from caniexport.runner.main import main  # behind that

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
