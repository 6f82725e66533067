"""Build the optional kernel: installation goes on without it where no C++ compiler is found."""

from setuptools import Extension, setup

PARTS = ("vectors", "scores", "values", "attention", "dropped", "loss", "block")

setup(
    ext_modules=[
        Extension(
            "headwise.model._kernel",
            sources=["src/headwise/model/kernel.cpp"],
            depends=[f"src/headwise/model/kernel_{part}.h" for part in PARTS],
            language="c++",
            # No -march: environments are shared between machines, and the kernel picks its instructions when loaded.
            # No -ffast-math: a loss that becomes NaN must be seen.
            extra_compile_args=[
                "-std=c++17",
                "-O3",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-ffp-contract=fast",
                "-Wno-psabi",
            ],
            optional=True,
        )
    ]
)
