// Secrets that two agree on, for node's crypto: by keys of pairs, and by the bare numbers and points that ECDH and DiffieHellman have.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/dh.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"

// keyAgree(private key, public key of the other) -> the secret
static JSValue key_agree(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  EVP_PKEY *mine = key_of(ctx, argv[0]), *other = mine ? key_of(ctx, argv[1]) : NULL;
  if (!other) return JS_EXCEPTION;
  EVP_PKEY_CTX *work = EVP_PKEY_CTX_new_from_pkey(NULL, mine, NULL);
  uint8_t *out = NULL;
  size_t size = 0, room = 0;
  int done = work && EVP_PKEY_derive_init(work) > 0 && EVP_PKEY_derive_set_peer(work, other) > 0 && EVP_PKEY_derive(work, NULL, &room) > 0;
  size = room;
  if (done) done = (out = calloc(1, room + 1)) && EVP_PKEY_derive(work, out, &size) > 0;
  EVP_PKEY_CTX_free(work);
  if (!done) {
    free(out);
    return throw_openssl(ctx, "diffieHellman failed");
  }
  // A secret of Diffie-Hellman is as long as its prime.
  if (size < room && EVP_PKEY_get_base_id(mine) == EVP_PKEY_DH) {
    memmove(out + (room - size), out, size);
    memset(out, 0, room - size);
    size = room;
  }
  return bytes_of(ctx, out, size);
}

// --- Points of curves ---

static EC_GROUP *curve_named(JSContext *ctx, JSValueConst value)
{
  const char *name = JS_ToCString(ctx, value);
  if (!name) return NULL;
  const int nid = OBJ_sn2nid(name);
  EC_GROUP *group = nid == NID_undef ? NULL : EC_GROUP_new_by_curve_name(nid);
  JS_FreeCString(ctx, name);
  if (!group) throw_coded(ctx, "TypeError", "ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
  return group;
}

static EC_POINT *point_from(const EC_GROUP *group, const struct bytes *bytes)
{
  EC_POINT *point = EC_POINT_new(group);
  if (point && EC_POINT_oct2point(group, point, bytes->data, bytes->size, NULL)) return point;
  EC_POINT_free(point);
  return NULL;
}

static JSValue bytes_of_point(JSContext *ctx, const EC_GROUP *group, const EC_POINT *point, int form)
{
  const size_t size = EC_POINT_point2oct(group, point, form, NULL, 0, NULL);
  uint8_t *out = malloc(size + 1);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  if (size && EC_POINT_point2oct(group, point, form, out, size, NULL)) return bytes_of(ctx, out, size);
  free(out);
  return throw_openssl(ctx, "Failed to get public key");
}

// pointMake(curve, private number or null for a new one) -> [private number, public point]; undefined where the number is none of the curve's
static JSValue point_make(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes given;
  EC_GROUP *group = curve_named(ctx, argv[0]);
  if (!group) return JS_EXCEPTION;
  if (optional_bytes_from(ctx, argv[1], &given)) {
    EC_GROUP_free(group);
    return JS_EXCEPTION;
  }
  const BIGNUM *order = EC_GROUP_get0_order(group);
  BIGNUM *secret = given.data ? BN_bin2bn(given.data, (int)given.size, NULL) : BN_new();
  EC_POINT *point = EC_POINT_new(group);
  int done = secret && point && order;
  while (done && !given.data) {
    done = BN_priv_rand_range(secret, order);
    if (done && !BN_is_zero(secret)) break;
  }
  JSValue result = JS_UNDEFINED;
  if (done && (BN_is_zero(secret) || BN_cmp(secret, order) >= 0)) {
    ERR_clear_error();
  } else if (done && EC_POINT_mul(group, point, secret, NULL, NULL, NULL)) {
    result = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, result, 0, bytes_of_number(ctx, secret, given.data ? (int)given.size : (EC_GROUP_order_bits(group) + 7) / 8));
    JS_SetPropertyUint32(ctx, result, 1, bytes_of_point(ctx, group, point, POINT_CONVERSION_UNCOMPRESSED));
  } else {
    result = throw_openssl(ctx, "Failed to generate key");
  }
  EC_POINT_free(point);
  BN_clear_free(secret);
  EC_GROUP_free(group);
  return result;
}

