// Keys of pairs for node's crypto: read from and written as PEM and DER, and what they tell of themselves.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"

enum format { PEM, DER };
// As the script counts them.
enum encoding { ENCODING_NONE, ENCODING_PKCS1, ENCODING_SPKI, ENCODING_PKCS8, ENCODING_SEC1 };

static JSClassID key_class;

static void free_key(JSRuntime *runtime, JSValue value)
{
  EVP_PKEY_free(JS_GetOpaque(value, key_class));
}

EVP_PKEY *key_of(JSContext *ctx, JSValueConst value)
{
  return JS_GetOpaque2(ctx, value, key_class);
}

JSValue object_of_key(JSContext *ctx, EVP_PKEY *key)
{
  JSValue object = JS_NewObjectClass(ctx, key_class);
  if (JS_IsException(object)) EVP_PKEY_free(key);
  else JS_SetOpaque(object, key);
  return object;
}

// --- Reading ---

static int give_passphrase(char *buffer, int room, int writes, void *given)
{
  const struct bytes *passphrase = given;
  if (!passphrase->data || passphrase->size > (size_t)room) return -1;
  memcpy(buffer, passphrase->data, passphrase->size);
  return (int)passphrase->size;
}

// Whether DER begins as a private key of PKCS #1 does, which has its version where the public one has its modulus.
static int is_private_rsa(const struct bytes *der)
{
  const uint8_t *at = der->data;
  if (der->size < 2 || at[0] != 0x30) return 0;
  const size_t start = at[1] & 0x80 ? 2 + (size_t)(at[1] & 0x7f) : 2;
  return der->size >= start + 3 && at[start] == 2 && at[start + 1] == 1 && !(at[start + 2] & 0xfe);
}

// Whether DER is a key of PKCS #8 behind a passphrase: a sequence that begins with another instead of a version.
static int is_encrypted(const struct bytes *der)
{
  const uint8_t *at = der->data;
  if (der->size < 2 || at[0] != 0x30) return 0;
  const size_t start = at[1] & 0x80 ? 2 + (size_t)(at[1] & 0x7f) : 2;
  return der->size > start && at[start] == 0x30;
}

static EVP_PKEY *read_private_der(const struct bytes *der, enum encoding encoding, struct bytes *passphrase)
{
  const unsigned char *at = der->data;
  EVP_PKEY *key = NULL;
  if (encoding == ENCODING_PKCS1) return d2i_PrivateKey(EVP_PKEY_RSA, NULL, &at, (long)der->size);
  if (encoding == ENCODING_SEC1) return d2i_PrivateKey(EVP_PKEY_EC, NULL, &at, (long)der->size);
  if (encoding != ENCODING_PKCS8) return NULL;
  if (is_encrypted(der)) {
    BIO *in = BIO_new_mem_buf(der->data, (int)der->size);
    if (in) key = d2i_PKCS8PrivateKey_bio(in, NULL, give_passphrase, passphrase);
    BIO_free(in);
    return key;
  }
  PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der->size);
  if (info) key = EVP_PKCS82PKEY(info);
  PKCS8_PRIV_KEY_INFO_free(info);
  return key;
}

static EVP_PKEY *read_private(const struct bytes *data, enum format format, enum encoding encoding, struct bytes *passphrase)
{
  if (format == DER) return read_private_der(data, encoding, passphrase);
  BIO *in = BIO_new_mem_buf(data->data, (int)data->size);
  EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, give_passphrase, passphrase) : NULL;
  BIO_free(in);
  return key;
}

static EVP_PKEY *key_of_certificate(const unsigned char *der, long size)
{
  X509 *certificate = d2i_X509(NULL, &der, size);
  EVP_PKEY *key = certificate ? X509_get_pubkey(certificate) : NULL;
  X509_free(certificate);
  return key;
}

