# SPDX-License-Identifier: Apache-2.0
"""TLS to a server: one whose certificate is vouched for, or that of which the fingerprint is known."""
from __future__ import annotations

import hashlib
import hmac
import socket
import ssl

_PIN = "sha256="


def secure(plain: socket.socket, host: str, fragment: str) -> ssl.SSLSocket:
    """The same connection with TLS. `fragment` is that of the server's URL: with `sha256=HEX` it is the server whose
    certificate that is the digest of, whoever else it says it is; without, one of that name.

    Raises:
        OSError: it is not.
    """
    if not fragment.startswith(_PIN):
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    secured = context.wrap_socket(plain, server_hostname=host)
    certificate = secured.getpeercert(binary_form=True) or b""
    if not hmac.compare_digest(hashlib.sha256(certificate).hexdigest(), fragment[len(_PIN):].lower()):
        secured.close()
        raise ssl.SSLCertVerificationError("the server has another certificate than the one whose fingerprint is known")
    return secured
