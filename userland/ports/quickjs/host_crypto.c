// Digests, codes of authenticity, keys from passwords and random numbers, for node's crypto; and what its other files share. OpenSSL's
// libcrypto does the work. What comes in is what a script gives.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <ctype.h>
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"
#include "system_random.h"

int bytes_from(JSContext *ctx, JSValueConst value, struct bytes *bytes)
{
  bytes->data = JS_GetUint8Array(ctx, &bytes->size, value);
  if (!bytes->data) {
    if (JS_HasException(ctx)) return -1;
    bytes->data = (const uint8_t *)"";
    bytes->size = 0;
  }
  if (bytes->size <= INT_MAX) return 0;
  JS_ThrowRangeError(ctx, "data is too long");
  return -1;
}

int optional_bytes_from(JSContext *ctx, JSValueConst value, struct bytes *bytes)
{
  *bytes = (struct bytes){ NULL, 0 };
  return JS_IsUndefined(value) || JS_IsNull(value) ? 0 : bytes_from(ctx, value, bytes);
}

// The libraries whose names are in Node's codes, by OpenSSL's numbers.
static const char *library_word(int library)
{
  static const struct { int number; const char *word; } words[] = {
    { ERR_LIB_SYS, "SYS_" }, { ERR_LIB_BN, "BN_" }, { ERR_LIB_RSA, "RSA_" }, { ERR_LIB_DH, "DH_" }, { ERR_LIB_EVP, "EVP_" },
    { ERR_LIB_BUF, "BUF_" }, { ERR_LIB_OBJ, "OBJ_" }, { ERR_LIB_PEM, "PEM_" }, { ERR_LIB_DSA, "DSA_" }, { ERR_LIB_X509, "X509_" },
    { ERR_LIB_ASN1, "ASN1_" }, { ERR_LIB_CONF, "CONF_" }, { ERR_LIB_CRYPTO, "CRYPTO_" }, { ERR_LIB_EC, "EC_" }, { ERR_LIB_BIO, "BIO_" },
    { ERR_LIB_PKCS7, "PKCS7_" }, { ERR_LIB_X509V3, "X509V3_" }, { ERR_LIB_PKCS12, "PKCS12_" }, { ERR_LIB_RAND, "RAND_" },
    { ERR_LIB_UI, "UI_" }, { ERR_LIB_ECDSA, "ECDSA_" }, { ERR_LIB_ECDH, "ECDH_" }, { ERR_LIB_OSSL_STORE, "OSSL_STORE_" },
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].number == library) return words[i].word;
  return "";
}

static void set_text(JSContext *ctx, JSValueConst object, const char *name, const char *text)
{
  JS_DefinePropertyValueStr(ctx, object, name, JS_NewString(ctx, text), JS_PROP_C_W_E);
}

static void decorate(JSContext *ctx, JSValueConst object, unsigned long error)
{
  const char *library = ERR_lib_error_string(error), *reason = ERR_reason_error_string(error);
  if (library) set_text(ctx, object, "library", library);
  if (!reason) return;
  set_text(ctx, object, "reason", reason);
  char code[160];
  int size = snprintf(code, sizeof code, "ERR_OSSL_%s%s", library_word(ERR_GET_LIB(error)), reason);
  if (size >= (int)sizeof code) size = (int)sizeof code - 1;
  for (int i = 0; i < size; i++) code[i] = code[i] == ' ' ? '_' : (char)toupper((unsigned char)code[i]);
  set_text(ctx, object, "code", code);
}

JSValue throw_openssl(JSContext *ctx, const char *otherwise)
{
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  char words[256];
  if (error) ERR_error_string_n(error, words, sizeof words);
  JS_ThrowPlainError(ctx, "%s", error ? words : otherwise);
  if (!error) return JS_EXCEPTION;
  JSValue object = JS_GetException(ctx);
  if (JS_IsObject(object)) decorate(ctx, object, error);
  return JS_Throw(ctx, object);
}

