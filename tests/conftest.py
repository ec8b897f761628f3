"""One thread per test process: several that share the cores would wait for each other."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
# A virtual machine may list matrix instructions that it does not let run; oneDNN then fails in bfloat16.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