// pointForm(curve, point, form) -> the point in another form; undefined where it is none
static JSValue point_form(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes given;
  int form;
  if (JS_ToInt32(ctx, &form, argv[2])) return JS_EXCEPTION;
  EC_GROUP *group = curve_named(ctx, argv[0]);
  if (!group) return JS_EXCEPTION;
  JSValue result = JS_EXCEPTION;
  if (!bytes_from(ctx, argv[1], &given)) {
    EC_POINT *point = point_from(group, &given);
    ERR_clear_error();
    result = point ? bytes_of_point(ctx, group, point, form) : JS_UNDEFINED;
    EC_POINT_free(point);
  }
  EC_GROUP_free(group);
  return result;
}

// pointAgree(curve, private number, point of the other) -> the secret; undefined where that is no point
static JSValue point_agree(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes number, given;
  EC_GROUP *group = curve_named(ctx, argv[0]);
  if (!group) return JS_EXCEPTION;
  if (bytes_from(ctx, argv[1], &number) || bytes_from(ctx, argv[2], &given)) {
    EC_GROUP_free(group);
    return JS_EXCEPTION;
  }
  EC_POINT *point = point_from(group, &given), *shared = EC_POINT_new(group);
  BIGNUM *secret = BN_bin2bn(number.data, (int)number.size, NULL), *x = BN_new();
  JSValue result = JS_UNDEFINED;
  if (!point) ERR_clear_error();
  else if (shared && secret && x && EC_POINT_mul(group, shared, NULL, point, secret, NULL) && EC_POINT_get_affine_coordinates(group, shared, x, NULL, NULL))
    result = bytes_of_number(ctx, x, (EC_GROUP_get_degree(group) + 7) / 8);
  else result = throw_openssl(ctx, "Failed to compute ECDH key");
  BN_clear_free(x);
  BN_clear_free(secret);
  EC_POINT_clear_free(shared);
  EC_POINT_free(point);
  EC_GROUP_free(group);
  return result;
}

// curves() -> the names of all
static JSValue curve_names(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const size_t count = EC_get_builtin_curves(NULL, 0);
  EC_builtin_curve *curves = malloc((count + 1) * sizeof *curves);
  if (!curves) return JS_ThrowOutOfMemory(ctx);
  EC_get_builtin_curves(curves, count);
  JSValue names = JS_NewArray(ctx);
  for (size_t i = 0; i < count; i++) JS_SetPropertyUint32(ctx, names, (uint32_t)i, JS_NewString(ctx, OBJ_nid2sn(curves[i].nid)));
  free(curves);
  return names;
}

// --- Diffie-Hellman by numbers ---

static DH *group_of(const struct bytes *prime, const struct bytes *generator)
{
  DH *dh = DH_new();
  BIGNUM *p = BN_bin2bn(prime->data, (int)prime->size, NULL), *g = BN_bin2bn(generator->data, (int)generator->size, NULL);
  if (dh && p && g && DH_set0_pqg(dh, p, NULL, g)) return dh;
  BN_free(p);
  BN_free(g);
  DH_free(dh);
  return NULL;
}

// dhMake(prime, generator, private number or null for a new one) -> [private number, public number]
static JSValue dh_make(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes prime, generator, given;
  if (bytes_from(ctx, argv[0], &prime) || bytes_from(ctx, argv[1], &generator) || optional_bytes_from(ctx, argv[2], &given)) return JS_EXCEPTION;
  DH *dh = group_of(&prime, &generator);
  BIGNUM *secret = given.data ? BN_bin2bn(given.data, (int)given.size, NULL) : NULL;
  int done = dh != NULL;
  if (done && secret) {
    done = DH_set0_key(dh, NULL, secret);
    if (done) secret = NULL;  // Its own now.
  }
  JSValue result = JS_EXCEPTION;
  if (done && DH_generate_key(dh)) {
    result = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, result, 0, bytes_of_number(ctx, DH_get0_priv_key(dh), 0));
    JS_SetPropertyUint32(ctx, result, 1, bytes_of_number(ctx, DH_get0_pub_key(dh), 0));
  } else {
    throw_openssl(ctx, "Key generation failed");
  }
  BN_clear_free(secret);
  DH_free(dh);
  return result;
}

