// Keys of pairs for node's crypto that are made: anew, or of the parts that a script has.
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"

enum { MOST_PARTS = 16 };

// Parts of a key as OpenSSL takes them. Numbers must live until the parameters are built.
struct parts {
  OSSL_PARAM_BLD *builder;
  BIGNUM *numbers[MOST_PARTS];
  char *names[MOST_PARTS];  // malloc's: what the builder is told is kept as it is
  uint8_t *copies[MOST_PARTS];
  OSSL_PARAM *parameters;
};

static void free_parts(struct parts *parts)
{
  OSSL_PARAM_free(parts->parameters);
  OSSL_PARAM_BLD_free(parts->builder);
  for (int i = 0; i < MOST_PARTS; i++) {
    BN_clear_free(parts->numbers[i]);
    free(parts->names[i]);
    free(parts->copies[i]);
  }
}

static char *copied_text(JSContext *ctx, JSValueConst value)
{
  const char *text = JS_ToCString(ctx, value);
  char *copy = text ? strdup(text) : NULL;
  if (text && !copy) JS_ThrowOutOfMemory(ctx);
  JS_FreeCString(ctx, text);
  return copy;
}

// One of `name, kind, value`: kind is 'number' (of a machine), 'big' (bytes of a number), 'text' or 'bytes'.
static int add_part(JSContext *ctx, struct parts *parts, int i, JSValueConst kind, JSValueConst value)
{
  const char *name = parts->names[i];
  char *word = copied_text(ctx, kind);
  if (!word) return -1;
  int done = 0;
  struct bytes bytes;
  if (!strcmp(word, "number")) {
    int32_t number;
    done = !JS_ToInt32(ctx, &number, value) && OSSL_PARAM_BLD_push_int(parts->builder, name, number);
  } else if (!strcmp(word, "text")) {
    parts->copies[i] = (uint8_t *)copied_text(ctx, value);
    done = parts->copies[i] && OSSL_PARAM_BLD_push_utf8_string(parts->builder, name, (char *)parts->copies[i], 0);
  } else if (!bytes_from(ctx, value, &bytes)) {
    if (!strcmp(word, "big")) {
      parts->numbers[i] = BN_bin2bn(bytes.data, (int)bytes.size, NULL);
      done = parts->numbers[i] && OSSL_PARAM_BLD_push_BN(parts->builder, name, parts->numbers[i]);
    } else {
      parts->copies[i] = malloc(bytes.size + 1);
      if (parts->copies[i]) memcpy(parts->copies[i], bytes.data, bytes.size);
      done = parts->copies[i] && OSSL_PARAM_BLD_push_octet_string(parts->builder, name, parts->copies[i], bytes.size);
    }
  }
  free(word);
  return done ? 0 : -1;
}

// A list of [name, kind, value, name, kind, value, ...]. 0, or -1 with an exception or an error of OpenSSL's.
static int read_parts(JSContext *ctx, JSValueConst list, struct parts *parts)
{
  int64_t count;
  memset(parts, 0, sizeof *parts);
  parts->builder = OSSL_PARAM_BLD_new();
  if (!parts->builder || JS_GetLength(ctx, list, &count) || count > 3 * MOST_PARTS) return -1;
  for (int i = 0; 3 * i + 2 < count; i++) {
    JSValue name = JS_GetPropertyInt64(ctx, list, 3 * i), kind = JS_GetPropertyInt64(ctx, list, 3 * i + 1), value = JS_GetPropertyInt64(ctx, list, 3 * i + 2);
    parts->names[i] = copied_text(ctx, name);
    const int failed = !parts->names[i] || add_part(ctx, parts, i, kind, value);
    JS_FreeValue(ctx, name);
    JS_FreeValue(ctx, kind);
    JS_FreeValue(ctx, value);
    if (failed) return -1;
  }
  parts->parameters = OSSL_PARAM_BLD_to_param(parts->builder);
  return parts->parameters ? 0 : -1;
}

static JSValue failed_with(JSContext *ctx, const char *words)
{
  if (!JS_HasException(ctx)) return throw_openssl(ctx, words);
  ERR_clear_error();
  return JS_EXCEPTION;
}

// keyBuild(kind, 0 for a public key, 1 for a pair, 2 for parameters alone, parts) -> a key
static JSValue key_build(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  static const int selections[] = { EVP_PKEY_PUBLIC_KEY, EVP_PKEY_KEYPAIR, EVP_PKEY_KEY_PARAMETERS };
  int what;
  struct parts parts;
  if (JS_ToInt32(ctx, &what, argv[1])) return JS_EXCEPTION;
  if (what < 0 || what > 2) return JS_ThrowRangeError(ctx, "no such part of a key");
  char *kind = copied_text(ctx, argv[0]);
  if (!kind) return JS_EXCEPTION;
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *work = NULL;
  if (!read_parts(ctx, argv[2], &parts)) {
    work = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    if (work && EVP_PKEY_fromdata_init(work) > 0) EVP_PKEY_fromdata(work, &key, selections[what], parts.parameters);
  }
  EVP_PKEY_CTX_free(work);
  free_parts(&parts);
  free(kind);
  return key ? object_of_key(ctx, key) : failed_with(ctx, "Key import failed");
}

// keyRaw(kind, 1 for a private key, bytes) -> a key of a curve whose keys are bytes
static JSValue key_raw(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int is_private;
  struct bytes bytes;
  if (JS_ToInt32(ctx, &is_private, argv[1])) return JS_EXCEPTION;
  char *kind = copied_text(ctx, argv[0]);
  if (!kind) return JS_EXCEPTION;
  EVP_PKEY *key = NULL;
  if (!bytes_from(ctx, argv[2], &bytes))
    key = is_private ? EVP_PKEY_new_raw_private_key_ex(NULL, kind, NULL, bytes.data, bytes.size) : EVP_PKEY_new_raw_public_key_ex(NULL, kind, NULL, bytes.data, bytes.size);
  free(kind);
  return key ? object_of_key(ctx, key) : failed_with(ctx, "Key import failed");
}

// keyGenerate(kind, parts, 1 for parameters alone, parameters or undefined) -> a key
static JSValue key_generate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int parameters_only;
  struct parts parts;
  if (JS_ToInt32(ctx, &parameters_only, argv[2])) return JS_EXCEPTION;
  EVP_PKEY *like = JS_IsUndefined(argv[3]) ? NULL : key_of(ctx, argv[3]), *key = NULL;
  if (!like && !JS_IsUndefined(argv[3])) return JS_EXCEPTION;
  char *kind = copied_text(ctx, argv[0]);
  if (!kind) return JS_EXCEPTION;
  EVP_PKEY_CTX *work = NULL;
  if (!read_parts(ctx, argv[1], &parts)) {
    work = like ? EVP_PKEY_CTX_new_from_pkey(NULL, like, NULL) : EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    if (work && (parameters_only ? EVP_PKEY_paramgen_init(work) : EVP_PKEY_keygen_init(work)) > 0 &&
        (!parts.parameters[0].key || EVP_PKEY_CTX_set_params(work, parts.parameters) > 0))
      EVP_PKEY_generate(work, &key);
  }
  EVP_PKEY_CTX_free(work);
  free_parts(&parts);
  free(kind);
  return key ? object_of_key(ctx, key) : failed_with(ctx, "Key generation job failed");
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("keyBuild", 3, key_build),
  JS_CFUNC_DEF("keyRaw", 3, key_raw),
  JS_CFUNC_DEF("keyGenerate", 4, key_generate),
};

void add_key_making_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
