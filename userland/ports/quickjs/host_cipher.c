// Ciphers for node's crypto, in the order and with the refusals of Node.js: what it lets a program do with a tag, and when.
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "host_crypto.h"

enum tag_state { TAG_UNKNOWN, TAG_KNOWN, TAG_GIVEN };
enum { NO_TAG_SIZE = -1, MOST_TAG = 16 };

struct cipher {
  EVP_CIPHER_CTX *work;  // NULL once it has ended
  int encrypts;
  int mode;
  int authenticates;
  int polynomial;  // ChaCha20-Poly1305
  int tag_size;
  int most_message;
  enum tag_state tag_state;
  int has_failed;  // CCM tells with the data, Node.js at the end
  uint8_t tag[MOST_TAG];
};

static JSClassID cipher_class;

static void free_cipher(JSRuntime *runtime, JSValue value)
{
  struct cipher *cipher = JS_GetOpaque(value, cipher_class);
  if (!cipher) return;
  EVP_CIPHER_CTX_free(cipher->work);
  free(cipher);
}

static EVP_CIPHER *cipher_named(JSContext *ctx, JSValueConst value)
{
  const char *name = JS_ToCString(ctx, value);
  EVP_CIPHER *kind = name ? EVP_CIPHER_fetch(NULL, name, NULL) : NULL;
  JS_FreeCString(ctx, name);
  // The one that changes nothing is none of Node's.
  if (kind && EVP_CIPHER_is_a(kind, "NULL")) {
    EVP_CIPHER_free(kind);
    kind = NULL;
  }
  ERR_clear_error();
  return kind;
}

static int is_tag_size_of_gcm(int size)
{
  return size == 4 || size == 8 || (size >= 12 && size <= 16);
}

static JSValue bad_tag_size(JSContext *ctx, int size)
{
  char words[80];
  snprintf(words, sizeof words, "Invalid authentication tag length: %u", (unsigned)size);
  return throw_coded(ctx, "TypeError", "ERR_CRYPTO_INVALID_AUTH_TAG", words);
}