// dhAgree(prime, generator, private number, public number of the other) -> the secret, or the number of OpenSSL's objections to the public one
static JSValue dh_agree(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes prime, generator, mine, theirs;
  if (bytes_from(ctx, argv[0], &prime) || bytes_from(ctx, argv[1], &generator) || bytes_from(ctx, argv[2], &mine) || bytes_from(ctx, argv[3], &theirs)) return JS_EXCEPTION;
  DH *dh = group_of(&prime, &generator);
  BIGNUM *secret = BN_bin2bn(mine.data, (int)mine.size, NULL), *other = BN_bin2bn(theirs.data, (int)theirs.size, NULL);
  int objections = 0;
  int done = dh && secret && other && DH_set0_key(dh, NULL, secret);
  if (done) secret = NULL;
  uint8_t *out = done ? malloc((size_t)DH_size(dh) + 1) : NULL;
  JSValue result = JS_EXCEPTION;
  int size = -1;
  if (out && DH_check_pub_key(dh, other, &objections) && !objections) size = DH_compute_key_padded(out, other, dh);
  if (size >= 0) result = bytes_of(ctx, out, (size_t)size);
  else if (objections) result = (ERR_clear_error(), JS_NewInt32(ctx, objections));
  else throw_openssl(ctx, "Unspecified validation error");
  if (size < 0) free(out);
  BN_clear_free(secret);
  BN_free(other);
  DH_free(dh);
  return result;
}

// dhCheck(prime, generator) -> the number of OpenSSL's objections
static JSValue dh_check(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes prime, generator;
  int objections = 0;
  if (bytes_from(ctx, argv[0], &prime) || bytes_from(ctx, argv[1], &generator)) return JS_EXCEPTION;
  DH *dh = group_of(&prime, &generator);
  const int done = dh && DH_check(dh, &objections);
  DH_free(dh);
  if (!done) return throw_openssl(ctx, "Checking DH parameters failed");
  ERR_clear_error();
  return JS_NewInt32(ctx, objections);
}

// dhPrime(bits, generator) -> a new prime
static JSValue dh_prime(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int bits, generator;
  if (JS_ToInt32(ctx, &bits, argv[0]) || JS_ToInt32(ctx, &generator, argv[1])) return JS_EXCEPTION;
  DH *dh = DH_new();
  JSValue result = dh && DH_generate_parameters_ex(dh, bits, generator, NULL) ? bytes_of_number(ctx, DH_get0_p(dh), 0) : throw_openssl(ctx, "DH parameter generation failed");
  DH_free(dh);
  return result;
}

// dhGroup(name) -> the prime of a group that has one; undefined for no such
static JSValue dh_group(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  static const struct { const char *name; BIGNUM *(*prime)(BIGNUM *); } groups[] = {
    { "modp1", BN_get_rfc2409_prime_768 }, { "modp2", BN_get_rfc2409_prime_1024 }, { "modp5", BN_get_rfc3526_prime_1536 }, { "modp14", BN_get_rfc3526_prime_2048 },
    { "modp15", BN_get_rfc3526_prime_3072 }, { "modp16", BN_get_rfc3526_prime_4096 }, { "modp17", BN_get_rfc3526_prime_6144 }, { "modp18", BN_get_rfc3526_prime_8192 } };
  const char *name = JS_ToCString(ctx, argv[0]);
  if (!name) return JS_EXCEPTION;
  JSValue result = JS_UNDEFINED;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    if (strcasecmp(name, groups[i].name)) continue;
    BIGNUM *prime = groups[i].prime(NULL);
    result = prime ? bytes_of_number(ctx, prime, 0) : JS_ThrowOutOfMemory(ctx);
    BN_free(prime);
  }
  JS_FreeCString(ctx, name);
  return result;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("keyAgree", 2, key_agree),
  JS_CFUNC_DEF("pointMake", 2, point_make),
  JS_CFUNC_DEF("pointForm", 3, point_form),
  JS_CFUNC_DEF("pointAgree", 3, point_agree),
  JS_CFUNC_DEF("curves", 0, curve_names),
  JS_CFUNC_DEF("dhMake", 3, dh_make),
  JS_CFUNC_DEF("dhAgree", 4, dh_agree),
  JS_CFUNC_DEF("dhCheck", 2, dh_check),
  JS_CFUNC_DEF("dhPrime", 2, dh_prime),
  JS_CFUNC_DEF("dhGroup", 1, dh_group),
};

void add_agreement_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
