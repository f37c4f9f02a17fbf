# packages: cryptography
import datetime
import hashlib
import ipaddress

from cryptography import x509
from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.backends import default_backend
from cryptography.hazmat.primitives import cmac, constant_time, hashes, hmac, keywrap, padding, poly1305, serialization
from cryptography.hazmat.primitives.asymmetric import dh, dsa, ec, ed448, ed25519, padding as rsa_padding, rsa, utils, x448, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.kdf.kbkdf import CounterLocation, KBKDFHMAC, Mode
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.kdf.x963kdf import X963KDF
from cryptography.hazmat.primitives.serialization import pkcs7, pkcs12
from cryptography.hazmat.primitives.twofactor.hotp import HOTP
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

KEY, TEXT = bytes(range(32)), b"The quick brown fox jumps over the lazy dog. " * 3


def short(value):
    return hashlib.sha256(value).hexdigest()[:24]


def refused(what, *arguments, **options):
    try:
        return short(what(*arguments, **options) or b"")
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:90]}"


print(default_backend().openssl_version_text().split()[:2])
for kind in (hashes.MD5(), hashes.SHA1(), hashes.SHA224(), hashes.SHA256(), hashes.SHA384(), hashes.SHA512(), hashes.SHA512_256(), hashes.SHA3_256(),
             hashes.SHA3_512(), hashes.SHAKE128(40), hashes.SHAKE256(70), hashes.BLAKE2b(64), hashes.BLAKE2s(32)):
    digest = hashes.Hash(kind)
    digest.update(TEXT)
    other = digest.copy()
    other.update(b"more")
    print(kind.name, digest.finalize().hex()[:40], other.finalize().hex()[:40])
for kind in (hashes.SHA1(), hashes.SHA256(), hashes.SHA512()):
    mac = hmac.HMAC(KEY, kind)
    mac.update(TEXT)
    again = mac.copy()
    print("HMAC", kind.name, mac.finalize().hex()[:40], refused(again.verify, b"wrong"))
mac = cmac.CMAC(algorithms.AES(KEY))
mac.update(TEXT)
print("CMAC", mac.finalize().hex(), poly1305.Poly1305.generate_tag(KEY, TEXT).hex(), constant_time.bytes_eq(b"a", b"a"), constant_time.bytes_eq(b"a", b"b"))

print("HKDF", HKDF(hashes.SHA256(), 42, b"salt", b"info").derive(KEY).hex(), HKDFExpand(hashes.SHA512(), 70, None).derive(KEY).hex()[:40])
print("PBKDF2", PBKDF2HMAC(hashes.SHA256(), 40, b"salt", 1000).derive(b"password").hex(), refused(PBKDF2HMAC(hashes.SHA1(), 20, b"s", 2).verify, b"p", b"x" * 20))
print("Scrypt", Scrypt(b"NaCl", 64, 1024, 8, 16).derive(b"password").hex()[:40])
print("others", ConcatKDFHash(hashes.SHA256(), 40, b"i").derive(KEY).hex()[:40], X963KDF(hashes.SHA256(), 40, b"i").derive(KEY).hex()[:40],
      KBKDFHMAC(hashes.SHA256(), Mode.CounterMode, 40, 4, 4, CounterLocation.BeforeFixed, b"label", b"context", None).derive(KEY).hex()[:40])
print("otp", HOTP(KEY, 6, hashes.SHA1()).generate(7), TOTP(KEY, 8, hashes.SHA256(), 30).generate(59),
      TOTP(KEY, 8, hashes.SHA256(), 30).get_provisioning_uri("a@b", "c"))

IV = bytes(range(100, 116))
for algorithm, mode in ((algorithms.AES(KEY), modes.CBC(IV)), (algorithms.AES(KEY[:16]), modes.CTR(IV)), (algorithms.AES(KEY[:24]), modes.ECB()), (algorithms.AES(KEY), modes.CFB(IV)),
                        (algorithms.AES(KEY), modes.OFB(IV)), (algorithms.AES(bytes(range(64))), modes.XTS(IV)), (algorithms.ChaCha20(KEY, IV), None),
                        (algorithms.AES(KEY), modes.GCM(IV[:12]))):
    cipher = Cipher(algorithm, mode)
    pad = padding.PKCS7(128).padder()
    padded = pad.update(TEXT) + pad.finalize()
    made = cipher.encryptor()
    cut = 0 if isinstance(mode, modes.XTS) else 50
    coded = made.update(padded[:cut]) + made.update(padded[cut:]) + made.finalize()
    tag = made.tag if isinstance(mode, modes.GCM) else b""
    back = Cipher(algorithm, modes.GCM(IV[:12], tag) if tag else mode).decryptor()
    unpad = padding.PKCS7(128).unpadder()
    plain = back.update(coded) + back.finalize()
    print(algorithm.name, mode and mode.name, short(coded), tag.hex(), unpad.update(plain) + unpad.finalize() == TEXT)
