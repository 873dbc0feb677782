"""``python3 -m tidetables``."""

import sys

from tidetables.cli import main

sys.exit(main(sys.argv[1:]))