static JSValue bad_iv(JSContext *ctx)
{
  return throw_coded(ctx, "TypeError", "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
}

// What authenticates is told the sizes of its vector and its tag first. Undefined, or an exception.
static JSValue set_authenticated(JSContext *ctx, struct cipher *cipher, const char *name, int iv_size, int tag_size)
{
  if (!EVP_CIPHER_CTX_ctrl(cipher->work, EVP_CTRL_AEAD_SET_IVLEN, iv_size, NULL)) return bad_iv(ctx);
  if (cipher->mode == EVP_CIPH_GCM_MODE) {
    if (tag_size != NO_TAG_SIZE && !is_tag_size_of_gcm(tag_size)) return bad_tag_size(ctx, tag_size);
    cipher->tag_size = tag_size;
    return JS_UNDEFINED;
  }
  if (tag_size == NO_TAG_SIZE && cipher->polynomial) tag_size = MOST_TAG;
  if (tag_size == NO_TAG_SIZE) {
    char words[120];
    snprintf(words, sizeof words, "authTagLength required for %.60s", name);
    return throw_coded(ctx, "TypeError", "ERR_CRYPTO_INVALID_AUTH_TAG", words);
  }
  if (tag_size > MOST_TAG || !EVP_CIPHER_CTX_ctrl(cipher->work, EVP_CTRL_AEAD_SET_TAG, tag_size, NULL)) return bad_tag_size(ctx, tag_size);
  cipher->tag_size = tag_size;
  if (cipher->mode == EVP_CIPH_CCM_MODE) cipher->most_message = iv_size == 12 ? 16777215 : iv_size == 13 ? 65535 : INT_MAX;
  return JS_UNDEFINED;
}

static JSValue start_cipher(JSContext *ctx, struct cipher *cipher, const EVP_CIPHER *kind, const char *name, const struct bytes *key, const struct bytes *iv, int tag_size)
{
  cipher->mode = EVP_CIPHER_get_mode(kind);
  cipher->polynomial = EVP_CIPHER_is_a(kind, "ChaCha20-Poly1305");
  cipher->authenticates = cipher->polynomial || cipher->mode == EVP_CIPH_GCM_MODE || cipher->mode == EVP_CIPH_CCM_MODE || cipher->mode == EVP_CIPH_OCB_MODE;
  cipher->tag_size = NO_TAG_SIZE;
  cipher->most_message = INT_MAX;
  const int wanted = EVP_CIPHER_get_iv_length(kind), has_iv = iv->size > 0;
  if ((!has_iv && wanted) || (has_iv && !cipher->authenticates && (int)iv->size != wanted) || (cipher->polynomial && iv->size > 12)) return bad_iv(ctx);
  cipher->work = EVP_CIPHER_CTX_new();
  if (!cipher->work) return JS_ThrowOutOfMemory(ctx);
  if (cipher->mode == EVP_CIPH_WRAP_MODE) EVP_CIPHER_CTX_set_flags(cipher->work, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
  if (!EVP_CipherInit_ex2(cipher->work, kind, NULL, NULL, cipher->encrypts, NULL)) return throw_openssl(ctx, "Failed to initialize cipher");
  if (cipher->authenticates) {
    JSValue result = set_authenticated(ctx, cipher, name, (int)iv->size, tag_size);
    if (JS_IsException(result)) return result;
  }
  if (key->size != (size_t)EVP_CIPHER_CTX_get_key_length(cipher->work) && EVP_CIPHER_CTX_set_key_length(cipher->work, (int)key->size) <= 0)
    return throw_coded(ctx, "RangeError", "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
  if (!EVP_CipherInit_ex2(cipher->work, NULL, key->data, has_iv ? iv->data : NULL, cipher->encrypts, NULL)) return throw_openssl(ctx, "Failed to initialize cipher");
  return JS_UNDEFINED;
}

// cipherOpen(1 to encrypt, name, key, vector or null, size of the tag or -1) -> a cipher
static JSValue cipher_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes key, iv;
  int encrypts, tag_size;
  if (JS_ToInt32(ctx, &encrypts, argv[0]) || JS_ToInt32(ctx, &tag_size, argv[4])) return JS_EXCEPTION;
  const char *name = JS_ToCString(ctx, argv[1]);
  EVP_CIPHER *kind = name ? cipher_named(ctx, argv[1]) : NULL;
  if (name && !kind) throw_coded(ctx, "Error", "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
  struct cipher *cipher = kind ? calloc(1, sizeof *cipher) : NULL;
  if (kind && !cipher) JS_ThrowOutOfMemory(ctx);
  JSValue object = JS_EXCEPTION;
  if (cipher) {
    cipher->encrypts = encrypts != 0;
    object = JS_NewObjectClass(ctx, cipher_class);
    if (JS_IsException(object)) free(cipher);
    else JS_SetOpaque(object, cipher);
  }
  if (!JS_IsException(object) && (bytes_from(ctx, argv[2], &key) || optional_bytes_from(ctx, argv[3], &iv) ||
                                  JS_IsException(start_cipher(ctx, cipher, kind, name, &key, &iv, tag_size)))) {
    JS_FreeValue(ctx, object);
    object = JS_EXCEPTION;
  }
  EVP_CIPHER_free(kind);
  JS_FreeCString(ctx, name);
  return object;
}

// A tag that the program has given goes to OpenSSL before the first data.
static int pass_tag(struct cipher *cipher)
{
  if (cipher->encrypts || !cipher->authenticates || cipher->tag_state != TAG_KNOWN) return 1;
  if (!EVP_CIPHER_CTX_ctrl(cipher->work, EVP_CTRL_AEAD_SET_TAG, cipher->tag_size, cipher->tag)) return 0;
  cipher->tag_state = TAG_GIVEN;
  return 1;
}

static JSValue message_too_long(JSContext *ctx)
{
  return throw_coded(ctx, "RangeError", "ERR_CRYPTO_INVALID_MESSAGELEN", "Invalid message length");
}

// cipherUpdate(cipher, bytes) -> what came of them
static JSValue cipher_update(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes data;
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher || bytes_from(ctx, argv[1], &data)) return JS_EXCEPTION;
  if (!cipher->work) return throw_openssl(ctx, "Trying to add data in unsupported state");
  if (cipher->mode == EVP_CIPH_CCM_MODE && (int)data.size > cipher->most_message) return message_too_long(ctx);
  if (!pass_tag(cipher)) return throw_openssl(ctx, "Trying to add data in unsupported state");
  const int block = EVP_CIPHER_CTX_get_block_size(cipher->work);
  if (data.size > (size_t)(INT_MAX - 2 * block)) return message_too_long(ctx);
  // Wrapped keys are up to a block and a half longer than what is in them.
  uint8_t *out = malloc(data.size + 2 * (size_t)block + 16);
  int size = 0;
  if (!out) return JS_ThrowOutOfMemory(ctx);
  const int done = EVP_CipherUpdate(cipher->work, out, &size, data.data, (int)data.size);
  if (!done && !cipher->encrypts && cipher->mode == EVP_CIPH_CCM_MODE) {
    ERR_clear_error();
    cipher->has_failed = 1;
    return bytes_of(ctx, out, 0);
  }
  if (done) return bytes_of(ctx, out, (size_t)size);
  free(out);
  return throw_openssl(ctx, "Trying to add data in unsupported state");
}

static int finish_cipher(struct cipher *cipher, uint8_t *out, int *size)
{
  if (!pass_tag(cipher)) return 0;
  if (!cipher->encrypts && cipher->polynomial && cipher->tag_state != TAG_GIVEN) return 0;
  if (!cipher->encrypts && cipher->mode == EVP_CIPH_CCM_MODE) return !cipher->has_failed;
  // Without a tag to hold it against there is nothing that would be authentic.
  if (!cipher->encrypts && cipher->authenticates && cipher->tag_state != TAG_GIVEN) return 0;
  if (!EVP_CipherFinal_ex(cipher->work, out, size)) return 0;
  if (!cipher->encrypts || !cipher->authenticates) return 1;
  if (cipher->tag_size == NO_TAG_SIZE) cipher->tag_size = MOST_TAG;
  return EVP_CIPHER_CTX_ctrl(cipher->work, EVP_CTRL_AEAD_GET_TAG, cipher->tag_size, cipher->tag);
}

// cipherFinal(cipher) -> the last of it
static JSValue cipher_final(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher) return JS_EXCEPTION;
  if (!cipher->work) return throw_coded(ctx, "Error", "ERR_CRYPTO_INVALID_STATE", "Invalid state");
  uint8_t *out = malloc(EVP_MAX_BLOCK_LENGTH);
  int size = 0;
  if (!out) return JS_ThrowOutOfMemory(ctx);
  const int done = finish_cipher(cipher, out, &size);
  EVP_CIPHER_CTX_free(cipher->work);
  cipher->work = NULL;
  if (done) return bytes_of(ctx, out, (size_t)size);
  free(out);
  return throw_openssl(ctx, cipher->authenticates ? "Unsupported state or unable to authenticate data" : "Unsupported state");
}

// cipherPadding(cipher, 0 or 1) -> whether it could still be said
static JSValue cipher_padding(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int pads;
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher || JS_ToInt32(ctx, &pads, argv[1])) return JS_EXCEPTION;
  return JS_NewBool(ctx, cipher->work && EVP_CIPHER_CTX_set_padding(cipher->work, pads));
}

