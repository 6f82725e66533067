"""Build the optional kernel: installation goes on without it where no C++ compiler is found."""

import runpy
from pathlib import Path

from setuptools import Extension, setup

MODEL = Path("src/headwise/model")
kernel = runpy.run_path(str(Path(__file__).parent / MODEL / "kernel_sources.py"))

setup(
    ext_modules=[
        Extension(
            f"headwise.model.{library.name}",
            sources=[str(MODEL / library.source)],
            depends=[str(MODEL / name) for name in (*library.headers, "kernel_sources.py")],
            define_macros=[(kernel["MACRO"], f'"{kernel["sources_hash"](Path(__file__).parent / MODEL, library)}"')],
            language="c++",
            extra_compile_args=list(kernel["FLAGS"]),
            optional=True,
        )
        for library in kernel["LIBRARIES"]
    ]
)
