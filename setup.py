"""Build the optional kernel: installation goes on without it where no C++ compiler is found."""

import runpy
from pathlib import Path

from setuptools import Extension, setup

MODEL = Path("src/headwise/model")
kernel = runpy.run_path(str(Path(__file__).parent / MODEL / "kernel_sources.py"))

setup(
    ext_modules=[
        Extension(
            "headwise.model._kernel",
            sources=[str(MODEL / kernel["SOURCE"])],
            depends=[str(MODEL / name) for name in (*kernel["HEADERS"], "kernel_sources.py")],
            define_macros=[(kernel["MACRO"], f'"{kernel["sources_hash"](Path(__file__).parent / MODEL)}"')],
            language="c++",
            extra_compile_args=list(kernel["FLAGS"]),
            optional=True,
        )
    ]
)