// cipherAssociated(cipher, bytes, size of the text or -1) -> whether they could be taken
static JSValue cipher_associated(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes data;
  int text, size;
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher || JS_ToInt32(ctx, &text, argv[2]) || bytes_from(ctx, argv[1], &data)) return JS_EXCEPTION;
  if (!cipher->work || !cipher->authenticates) return JS_FALSE;
  if (cipher->mode == EVP_CIPH_CCM_MODE) {
    if (text < 0) return throw_coded(ctx, "TypeError", "ERR_MISSING_ARGS", "options.plaintextLength required for CCM mode with AAD");
    if (text > cipher->most_message) return message_too_long(ctx);
    if (!pass_tag(cipher) || !EVP_CipherUpdate(cipher->work, NULL, &size, NULL, text)) return (ERR_clear_error(), JS_FALSE);
  }
  const int done = EVP_CipherUpdate(cipher->work, NULL, &size, data.data, (int)data.size);
  ERR_clear_error();
  return JS_NewBool(ctx, done);
}

// cipherTag(cipher) -> the tag, undefined where there is none yet
static JSValue cipher_tag(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher) return JS_EXCEPTION;
  if (cipher->work || !cipher->encrypts || !cipher->authenticates || cipher->tag_size == NO_TAG_SIZE) return JS_UNDEFINED;
  return copy_of_bytes(ctx, cipher->tag, (size_t)cipher->tag_size);
}

// cipherSetTag(cipher, bytes) -> whether one could be set
static JSValue cipher_set_tag(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes tag;
  struct cipher *cipher = JS_GetOpaque2(ctx, argv[0], cipher_class);
  if (!cipher || bytes_from(ctx, argv[1], &tag)) return JS_EXCEPTION;
  if (!cipher->work || !cipher->authenticates || cipher->encrypts || cipher->tag_state != TAG_UNKNOWN) return JS_FALSE;
  const int fits = cipher->tag_size == NO_TAG_SIZE || cipher->tag_size == (int)tag.size;
  if (!fits || tag.size > MOST_TAG || (cipher->mode == EVP_CIPH_GCM_MODE && !is_tag_size_of_gcm((int)tag.size))) return bad_tag_size(ctx, (int)tag.size);
  cipher->tag_size = (int)tag.size;
  cipher->tag_state = TAG_KNOWN;
  memcpy(cipher->tag, tag.data, tag.size);
  return JS_TRUE;
}

