# packages: pyjwt cryptography
import base64
import json

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

KEYS = {"RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.derive_private_key(4711, ec.SECP256R1()), "ES384": ec.derive_private_key(4712, ec.SECP384R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))}
KEYS |= {"RS512": KEYS["RS256"], "PS256": KEYS["RS256"]}
CLAIMS = {"sub": "1234", "admin": True, "exp": 4102444800, "aud": "shop"}


def refused(token, key, algorithm, **options):
    try:
        return jwt.decode(token, key, algorithms=[algorithm], **options)
    except jwt.PyJWTError as error:
        return type(error).__name__, str(error)


for algorithm, key in KEYS.items():
    token = jwt.encode(CLAIMS, key, algorithm=algorithm, headers={"kid": "one"})
    public = key.public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head, body, signature = token.split(".")
    other = ".".join([head, base64.urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "5"}).encode()).decode().rstrip("="), signature])
    print(algorithm, jwt.get_unverified_header(token), len(signature), jwt.decode(token, pem, algorithms=[algorithm], audience="shop") == CLAIMS, refused(token, public, algorithm),
          refused(other, public, algorithm, audience="shop"), refused(token, public, "HS256", audience="shop"))
print(jwt.encode(CLAIMS, KEYS["EdDSA"], algorithm="EdDSA"))
print(jwt.encode(CLAIMS, "secret" * 8, algorithm="HS256"))
for algorithm in ("ES256", "EdDSA"):
    known = jwt.PyJWK.from_json(jwt.get_algorithm_by_name(algorithm).to_jwk(KEYS[algorithm].public_key()))
    print(known.key_type, known.algorithm_name, jwt.decode(jwt.encode({"a": 1}, KEYS[algorithm], algorithm), known, algorithms=[algorithm]))