// A public key in PEM, under one of the names it may have. *is_one says whether there was such a name.
static EVP_PKEY *read_public_pem(const struct bytes *pem, struct bytes *passphrase, int *is_one)
{
  static const char *const names[] = { "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE" };
  *is_one = 0;
  for (int i = 0; i < 3 && !*is_one; i++) {
    unsigned char *der = NULL;
    long size = 0;
    BIO *in = BIO_new_mem_buf(pem->data, (int)pem->size);
    EVP_PKEY *key = NULL;
    const int found = in && PEM_bytes_read_bio(&der, &size, NULL, names[i], in, give_passphrase, passphrase);
    BIO_free(in);
    const unsigned long error = ERR_peek_last_error();
    if (!found && ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE) {
      ERR_clear_error();
      continue;
    }
    *is_one = 1;
    const unsigned char *at = der;
    if (found) key = i == 0 ? d2i_PUBKEY(NULL, &at, size) : i == 1 ? d2i_PublicKey(EVP_PKEY_RSA, NULL, &at, size) : key_of_certificate(at, size);
    OPENSSL_free(der);
    return key;
  }
  return NULL;
}

static EVP_PKEY *read_public_or_private(const struct bytes *data, enum format format, enum encoding encoding, struct bytes *passphrase, int *was_private)
{
  int is_one = 0;
  *was_private = 0;
  if (format == PEM) {
    EVP_PKEY *key = read_public_pem(data, passphrase, &is_one);
    if (is_one) return key;
  } else if (encoding == ENCODING_SPKI || (encoding == ENCODING_PKCS1 && !is_private_rsa(data))) {
    const unsigned char *at = data->data;
    return encoding == ENCODING_SPKI ? d2i_PUBKEY(NULL, &at, (long)data->size) : d2i_PublicKey(EVP_PKEY_RSA, NULL, &at, (long)data->size);
  }
  *was_private = 1;
  return read_private(data, format, encoding, passphrase);
}

static int wants_passphrase(void)
{
  const unsigned long error = ERR_peek_error();
  return (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_BAD_PASSWORD_READ) ||
         (ERR_GET_LIB(error) == ERR_LIB_CRYPTO && ERR_GET_REASON(error) == ERR_R_INTERRUPTED_OR_CANCELLED);
}

// keyRead(bytes, format, encoding, passphrase or undefined, 1 for a public key or a private one, 0 for a private one) -> a key
static JSValue key_read(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes data, passphrase;
  int format, encoding, either, was_private = 1;
  if (JS_ToInt32(ctx, &format, argv[1]) || JS_ToInt32(ctx, &encoding, argv[2]) || JS_ToInt32(ctx, &either, argv[4])) return JS_EXCEPTION;
  if (bytes_from(ctx, argv[0], &data) || optional_bytes_from(ctx, argv[3], &passphrase)) return JS_EXCEPTION;
  ERR_clear_error();
  EVP_PKEY *key = either ? read_public_or_private(&data, format, encoding, &passphrase, &was_private) : read_private(&data, format, encoding, &passphrase);
  if (key && !ERR_peek_error()) return object_of_key(ctx, key);
  EVP_PKEY_free(key);
  if (was_private && !passphrase.data && wants_passphrase())
    return throw_coded(ctx, "TypeError", "ERR_MISSING_PASSPHRASE", "Passphrase required for encrypted key");
  return throw_openssl(ctx, either ? "Failed to read asymmetric key" : "Failed to read private key");
}

// --- Writing ---

static int write_public(BIO *out, EVP_PKEY *key, enum format format, enum encoding encoding)
{
  if (encoding == ENCODING_SPKI) return format == PEM ? PEM_write_bio_PUBKEY(out, key) : i2d_PUBKEY_bio(out, key);
  unsigned char *der = NULL;
  const int size = i2d_PublicKey(key, &der);
  int done = 0;
  if (size > 0) done = format == PEM ? PEM_write_bio(out, "RSA PUBLIC KEY", "", der, size) > 0 : BIO_write(out, der, size) == size;
  OPENSSL_free(der);
  return done;
}

