"""The same stand-in as maturin.py, for archives that setuptools builds."""
from maturin import prepare_metadata_for_build_wheel

__all__ = ["prepare_metadata_for_build_wheel"]
