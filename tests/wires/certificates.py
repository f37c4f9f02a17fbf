# SPDX-License-Identifier: Apache-2.0
"""Certificates for servers of tests."""
import subprocess
from pathlib import Path


def self_signed(folder, *names):
    """(certificate, key), files in the folder, for servers of these names."""
    certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={names[0]}",
                    "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names), "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key