static int write_private(BIO *out, EVP_PKEY *key, enum format format, enum encoding encoding, const EVP_CIPHER *cipher, const struct bytes *passphrase)
{
  // An empty passphrase is one: for OpenSSL it has an address.
  const char *words = cipher ? (const char *)passphrase->data : NULL;
  const int size = cipher ? (int)passphrase->size : 0;
  if (encoding == ENCODING_PKCS8)
    return format == PEM ? PEM_write_bio_PKCS8PrivateKey(out, key, cipher, words, size, NULL, NULL) : i2d_PKCS8PrivateKey_bio(out, key, cipher, words, size, NULL, NULL);
  if (format == PEM) return PEM_write_bio_PrivateKey_traditional(out, key, cipher, (const unsigned char *)words, size, NULL, NULL);
  unsigned char *der = NULL;
  const int written = i2d_PrivateKey(key, &der);
  const int done = written > 0 && BIO_write(out, der, written) == written;
  OPENSSL_clear_free(der, written > 0 ? (size_t)written : 0);
  return done;
}

// keyWrite(key, 1 for its private half, format, encoding, cipher or undefined, passphrase or undefined) -> bytes
static JSValue key_write(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int is_private, format, encoding;
  struct bytes passphrase;
  EVP_PKEY *key = key_of(ctx, argv[0]);
  if (!key || JS_ToInt32(ctx, &is_private, argv[1]) || JS_ToInt32(ctx, &format, argv[2]) || JS_ToInt32(ctx, &encoding, argv[3])) return JS_EXCEPTION;
  EVP_CIPHER *cipher = NULL;
  if (!JS_IsUndefined(argv[4])) {
    const char *name = JS_ToCString(ctx, argv[4]);
    if (!name) return JS_EXCEPTION;
    cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    JS_FreeCString(ctx, name);
    if (!cipher) return throw_coded(ctx, "Error", "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
  }
  BIO *out = BIO_new(BIO_s_mem());
  JSValue result = JS_EXCEPTION;
  if (!optional_bytes_from(ctx, argv[5], &passphrase)) {
    const int done = out && (!cipher || passphrase.data) && (is_private ? write_private(out, key, format, encoding, cipher, &passphrase) : write_public(out, key, format, encoding));
    char *text = NULL;
    const long size = done ? BIO_get_mem_data(out, &text) : 0;
    result = done ? copy_of_bytes(ctx, (const uint8_t *)text, (size_t)size) : throw_openssl(ctx, is_private ? "Failed to encode private key" : "Failed to encode public key");
  }
  BIO_free(out);
  EVP_CIPHER_free(cipher);
  return result;
}

// --- What a key tells ---

static const char *kind_of(const EVP_PKEY *key)
{
  switch (EVP_PKEY_get_base_id(key)) {
  case EVP_PKEY_RSA: return "rsa";
  case EVP_PKEY_RSA_PSS: return "rsa-pss";
  case EVP_PKEY_DSA: return "dsa";
  case EVP_PKEY_DH:
  case EVP_PKEY_DHX: return "dh";
  case EVP_PKEY_EC: return "ec";
  case EVP_PKEY_ED25519: return "ed25519";
  case EVP_PKEY_ED448: return "ed448";
  case EVP_PKEY_X25519: return "x25519";
  case EVP_PKEY_X448: return "x448";
  }
  return NULL;
}

// keyKind(key) -> the name of its kind, undefined for one that Node.js does not know
static JSValue key_kind(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  EVP_PKEY *key = key_of(ctx, argv[0]);
  if (!key) return JS_EXCEPTION;
  const char *kind = kind_of(key);
  return kind ? JS_NewString(ctx, kind) : JS_UNDEFINED;
}

// The names of its parameters that are numbers, by OpenSSL's names.
static const char *const numbers[] = { OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,
  OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y, OSSL_PKEY_PARAM_FFC_P,
  OSSL_PKEY_PARAM_FFC_Q, OSSL_PKEY_PARAM_FFC_G };
static const char *const texts[] = { OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PKEY_PARAM_RSA_DIGEST, OSSL_PKEY_PARAM_RSA_MGF1_DIGEST };

static int add_numbers(JSContext *ctx, EVP_PKEY *key, JSValueConst into, int field_bytes)
{
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    BIGNUM *number = NULL;
    if (!EVP_PKEY_get_bn_param(key, numbers[i], &number)) continue;
    const int failed = set_number(ctx, into, numbers[i], number, numbers[i][0] == 'q' && numbers[i][1] ? field_bytes : 0);
    BN_clear_free(number);
    if (failed) return -1;
  }
  return 0;
}

