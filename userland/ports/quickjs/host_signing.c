// Signatures, and RSA as a cipher, for node's crypto.
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/dsa.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"

// How a signature is made, as the script says it.
struct manner {
  const EVP_MD *digest;
  int is_digest;  // the data are the digest already
  int padding;    // 0: the usual one of the key
  int has_salt;
  int salt;
  int halves;     // both numbers side by side (IEEE P1363) instead of DER
};

// The arguments from `digest or null, 1 for a digest, padding, salt or null, 1 for halves`.
static int manner_of(JSContext *ctx, JSValueConst *argv, struct manner *manner)
{
  *manner = (struct manner){ 0 };
  if (JS_ToInt32(ctx, &manner->is_digest, argv[1]) || JS_ToInt32(ctx, &manner->padding, argv[2]) || JS_ToInt32(ctx, &manner->halves, argv[4])) return -1;
  manner->has_salt = !JS_IsNull(argv[3]);
  if (manner->has_salt && JS_ToInt32(ctx, &manner->salt, argv[3])) return -1;
  if (JS_IsNull(argv[0])) return 0;
  manner->digest = digest_named(ctx, argv[0]);
  if (manner->digest) return 0;
  if (!JS_HasException(ctx)) throw_coded(ctx, "Error", "ERR_CRYPTO_INVALID_DIGEST", "Invalid digest");
  return -1;
}

static int set_rsa(EVP_PKEY *key, EVP_PKEY_CTX *work, const struct manner *manner)
{
  const int id = EVP_PKEY_get_base_id(key);
  if (id != EVP_PKEY_RSA && id != EVP_PKEY_RSA_PSS) return 1;
  const int padding = manner->padding ? manner->padding : id == EVP_PKEY_RSA_PSS ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING;
  if (EVP_PKEY_CTX_set_rsa_padding(work, padding) <= 0) return 0;
  return padding != RSA_PKCS1_PSS_PADDING || !manner->has_salt || EVP_PKEY_CTX_set_rsa_pss_saltlen(work, manner->salt) > 0;
}

static int is_edwards(const EVP_PKEY *key)
{
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 || EVP_PKEY_get_base_id(key) == EVP_PKEY_ED448;
}

// How many bytes each of the two numbers of a signature has; 0 for keys that sign otherwise.
static int half_of(EVP_PKEY *key)
{
  BIGNUM *q = NULL;
  int size = 0;
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) size = (EVP_PKEY_get_bits(key) + 7) / 8;
  else if (EVP_PKEY_get_base_id(key) == EVP_PKEY_DSA && EVP_PKEY_get_bn_param(key, "q", &q)) size = BN_num_bytes(q);
  BN_free(q);
  return size;
}

// DER of a signature as its two numbers, in `out` of twice `half` bytes.
static int halves_of(const uint8_t *der, size_t size, int half, uint8_t *out)
{
  ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)size);
  const BIGNUM *r = NULL, *s = NULL;
  if (signature) ECDSA_SIG_get0(signature, &r, &s);
  const int done = r && s && BN_bn2binpad(r, out, half) == half && BN_bn2binpad(s, out + half, half) == half;
  ECDSA_SIG_free(signature);
  return done;
}