for kind, nonce in ((AESGCM, 12), (ChaCha20Poly1305, 12), (AESCCM, 12), (AESOCB3, 12), (AESGCMSIV, 12)):
    sealed = kind(KEY).encrypt(IV[:nonce], TEXT, b"about")
    print(kind.__name__, short(sealed), kind(KEY).decrypt(IV[:nonce], sealed, b"about") == TEXT, refused(kind(KEY).decrypt, IV[:nonce], sealed, b"other"),
          refused(kind(KEY).decrypt, IV[:nonce], b"short", None), refused(kind, b"key"), len(kind.generate_key(256) if kind is not ChaCha20Poly1305 else kind.generate_key()))
print("AESSIV", short(AESSIV(KEY).encrypt(TEXT, [b"a", b"b"])), "wrap", keywrap.aes_key_wrap(KEY, KEY).hex()[:40], keywrap.aes_key_unwrap(KEY, keywrap.aes_key_wrap(KEY, KEY)) == KEY,
      keywrap.aes_key_wrap_with_padding(KEY, b"odd").hex())
unpad = padding.PKCS7(128).unpadder()
unpad.update(b"x" * 16)
print("padding", refused(unpad.finalize), refused(algorithms.AES, b"k" * 17), refused(Cipher(algorithms.AES(KEY), modes.CBC(IV)).encryptor().finalize))

EC = ec.derive_private_key(int.from_bytes(KEY, "big"), ec.SECP256R1())
for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1(), ec.SECP256K1(), ec.BrainpoolP256R1()):
    key = ec.derive_private_key(int.from_bytes(KEY[:28], "big") + 5, curve)
    public = key.public_key()
    signed = key.sign(TEXT, ec.ECDSA(hashes.SHA256()))
    public.verify(signed, TEXT, ec.ECDSA(hashes.SHA256()))
    r, s = utils.decode_dss_signature(signed)
    other = ec.generate_private_key(curve)
    print(curve.name, utils.encode_dss_signature(r, s) == signed, hex(public.public_numbers().x)[:24],
          short(key.exchange(ec.ECDH(), ec.derive_private_key(77, curve).public_key())),
          other.exchange(ec.ECDH(), public) == key.exchange(ec.ECDH(), other.public_key()), refused(public.verify, signed, b"else", ec.ECDSA(hashes.SHA256())),
          public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint).hex()[:20])
print("ec", refused(ec.EllipticCurvePublicKey.from_encoded_point, ec.SECP256R1(), b"\4" + bytes(64)))
for kind, public_kind in ((ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey), (ed448.Ed448PrivateKey, ed448.Ed448PublicKey)):
    key = kind.from_private_bytes(bytes(range(32 if kind is ed25519.Ed25519PrivateKey else 57)))
    signed = key.sign(TEXT)
    key.public_key().verify(signed, TEXT)
    raw = key.public_key().public_bytes_raw()
    print(kind.__name__, short(signed), raw.hex()[:24], public_kind.from_public_bytes(raw) == key.public_key(), refused(key.public_key().verify, signed, b"else"))
for kind, size in ((x25519.X25519PrivateKey, 32), (x448.X448PrivateKey, 56)):
    one, two = kind.from_private_bytes(bytes(range(size))), kind.from_private_bytes(bytes(range(1, size + 1)))
    print(kind.__name__, short(one.exchange(two.public_key())), one.exchange(two.public_key()) == two.exchange(one.public_key()), len(kind.generate().private_bytes_raw()))

P = int("eaaafbbad6c86fa2d0b07fc215031f6de9f75c4ee63d113bb66f355ba72920aa6746eb66dd7b61e86f14af966ae35b21ad825e4f52b9897f9d1339ded8efd7b6"
        "2be111684ca0ae12b864c3398aa22aceca206c9b91f2f55681e2ce44968cc236e0d5b0e29154ded393206abac17d50fe36300fc8cef2366d3520eaaafd13edf5", 16)