JSValue throw_coded(JSContext *ctx, const char *kind, const char *code, const char *words)
{
  ERR_clear_error();
  if (!strcmp(kind, "RangeError")) JS_ThrowRangeError(ctx, "%s", words);
  else if (!strcmp(kind, "TypeError")) JS_ThrowTypeError(ctx, "%s", words);
  else JS_ThrowPlainError(ctx, "%s", words);
  JSValue object = JS_GetException(ctx);
  if (JS_IsObject(object)) set_text(ctx, object, "code", code);
  return JS_Throw(ctx, object);
}

JSValue copy_of_bytes(JSContext *ctx, const uint8_t *bytes, size_t size)
{
  return JS_NewArrayBufferCopy(ctx, bytes, size);
}

int set_bytes(JSContext *ctx, JSValueConst object, const char *name, const uint8_t *bytes, size_t size)
{
  JSValue copy = JS_NewUint8ArrayCopy(ctx, bytes, size);
  if (JS_IsException(copy)) return -1;
  return JS_DefinePropertyValueStr(ctx, object, name, copy, JS_PROP_C_W_E) < 0 ? -1 : 0;
}

// A number as bytes of at least a size, which is as many as there are then; NULL with an exception.
static uint8_t *padded_number(JSContext *ctx, const BIGNUM *number, int *size)
{
  const int least = BN_num_bytes(number);
  if (*size < least) *size = least;
  uint8_t *bytes = malloc((size_t)*size + 1);
  if (bytes) BN_bn2binpad(number, bytes, *size);
  else JS_ThrowOutOfMemory(ctx);
  return bytes;
}

JSValue bytes_of_number(JSContext *ctx, const BIGNUM *number, int size)
{
  uint8_t *bytes = padded_number(ctx, number, &size);
  return bytes ? bytes_of(ctx, bytes, (size_t)size) : JS_EXCEPTION;
}

int set_number(JSContext *ctx, JSValueConst object, const char *name, const BIGNUM *number, int size)
{
  uint8_t *bytes = padded_number(ctx, number, &size);
  if (!bytes) return -1;
  const int status = set_bytes(ctx, object, name, bytes, (size_t)size);
  OPENSSL_cleanse(bytes, (size_t)size);
  free(bytes);
  return status;
}

const EVP_MD *digest_named(JSContext *ctx, JSValueConst value)
{
  const char *name = JS_ToCString(ctx, value);
  const EVP_MD *digest = name ? EVP_get_digestbyname(name) : NULL;
  JS_FreeCString(ctx, name);
  return digest;
}

// --- Digests, and HMAC, which is one with a key ---

struct digest {
  EVP_MD_CTX *plain;
  EVP_MAC_CTX *keyed;
  int size;
};

static JSClassID digest_class;

static void close_digest(struct digest *digest)
{
  EVP_MD_CTX_free(digest->plain);
  EVP_MAC_CTX_free(digest->keyed);
  free(digest);
}

static void free_digest(JSRuntime *runtime, JSValue value)
{
  struct digest *digest = JS_GetOpaque(value, digest_class);
  if (digest) close_digest(digest);
}

static JSValue object_of_digest(JSContext *ctx, struct digest *digest)
{
  JSValue object = JS_NewObjectClass(ctx, digest_class);
  if (JS_IsException(object)) close_digest(digest);
  else JS_SetOpaque(object, digest);
  return object;
}

// hashOpen(name, size or -1) -> a digest in the making; undefined for a name that is none
static JSValue hash_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int size;
  if (JS_ToInt32(ctx, &size, argv[1])) return JS_EXCEPTION;
  const EVP_MD *kind = digest_named(ctx, argv[0]);
  if (!kind) {
    ERR_clear_error();
    return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
  }
  struct digest *digest = calloc(1, sizeof *digest);
  if (!digest) return JS_ThrowOutOfMemory(ctx);
  digest->plain = EVP_MD_CTX_new();
  if (!digest->plain || !EVP_DigestInit_ex(digest->plain, kind, NULL)) {
    close_digest(digest);
    return throw_openssl(ctx, "Digest method not supported");
  }
  const int extends = (EVP_MD_get_flags(kind) & EVP_MD_FLAG_XOF) != 0, usual = EVP_MD_get_size(kind);
  // What can have any size has by itself that of its strength, as OpenSSL's earlier releases had it.
  digest->size = size >= 0 ? size : usual > 0 ? usual : EVP_MD_is_a(kind, "SHAKE128") ? 16 : 32;
  if (!extends && digest->size != usual) {
    close_digest(digest);
    ERR_raise(ERR_LIB_EVP, EVP_R_NOT_XOF_OR_INVALID_LENGTH);
    return throw_openssl(ctx, "");
  }
  return object_of_digest(ctx, digest);
}

