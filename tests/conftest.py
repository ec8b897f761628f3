"""One thread per test process: several that share the cores would wait for each other."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