Q = int("c86135ed25afc271173c46c5bfd1e33763b82e91ed3099d8670975777d465d08de3a698f092b69a0fb00054a5a7f9eea5125de9077f35accdfc32aead93e8839"
        "a34270fe941b8e293ae9f233b3ec216ed1385cb41fd2e8be2207b6d0e7475da3a9014ae4489b29fbc7c63942495d8a8a202f3ff1c550aae28636785a96154b8d", 16)
D = rsa.rsa_recover_private_exponent(65537, P, Q)
RSA = rsa.RSAPrivateNumbers(P, Q, D, rsa.rsa_crt_dmp1(D, P), rsa.rsa_crt_dmq1(D, Q), rsa.rsa_crt_iqmp(P, Q), rsa.RSAPublicNumbers(65537, P * Q)).private_key()
PUBLIC = RSA.public_key()
for kind in (hashes.SHA1(), hashes.SHA256(), hashes.SHA512()):
    signed = RSA.sign(TEXT, rsa_padding.PKCS1v15(), kind)
    PUBLIC.verify(signed, TEXT, rsa_padding.PKCS1v15(), kind)
    pss = rsa_padding.PSS(rsa_padding.MGF1(kind), rsa_padding.PSS.MAX_LENGTH)
    PUBLIC.verify(RSA.sign(TEXT, pss, kind), TEXT, pss, kind)
    oaep = rsa_padding.OAEP(rsa_padding.MGF1(kind), kind, None)
    print("RSA", kind.name, short(signed), RSA.decrypt(PUBLIC.encrypt(b"secret", oaep), oaep), RSA.decrypt(PUBLIC.encrypt(b"s", rsa_padding.PKCS1v15()), rsa_padding.PKCS1v15()),
          refused(PUBLIC.verify, signed, b"else", rsa_padding.PKCS1v15(), kind), refused(RSA.decrypt, bytes(256), oaep))
print(RSA.key_size, short(PUBLIC.recover_data_from_signature(signed, rsa_padding.PKCS1v15(), hashes.SHA512())), refused(PUBLIC.encrypt, bytes(300), rsa_padding.PKCS1v15()),
      refused(rsa.generate_private_key, 65537, 512), refused(rsa.generate_private_key, 4, 2048))
new = rsa.generate_private_key(65537, 1024)
print(new.key_size, new.public_key().public_numbers().e, new != rsa.generate_private_key(65537, 1024))

ED = ed25519.Ed25519PrivateKey.from_private_bytes(KEY)
NOTHING = serialization.NoEncryption()
for key in (RSA, EC, ED, x25519.X25519PrivateKey.from_private_bytes(KEY)):
    pkcs8 = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, NOTHING)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    sealed = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word"))
    opened = serialization.load_pem_private_key(sealed, b"word")
    print(type(key).__name__, short(pkcs8), short(public), sealed.splitlines()[0], opened.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, NOTHING) == pkcs8,
          serialization.load_pem_public_key(public) == key.public_key(), refused(serialization.load_pem_private_key, sealed, b"other"), refused(serialization.load_pem_private_key, sealed, None),
          refused(serialization.load_pem_private_key, pkcs8, b"word"))
for key in (RSA, EC, ED):
    ssh = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, NOTHING)
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    print("ssh", short(line), serialization.load_ssh_private_key(ssh, None).public_key() == key.public_key(), serialization.load_ssh_public_key(line) == key.public_key())
print(short(RSA.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, NOTHING)),
      short(EC.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.TraditionalOpenSSL, NOTHING)),
      refused(serialization.load_pem_private_key, b"no key", None), refused(serialization.load_der_public_key, b"\x30\x03\x02\x01\x00"))
PRIME = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F14374"
            "FE1356D6D51C245E485B576625E7EC6F44C42E9A63A3620FFFFFFFFFFFFFFFF", 16)
group = dh.DHParameterNumbers(PRIME, 2).parameters()
one, two = group.generate_private_key(), group.generate_private_key()
print("DH", one.exchange(two.public_key()) == two.exchange(one.public_key()), "DSA", refused(dsa.generate_parameters, 512))