// hmacOpen(name, key) -> the same with a key
static JSValue hmac_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes key;
  const EVP_MD *kind = digest_named(ctx, argv[0]);
  if (!kind) {
    ERR_clear_error();
    return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
  }
  if (bytes_from(ctx, argv[1], &key)) return JS_EXCEPTION;
  struct digest *digest = calloc(1, sizeof *digest);
  if (!digest) return JS_ThrowOutOfMemory(ctx);
  EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  digest->keyed = EVP_MAC_CTX_new(mac);
  EVP_MAC_free(mac);
  digest->size = EVP_MD_get_size(kind);
  const OSSL_PARAM parameters[] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)EVP_MD_get0_name(kind), 0), OSSL_PARAM_END };
  if (!digest->keyed || !EVP_MAC_init(digest->keyed, key.data, key.size, parameters)) {
    close_digest(digest);
    return throw_openssl(ctx, "Invalid digest");
  }
  return object_of_digest(ctx, digest);
}

// hashUpdate(digest, bytes)
static JSValue hash_update(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes data;
  struct digest *digest = JS_GetOpaque2(ctx, argv[0], digest_class);
  if (!digest || bytes_from(ctx, argv[1], &data)) return JS_EXCEPTION;
  const int done = digest->keyed ? EVP_MAC_update(digest->keyed, data.data, data.size) : EVP_DigestUpdate(digest->plain, data.data, data.size);
  return done ? JS_UNDEFINED : throw_openssl(ctx, "Hash update failed");
}

static int finish_digest(struct digest *digest, uint8_t *out)
{
  size_t size = (size_t)digest->size;
  if (digest->keyed) return EVP_MAC_final(digest->keyed, out, &size, size);
  if (digest->size == EVP_MD_CTX_get_size(digest->plain)) return EVP_DigestFinal_ex(digest->plain, out, NULL);
  return digest->size == 0 || EVP_DigestFinalXOF(digest->plain, out, size);
}

// hashFinal(digest) -> what it is; the digest is of no more use
static JSValue hash_final(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct digest *digest = JS_GetOpaque2(ctx, argv[0], digest_class);
  if (!digest) return JS_EXCEPTION;
  uint8_t *out = malloc((size_t)digest->size + 1);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  if (finish_digest(digest, out)) return bytes_of(ctx, out, (size_t)digest->size);
  free(out);
  return throw_openssl(ctx, "Digest failed");
}

// hashCopy(digest, size or -1) -> another that has taken in as much
static JSValue hash_copy(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int size;
  struct digest *from = JS_GetOpaque2(ctx, argv[0], digest_class);
  if (!from || JS_ToInt32(ctx, &size, argv[1])) return JS_EXCEPTION;
  if (size >= 0 && size != from->size && (!from->plain || !(EVP_MD_get_flags(EVP_MD_CTX_get0_md(from->plain)) & EVP_MD_FLAG_XOF))) {
    ERR_raise(ERR_LIB_EVP, EVP_R_NOT_XOF_OR_INVALID_LENGTH);
    return throw_openssl(ctx, "");
  }
  struct digest *digest = calloc(1, sizeof *digest);
  if (!digest) return JS_ThrowOutOfMemory(ctx);
  digest->size = size >= 0 ? size : from->size;
  if (from->keyed) digest->keyed = EVP_MAC_CTX_dup(from->keyed);
  else digest->plain = EVP_MD_CTX_new();
  const int done = from->keyed ? digest->keyed != NULL : digest->plain && EVP_MD_CTX_copy_ex(digest->plain, from->plain);
  if (done) return object_of_digest(ctx, digest);
  close_digest(digest);
  return throw_openssl(ctx, "Digest copy error");
}

