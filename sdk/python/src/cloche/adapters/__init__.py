# SPDX-License-Identifier: Apache-2.0
"""Sandboxes for frameworks that bring agents and evaluations: a module for each, which wants that package.

`cloche.adapters.inspect_ai`, `minisweagent`, `swerex`, `deepagents`, `smolagents`,
`google_adk`, `tinker_cookbook`, `openai_agents`, `nemo_gym`.
"""