DAY = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
NAME = x509.Name([x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"), x509.NameAttribute(NameOID.COMMON_NAME, "Test, \u00e4 + CA")])
builder = x509.CertificateBuilder().subject_name(NAME).issuer_name(NAME).serial_number(4711).not_valid_before(DAY).not_valid_after(DAY + datetime.timedelta(days=3650))
CA = builder.public_key(PUBLIC).add_extension(x509.BasicConstraints(True, 1), True).add_extension(
    x509.KeyUsage(True, False, False, False, False, True, True, False, False), True).add_extension(
    x509.SubjectKeyIdentifier.from_public_key(PUBLIC), False).sign(RSA, hashes.SHA256())
names = x509.SubjectAlternativeName([x509.DNSName("example.org"), x509.DNSName("*.example.org"), x509.IPAddress(ipaddress.ip_address("10.0.0.1")), x509.RFC822Name("a@b.c"),
                                     x509.UniformResourceIdentifier("https://example.org/x")])
leaf = x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")])).issuer_name(NAME).serial_number(1 << 100).not_valid_before(DAY).not_valid_after(
    DAY + datetime.timedelta(days=90)).public_key(EC.public_key()).add_extension(names, False).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False).add_extension(
    x509.AuthorityKeyIdentifier.from_issuer_public_key(PUBLIC), False).add_extension(x509.BasicConstraints(False, None), True).sign(RSA, hashes.SHA256())
for certificate in (CA, leaf):
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    again = x509.load_pem_x509_certificate(pem)
    print(short(pem), again == certificate, again.fingerprint(hashes.SHA256()).hex()[:24], again.subject.rfc4514_string(), again.serial_number, again.not_valid_after_utc,
          again.signature_algorithm_oid, again.public_key() == certificate.public_key(), [(extension.oid._name, extension.critical) for extension in again.extensions])
print(leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName), refused(leaf.verify_directly_issued_by, CA), refused(CA.verify_directly_issued_by, leaf))
verifier = x509.verification.PolicyBuilder().store(x509.verification.Store([CA])).time(DAY + datetime.timedelta(days=2))
print("chain", [one.serial_number for one in verifier.build_server_verifier(x509.DNSName("www.example.org")).verify(leaf, [])],
      refused(verifier.build_server_verifier(x509.DNSName("example.com")).verify, leaf, []))
request = x509.CertificateSigningRequestBuilder().subject_name(NAME).add_extension(names, False).sign(RSA, hashes.SHA256())
print("request", short(request.public_bytes(serialization.Encoding.DER)), request.is_signature_valid, x509.load_der_x509_csr(request.public_bytes(serialization.Encoding.DER)) == request)
revoked = x509.CertificateRevocationListBuilder().issuer_name(NAME).last_update(DAY).next_update(DAY + datetime.timedelta(days=1)).add_revoked_certificate(
    x509.RevokedCertificateBuilder().serial_number(99).revocation_date(DAY).build()).sign(ED, None)
print("list", short(revoked.public_bytes(serialization.Encoding.DER)), revoked.is_signature_valid(ED.public_key()), [one.serial_number for one in revoked], revoked.get_revoked_certificate_by_serial_number(98))
print(refused(x509.load_pem_x509_certificate, b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"), refused(x509.Name.from_rfc4514_string, "X=1"))

for encryption in (NOTHING, serialization.BestAvailableEncryption(b"word"),
                   serialization.PrivateFormat.PKCS12.encryption_builder().kdf_rounds(1000).key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC).hmac_hash(hashes.SHA1()).build(b"word")):
    packed = pkcs12.serialize_key_and_certificates(b"name", EC, leaf, [CA], encryption)
    key, certificate, more = pkcs12.load_key_and_certificates(packed, None if encryption is NOTHING else b"word")
    print("PKCS12", key.private_numbers() == EC.private_numbers(), certificate == leaf, more == [CA], refused(pkcs12.load_key_and_certificates, packed, b"wrong"))
signed = pkcs7.PKCS7SignatureBuilder().set_data(TEXT).add_signer(CA, RSA, hashes.SHA256()).sign(serialization.Encoding.PEM, [pkcs7.PKCS7Options.NoAttributes])
print("PKCS7", short(signed), pkcs7.load_pem_pkcs7_certificates(signed) == [CA])

fernet = Fernet(b"cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=")
token = b"gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="
print("Fernet", fernet.decrypt(token), fernet.extract_timestamp(token), refused(fernet.decrypt, token, 60), refused(fernet.decrypt, b"bad"), refused(Fernet, b"short"))
both = MultiFernet([Fernet(Fernet.generate_key()), fernet])
print(both.decrypt(token), fernet.decrypt(fernet.encrypt(TEXT)) == TEXT, refused(fernet.decrypt, both.rotate(token)), Fernet.generate_key() != Fernet.generate_key())
print(len({AESGCM.generate_key(256) for _ in range(20)}), len({ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value for _ in range(5)}))