// --- Keys from passwords and secrets ---

static uint8_t *room_for(JSContext *ctx, int64_t size)
{
  if (size < 0 || size > INT_MAX) {
    JS_ThrowRangeError(ctx, "so many bytes are not given");
    return NULL;
  }
  uint8_t *out = malloc((size_t)size + 1);
  if (!out) JS_ThrowOutOfMemory(ctx);
  return out;
}

// pbkdf2(digest, password, salt, rounds, size) -> the key; undefined for a digest that is none
static JSValue derive_pbkdf2(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes password, salt;
  int rounds;
  int64_t size;
  if (JS_ToInt32(ctx, &rounds, argv[3]) || JS_ToInt64(ctx, &size, argv[4])) return JS_EXCEPTION;
  const EVP_MD *digest = digest_named(ctx, argv[0]);
  if (!digest) return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
  uint8_t *out = room_for(ctx, size);
  if (!out) return JS_EXCEPTION;
  JSValue failed = JS_EXCEPTION;
  if (!bytes_from(ctx, argv[1], &password) && !bytes_from(ctx, argv[2], &salt)) {
    if (!size || PKCS5_PBKDF2_HMAC((const char *)password.data, (int)password.size, salt.data, (int)salt.size, rounds, digest, (int)size, out))
      return bytes_of(ctx, out, (size_t)size);
    failed = throw_openssl(ctx, "PBKDF2 failed");
  }
  free(out);
  return failed;
}

// scrypt(password, salt, N, r, p, most memory, size) -> the key; true where no size is asked for and the parameters are good
static JSValue derive_scrypt(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes password, salt;
  int64_t words[4], size;
  for (int i = 0; i < 4; i++)
    if (JS_ToInt64(ctx, &words[i], argv[2 + i])) return JS_EXCEPTION;
  if (JS_ToInt64(ctx, &size, argv[6])) return JS_EXCEPTION;
  uint8_t *out = room_for(ctx, size);
  if (!out) return JS_EXCEPTION;
  JSValue failed = JS_EXCEPTION;
  if (!bytes_from(ctx, argv[0], &password) && !bytes_from(ctx, argv[1], &salt)) {
    // Without a place for the key it only looks whether it would do it.
    const int checks = size == 0;
    if (EVP_PBE_scrypt((const char *)password.data, password.size, salt.data, salt.size, (uint64_t)words[0], (uint64_t)words[1], (uint64_t)words[2],
                       (uint64_t)words[3], checks ? NULL : out, (size_t)size)) {
      if (!checks) return bytes_of(ctx, out, (size_t)size);
      free(out);
      return JS_TRUE;
    }
    failed = throw_openssl(ctx, "Scrypt failed");
  }
  free(out);
  return failed;
}

// hkdf(digest, key, salt, info, size) -> the key; undefined for a digest that is none
static JSValue derive_hkdf(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes key, salt, info;
  int64_t size;
  if (JS_ToInt64(ctx, &size, argv[4])) return JS_EXCEPTION;
  const EVP_MD *digest = digest_named(ctx, argv[0]);
  if (!digest) return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
  uint8_t *out = room_for(ctx, size);
  if (!out) return JS_EXCEPTION;
  JSValue failed = JS_EXCEPTION;
  if (!bytes_from(ctx, argv[1], &key) && !bytes_from(ctx, argv[2], &salt) && !bytes_from(ctx, argv[3], &info)) {
    EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *work = EVP_KDF_CTX_new(kind);
    EVP_KDF_free(kind);
    const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)EVP_MD_get0_name(digest), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key.data, key.size),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt.data, salt.size),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info.data, info.size), OSSL_PARAM_END };
    const int done = !size || (work && EVP_KDF_derive(work, out, (size_t)size, parameters) > 0);
    EVP_KDF_CTX_free(work);
    if (done) return bytes_of(ctx, out, (size_t)size);
    failed = throw_openssl(ctx, "HKDF failed");
  }
  free(out);
  return failed;
}

