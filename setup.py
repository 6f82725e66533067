"""Build the optional kernel, without which installation goes on where no C++ compiler is found, and adapt the README.

The kernel uses no symbols of Python, so a wheel with it fits every Python on its platform (`py3-none-<platform>`). A
wheel that was built without a compiler says so: `py3-none-any`.
"""

import runpy
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

MODEL = Path("src/headwise/model")
kernel = runpy.run_path(str(Path(__file__).parent / MODEL / "kernel_sources.py"))
readme = runpy.run_path(str(Path(__file__).parent / "scripts" / "index_readme.py"))
STRIP = {"linux": ["-s"], "darwin": ["-Wl,-x"]}
"""Symbols that only a debugger needs are left out of the library."""


class BuildKernel(build_ext):
    """A plain shared library: no initialiser of Python's, and no version of Python in its name."""

    def get_ext_filename(self, name):
        return str(Path(*name.split("."))) + (".pyd" if sys.platform == "win32" else ".so")

    def get_export_symbols(self, extension):
        return extension.export_symbols

    def run(self):
        if self.inplace:
            for stale in MODEL.glob("_*.so"):
                stale.unlink()
        super().run()


class KernelWheel(bdist_wheel):
    """The tag follows from whether there is a kernel."""

    def run(self):
        self.run_command("build_ext")
        build = self.get_finalized_command("build_ext")
        if not all(Path(build.get_ext_fullpath(one.name)).exists() for one in self.distribution.ext_modules):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()

    def get_tag(self):
        return ("py3", "none", "any" if self.root_is_pure else super().get_tag()[2])


setup(
    long_description=readme["long_description"](),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": BuildKernel, "bdist_wheel": KernelWheel},
    ext_modules=[
        Extension(
            "headwise.model._kernel",
            sources=[str(MODEL / kernel["SOURCE"])],
            depends=[str(MODEL / name) for name in (*kernel["HEADERS"], "kernel_sources.py")],
            define_macros=[(kernel["MACRO"], f'"{kernel["sources_hash"](Path(__file__).parent / MODEL)}"')],
            language="c++",
            extra_compile_args=list(kernel["FLAGS"]),
            extra_link_args=STRIP.get(sys.platform, []),
            optional=True,
        )
    ],
)
