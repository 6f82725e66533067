"""`python -m headwise` is the same as `headwise`."""

import sys

from headwise.cli.main import main

sys.exit(main())