// primeMake(bits, 1 for a safe one, add, rem) -> its bytes
static JSValue prime_make(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int bits, safe;
  struct bytes add, rem;
  if (JS_ToInt32(ctx, &bits, argv[0]) || JS_ToInt32(ctx, &safe, argv[1])) return JS_EXCEPTION;
  if (optional_bytes_from(ctx, argv[2], &add) || optional_bytes_from(ctx, argv[3], &rem)) return JS_EXCEPTION;
  BIGNUM *prime = BN_new(), *step = add.data ? BN_bin2bn(add.data, (int)add.size, NULL) : NULL, *rest = rem.data ? BN_bin2bn(rem.data, (int)rem.size, NULL) : NULL;
  JSValue result = JS_UNDEFINED;
  if (step && BN_num_bits(step) > bits) result = throw_coded(ctx, "RangeError", "ERR_OUT_OF_RANGE", "invalid options.add");
  else if (step && rest && BN_cmp(step, rest) != 1) result = throw_coded(ctx, "RangeError", "ERR_OUT_OF_RANGE", "invalid options.rem");
  else if (!prime || !BN_generate_prime_ex(prime, bits, safe, step, rest, NULL)) result = throw_openssl(ctx, "Prime generation failed");
  if (JS_IsUndefined(result)) result = bytes_of_number(ctx, prime, 0);
  BN_clear_free(prime);
  BN_free(step);
  BN_free(rest);
  return result;
}

// primeCheck(bytes) -> whether they are most probably a prime
static JSValue prime_check(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes number;
  if (bytes_from(ctx, argv[0], &number)) return JS_EXCEPTION;
  BIGNUM *candidate = BN_bin2bn(number.data, (int)number.size, NULL);
  const int status = candidate ? BN_check_prime(candidate, NULL, NULL) : -1;
  BN_free(candidate);
  return status < 0 ? throw_openssl(ctx, "Prime check failed") : JS_NewBool(ctx, status);
}

// equalBytes(one, other) -> whether they are the same, in a time that does not tell where they differ
static JSValue equal_bytes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes one, other;
  if (bytes_from(ctx, argv[0], &one) || bytes_from(ctx, argv[1], &other)) return JS_EXCEPTION;
  return JS_NewBool(ctx, one.size == other.size && CRYPTO_memcmp(one.data, other.data, one.size) == 0);
}

// cryptoStart(): once, before anything else of crypto
static JSValue crypto_start(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  if (!RAND_set_rand_method(&system_random)) return throw_openssl(ctx, "no random numbers");
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("cryptoStart", 0, crypto_start),
  JS_CFUNC_DEF("hashOpen", 2, hash_open),
  JS_CFUNC_DEF("hmacOpen", 2, hmac_open),
  JS_CFUNC_DEF("hashUpdate", 2, hash_update),
  JS_CFUNC_DEF("hashFinal", 1, hash_final),
  JS_CFUNC_DEF("hashCopy", 2, hash_copy),
  JS_CFUNC_DEF("pbkdf2", 5, derive_pbkdf2),
  JS_CFUNC_DEF("scrypt", 7, derive_scrypt),
  JS_CFUNC_DEF("hkdf", 5, derive_hkdf),
  JS_CFUNC_DEF("primeMake", 4, prime_make),
  JS_CFUNC_DEF("primeCheck", 1, prime_check),
  JS_CFUNC_DEF("equalBytes", 2, equal_bytes),
};

void add_crypto_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "Digest", .finalizer = free_digest };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &digest_class);
  JS_NewClass(runtime, digest_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
  add_cipher_functions(ctx, native);
  add_key_functions(ctx, native);
  add_key_making_functions(ctx, native);
  add_signing_functions(ctx, native);
  add_agreement_functions(ctx, native);
  add_certificate_functions(ctx, native);
}
