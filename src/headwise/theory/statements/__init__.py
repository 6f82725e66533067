"""One file per statement; `headwise.theory.registry` lists them in the order of the paper."""
