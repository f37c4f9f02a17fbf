# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of many machines, as far as it is the same whoever runs those: `cloche.ray` is who.

A *cell* is a `cloche serve` of a node, with all of that node's sandboxes. `host` keeps one alive where it
runs; `cell` is what other processes have of it; `sandbox` and `pool` are what is shown.
"""