static int add_private_number(JSContext *ctx, EVP_PKEY *key, JSValueConst into, int size)
{
  BIGNUM *number = NULL;
  if (!EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number)) return 0;
  const int failed = set_number(ctx, into, OSSL_PKEY_PARAM_PRIV_KEY, number, size);
  BN_clear_free(number);
  return failed;
}

// The two halves of the keys of curves that are bytes and no numbers.
static int add_raw(JSContext *ctx, EVP_PKEY *key, JSValueConst into)
{
  uint8_t bytes[64];
  size_t size = sizeof bytes;
  if (EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 && set_bytes(ctx, into, "pub", bytes, size)) return -1;
  size = sizeof bytes;
  const int failed = EVP_PKEY_get_raw_private_key(key, bytes, &size) == 1 && set_bytes(ctx, into, OSSL_PKEY_PARAM_PRIV_KEY, bytes, size);
  OPENSSL_cleanse(bytes, sizeof bytes);
  return failed ? -1 : 0;
}

// keyParts(key) -> its parts by OpenSSL's names: numbers as bytes, names as text, and how many bits it has
static JSValue key_parts(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  EVP_PKEY *key = key_of(ctx, argv[0]);
  if (!key) return JS_EXCEPTION;
  JSValue parts = JS_NewObject(ctx);
  if (JS_IsException(parts)) return parts;
  const int bits = EVP_PKEY_get_bits(key), id = EVP_PKEY_get_base_id(key);
  BIGNUM *prime = NULL;
  int field_bytes = 0;
  if (id == EVP_PKEY_EC && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_P, &prime)) field_bytes = BN_num_bytes(prime);
  BN_free(prime);
  const int is_raw = id == EVP_PKEY_ED25519 || id == EVP_PKEY_ED448 || id == EVP_PKEY_X25519 || id == EVP_PKEY_X448;
  int failed = is_raw ? add_raw(ctx, key, parts) : add_numbers(ctx, key, parts, field_bytes);
  if (!failed && !is_raw) failed = add_private_number(ctx, key, parts, id == EVP_PKEY_EC ? (bits + 7) / 8 : 0);
  for (size_t i = 0; !failed && i < sizeof texts / sizeof *texts; i++) {
    char text[80];
    if (!EVP_PKEY_get_utf8_string_param(key, texts[i], text, sizeof text, NULL)) continue;
    failed = JS_DefinePropertyValueStr(ctx, parts, texts[i], JS_NewString(ctx, text), JS_PROP_C_W_E) < 0;
  }
  int salt;
  if (id == EVP_PKEY_RSA_PSS && EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_RSA_PSS_SALTLEN, &salt)) JS_SetPropertyStr(ctx, parts, OSSL_PKEY_PARAM_RSA_PSS_SALTLEN, JS_NewInt32(ctx, salt));
  JS_SetPropertyStr(ctx, parts, "bits", JS_NewInt32(ctx, bits));
  ERR_clear_error();
  if (!failed) return parts;
  JS_FreeValue(ctx, parts);
  return JS_EXCEPTION;
}

// keyEqual(one, other) -> whether they are the same public key; undefined where their kinds cannot be compared
static JSValue key_equal(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  EVP_PKEY *one = key_of(ctx, argv[0]), *other = one ? key_of(ctx, argv[1]) : NULL;
  if (!other) return JS_EXCEPTION;
  const int status = EVP_PKEY_eq(one, other);
  ERR_clear_error();
  return status == -2 ? JS_UNDEFINED : JS_NewBool(ctx, status == 1);
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("keyRead", 5, key_read),
  JS_CFUNC_DEF("keyWrite", 6, key_write),
  JS_CFUNC_DEF("keyKind", 1, key_kind),
  JS_CFUNC_DEF("keyParts", 1, key_parts),
  JS_CFUNC_DEF("keyEqual", 2, key_equal),
};

void add_key_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "KeyObjectHandle", .finalizer = free_key };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &key_class);
  JS_NewClass(runtime, key_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
