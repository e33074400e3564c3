"""``python -m parge`` is the command line."""

import contextlib
import sys
from pathlib import Path

import parge

# Python looks for modules in the current folder first. That may be a stranger's: take libraries from where they are
# installed. (A technique of the current folder, if one is typed, is found in the end.)
with contextlib.suppress(OSError):
    here = Path.cwd()
    if sys.path[:1] == [str(here)] and not sys.flags.safe_path and Path(parge.__file__).parents[1] != here:
        del sys.path[0]

from parge.cli import main

main()
