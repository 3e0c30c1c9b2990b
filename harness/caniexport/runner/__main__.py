"""``python -m caniexport.runner ARCHIVE``, where the code is not taken from the archive itself."""

from __future__ import annotations

import sys

from caniexport.runner.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
