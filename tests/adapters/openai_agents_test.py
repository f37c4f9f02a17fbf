# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.openai_agents` with the OpenAI Agents SDK's own agent."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "openai-agents==0.24.0"
KEY = "e2b_0123456789"


class OpenAiAgents(unittest.TestCase):
    def test_its_agent_and_its_sessions(self):
        python = python_with(VERSIONS, since=(3, 10))
        run_program(python, "openai_agents_program.py")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "openai_agents_program.py", SERVER_URL=server.url, SERVER_TOKEN="secret")

    def test_its_provider_for_e2b(self):
        python = python_with(VERSIONS + " e2b==2.63.0", since=(3, 10))
        with Server("serve", "--token", KEY) as server:
            run_program(python, "openai_agents_e2b_program.py", E2B_API_KEY=KEY, E2B_API_URL=server.url,
                        E2B_SANDBOX_URL=server.url)


if __name__ == "__main__":
    unittest.main()