// And back. The bytes are OpenSSL's.
static uint8_t *der_of_halves(const struct bytes *halves, int half, size_t *size)
{
  ECDSA_SIG *signature = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(halves->data, half, NULL), *s = BN_bin2bn(halves->data + half, half, NULL);
  uint8_t *der = NULL;
  int written = -1;
  if (signature && r && s && ECDSA_SIG_set0(signature, r, s)) {
    r = s = NULL;  // The signature's now.
    written = i2d_ECDSA_SIG(signature, &der);
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(signature);
  *size = written > 0 ? (size_t)written : 0;
  return written > 0 ? der : NULL;
}

// The signature, which is malloc's; NULL on failure.
static uint8_t *sign_digest(EVP_PKEY *key, const struct manner *manner, const struct bytes *data, size_t *size)
{
  EVP_PKEY_CTX *work = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  uint8_t *out = NULL;
  *size = (size_t)EVP_PKEY_get_size(key);
  if (work && EVP_PKEY_sign_init(work) > 0 && set_rsa(key, work, manner) && EVP_PKEY_CTX_set_signature_md(work, manner->digest) > 0 && (out = malloc(*size + 1)) &&
      EVP_PKEY_sign(work, out, size, data->data, data->size) <= 0) {
    free(out);
    out = NULL;
  }
  EVP_PKEY_CTX_free(work);
  return out;
}

static uint8_t *sign_data(EVP_PKEY *key, const struct manner *manner, const struct bytes *data, size_t *size)
{
  EVP_MD_CTX *work = EVP_MD_CTX_new();
  EVP_PKEY_CTX *inner = NULL;
  uint8_t *out = NULL;
  *size = (size_t)EVP_PKEY_get_size(key);
  if (work && EVP_DigestSignInit(work, &inner, manner->digest, NULL, key) > 0 && set_rsa(key, inner, manner) && (out = malloc(*size + 1)) &&
      EVP_DigestSign(work, out, size, data->data, data->size) <= 0) {
    free(out);
    out = NULL;
  }
  EVP_MD_CTX_free(work);
  return out;
}

// keySign(key, data, digest or null, 1 for a digest, padding, salt or null, 1 for halves) -> the signature
static JSValue key_sign(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct manner manner;
  struct bytes data;
  EVP_PKEY *key = key_of(ctx, argv[0]);
  if (!key || manner_of(ctx, argv + 2, &manner) || bytes_from(ctx, argv[1], &data)) return JS_EXCEPTION;
  if (manner.is_digest && is_edwards(key)) return throw_coded(ctx, "Error", "ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported crypto operation");
  size_t size = 0;
  uint8_t *signature = manner.is_digest ? sign_digest(key, &manner, &data, &size) : sign_data(key, &manner, &data, &size);
  if (!signature) return throw_openssl(ctx, "PEM_read_bio_PrivateKey failed");
  const int half = manner.halves ? half_of(key) : 0;
  if (!half) return bytes_of(ctx, signature, size);
  uint8_t *out = malloc(2 * (size_t)half);
  const int done = out && halves_of(signature, size, half, out);
  free(signature);
  if (done) return bytes_of(ctx, out, 2 * (size_t)half);
  free(out);
  return throw_coded(ctx, "Error", "ERR_CRYPTO_OPERATION_FAILED", "Malformed signature");
}

// 1, 0, or -1 where it could not be looked at.
static int verify_with(EVP_PKEY *key, const struct manner *manner, const struct bytes *data, const struct bytes *signature)
{
  int status = -1;
  if (manner->is_digest) {
    EVP_PKEY_CTX *work = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    if (work && EVP_PKEY_verify_init(work) > 0 && set_rsa(key, work, manner) && EVP_PKEY_CTX_set_signature_md(work, manner->digest) > 0)
      status = EVP_PKEY_verify(work, signature->data, signature->size, data->data, data->size) == 1;
    EVP_PKEY_CTX_free(work);
    return status;
  }
  EVP_MD_CTX *work = EVP_MD_CTX_new();
  EVP_PKEY_CTX *inner = NULL;
  if (work && EVP_DigestVerifyInit(work, &inner, manner->digest, NULL, key) > 0 && set_rsa(key, inner, manner))
    status = EVP_DigestVerify(work, signature->data, signature->size, data->data, data->size) == 1;
  EVP_MD_CTX_free(work);
  return status;
}

// keyVerify(key, data, digest or null, 1 for a digest, padding, salt or null, 1 for halves, signature) -> whether it is one of them
static JSValue key_verify(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct manner manner;
  struct bytes data, signature;
  EVP_PKEY *key = key_of(ctx, argv[0]);
  if (!key || manner_of(ctx, argv + 2, &manner) || bytes_from(ctx, argv[1], &data) || bytes_from(ctx, argv[7], &signature)) return JS_EXCEPTION;
  if (manner.is_digest && is_edwards(key)) return throw_coded(ctx, "Error", "ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported crypto operation");
  const int half = manner.halves ? half_of(key) : 0;
  uint8_t *der = NULL;
  if (half && signature.size == 2 * (size_t)half) {
    der = der_of_halves(&signature, half, &signature.size);
    if (!der) return throw_openssl(ctx, "Malformed signature");
    signature.data = der;
  } else if (half) {
    return JS_FALSE;
  }
  const int status = verify_with(key, &manner, &data, &signature);
  OPENSSL_free(der);
  if (status < 0) return throw_openssl(ctx, "PEM_read_bio_PUBKEY failed");
  ERR_clear_error();
  return JS_NewBool(ctx, status);
}

// --- RSA as a cipher ---

enum operation { ENCRYPT, DECRYPT, SIGN, RECOVER };

static int prepare(EVP_PKEY_CTX *work, enum operation operation)
{
  switch (operation) {
  case ENCRYPT: return EVP_PKEY_encrypt_init(work);
  case DECRYPT: return EVP_PKEY_decrypt_init(work);
  case SIGN: return EVP_PKEY_sign_init(work);
  case RECOVER: return EVP_PKEY_verify_recover_init(work);
  }
  return 0;
}

static int perform(EVP_PKEY_CTX *work, enum operation operation, uint8_t *out, size_t *size, const struct bytes *data)
{
  switch (operation) {
  case ENCRYPT: return EVP_PKEY_encrypt(work, out, size, data->data, data->size);
  case DECRYPT: return EVP_PKEY_decrypt(work, out, size, data->data, data->size);
  case SIGN: return EVP_PKEY_sign(work, out, size, data->data, data->size);
  case RECOVER: return EVP_PKEY_verify_recover(work, out, size, data->data, data->size);
  }
  return 0;
}

static int set_oaep(EVP_PKEY_CTX *work, const EVP_MD *digest, const struct bytes *label)
{
  if (digest && EVP_PKEY_CTX_set_rsa_oaep_md(work, digest) <= 0) return 0;
  if (!label->data || !label->size) return 1;
  uint8_t *copy = OPENSSL_memdup(label->data, label->size);
  if (copy && EVP_PKEY_CTX_set0_rsa_oaep_label(work, copy, (int)label->size) > 0) return 1;
  OPENSSL_free(copy);
  return 0;
}

// keyCrypt(operation, key, data, padding, digest of OAEP or null, label of OAEP or null) -> bytes
static JSValue key_crypt(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int operation, padding;
  struct bytes data, label;
  const EVP_MD *digest = NULL;
  EVP_PKEY *key = key_of(ctx, argv[1]);
  if (!key || JS_ToInt32(ctx, &operation, argv[0]) || JS_ToInt32(ctx, &padding, argv[3])) return JS_EXCEPTION;
  if (!JS_IsNull(argv[4]) && !(digest = digest_named(ctx, argv[4])))
    return JS_HasException(ctx) ? JS_EXCEPTION : throw_coded(ctx, "Error", "ERR_OSSL_EVP_INVALID_DIGEST", "Invalid digest used");
  if (bytes_from(ctx, argv[2], &data) || optional_bytes_from(ctx, argv[5], &label)) return JS_EXCEPTION;
  if (operation < ENCRYPT || operation > RECOVER || (operation <= DECRYPT && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA_PSS)) {
    ERR_raise(ERR_LIB_EVP, EVP_R_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE);
    return throw_openssl(ctx, "");
  }
  EVP_PKEY_CTX *work = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  uint8_t *out = NULL;
  size_t size = 0;
  int done = work && prepare(work, operation) > 0 && EVP_PKEY_CTX_set_rsa_padding(work, padding) > 0 &&
             (padding != RSA_PKCS1_OAEP_PADDING || set_oaep(work, digest, &label)) && perform(work, operation, NULL, &size, &data) > 0;
  if (done) done = (out = malloc(size + 1)) && perform(work, operation, out, &size, &data) > 0;
  EVP_PKEY_CTX_free(work);
  if (done) return bytes_of(ctx, out, size);
  free(out);
  return throw_openssl(ctx, "Operation failed");
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("keySign", 7, key_sign),
  JS_CFUNC_DEF("keyVerify", 8, key_verify),
  JS_CFUNC_DEF("keyCrypt", 6, key_crypt),
};

void add_signing_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
