# SPDX-License-Identifier: Apache-2.0
"""What those who keep objects of Kubernetes and those who ask them for some agree on."""
import time

STRATEGIC = "application/strategic-merge-patch+json"  # lists such as conditions by their keys


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status} {message}")
        self.status = status


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