static const char *mode_word(const EVP_CIPHER *kind)
{
  switch (EVP_CIPHER_get_mode(kind)) {
  case EVP_CIPH_CBC_MODE: return "cbc";
  case EVP_CIPH_CCM_MODE: return "ccm";
  case EVP_CIPH_CFB_MODE: return "cfb";
  case EVP_CIPH_CTR_MODE: return "ctr";
  case EVP_CIPH_ECB_MODE: return "ecb";
  case EVP_CIPH_GCM_MODE: return "gcm";
  case EVP_CIPH_OCB_MODE: return "ocb";
  case EVP_CIPH_OFB_MODE: return "ofb";
  case EVP_CIPH_WRAP_MODE: return "wrap";
  case EVP_CIPH_XTS_MODE: return "xts";
  case EVP_CIPH_STREAM_CIPHER: return "stream";
  }
  return NULL;
}

// The sizes that are asked for: 0 where the cipher does not take one. What it takes is left in the context.
static int takes_sizes(EVP_CIPHER_CTX *work, const EVP_CIPHER *kind, int key_size, int iv_size)
{
  if (!work || !EVP_CipherInit_ex2(work, kind, NULL, NULL, 1, NULL)) return 0;
  if (key_size >= 0 && key_size != EVP_CIPHER_CTX_get_key_length(work) && EVP_CIPHER_CTX_set_key_length(work, key_size) <= 0) return 0;
  if (iv_size < 0) return 1;
  const int mode = EVP_CIPHER_get_mode(kind);
  if (mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_GCM_MODE || mode == EVP_CIPH_OCB_MODE || EVP_CIPHER_is_a(kind, "ChaCha20-Poly1305"))
    return EVP_CIPHER_CTX_ctrl(work, EVP_CTRL_AEAD_SET_IVLEN, iv_size, NULL) > 0;
  return iv_size == EVP_CIPHER_get_iv_length(kind);
}

// cipherInfo(name or nid, size of the key or -1, size of the vector or -1) -> [name, nid, block, vector, key, mode], undefined where there is no such
static JSValue cipher_info(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int key_size, iv_size, nid;
  EVP_CIPHER *kind = NULL;
  if (JS_ToInt32(ctx, &key_size, argv[1]) || JS_ToInt32(ctx, &iv_size, argv[2])) return JS_EXCEPTION;
  if (JS_IsNumber(argv[0])) {
    if (JS_ToInt32(ctx, &nid, argv[0])) return JS_EXCEPTION;
    const char *name = OBJ_nid2sn(nid);
    kind = name ? EVP_CIPHER_fetch(NULL, name, NULL) : NULL;
  } else {
    kind = cipher_named(ctx, argv[0]);
    if (!kind && JS_HasException(ctx)) return JS_EXCEPTION;
  }
  EVP_CIPHER_CTX *work = EVP_CIPHER_CTX_new();
  JSValue result = JS_UNDEFINED;
  if (kind && takes_sizes(work, kind, key_size, iv_size)) {
    result = JS_NewArray(ctx);
    nid = EVP_CIPHER_get_nid(kind);
    const char *mode = mode_word(kind), *name = nid ? OBJ_nid2sn(nid) : EVP_CIPHER_get0_name(kind);
    JS_SetPropertyUint32(ctx, result, 0, JS_NewString(ctx, name ? name : ""));
    JS_SetPropertyUint32(ctx, result, 1, JS_NewInt32(ctx, nid));
    JS_SetPropertyUint32(ctx, result, 2, JS_NewInt32(ctx, EVP_CIPHER_get_block_size(kind)));
    JS_SetPropertyUint32(ctx, result, 3, JS_NewInt32(ctx, iv_size >= 0 ? iv_size : EVP_CIPHER_get_iv_length(kind)));
    JS_SetPropertyUint32(ctx, result, 4, JS_NewInt32(ctx, key_size >= 0 ? key_size : EVP_CIPHER_get_key_length(kind)));
    JS_SetPropertyUint32(ctx, result, 5, mode ? JS_NewString(ctx, mode) : JS_UNDEFINED);
  }
  EVP_CIPHER_CTX_free(work);
  EVP_CIPHER_free(kind);
  ERR_clear_error();
  return result;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("cipherOpen", 5, cipher_open),
  JS_CFUNC_DEF("cipherUpdate", 2, cipher_update),
  JS_CFUNC_DEF("cipherFinal", 1, cipher_final),
  JS_CFUNC_DEF("cipherPadding", 2, cipher_padding),
  JS_CFUNC_DEF("cipherAssociated", 3, cipher_associated),
  JS_CFUNC_DEF("cipherTag", 1, cipher_tag),
  JS_CFUNC_DEF("cipherSetTag", 2, cipher_set_tag),
  JS_CFUNC_DEF("cipherInfo", 3, cipher_info),
};

void add_cipher_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "CipherBase", .finalizer = free_cipher };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &cipher_class);
  JS_NewClass(runtime, cipher_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
