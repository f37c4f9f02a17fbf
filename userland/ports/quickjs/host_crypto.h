// What the files of node's crypto share, over OpenSSL's libcrypto.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

// Bytes of a Uint8Array. They are the script's: nothing of it runs between this and their last use.
struct bytes {
  const uint8_t *data;
  size_t size;
};

// 0, or -1 with an exception. No more than an int can count, which is what OpenSSL measures in.
int bytes_from(JSContext *ctx, JSValueConst value, struct bytes *bytes);
// The same, and no bytes (data is NULL) for null and undefined.
int optional_bytes_from(JSContext *ctx, JSValueConst value, struct bytes *bytes);

// Throws OpenSSL's first error of its queue with Node's code for it, or an Error of these words where it says nothing; empties the queue.
JSValue throw_openssl(JSContext *ctx, const char *otherwise);
// Throws an error with a code, and empties OpenSSL's queue.
JSValue throw_coded(JSContext *ctx, const char *kind, const char *code, const char *words);

// A copy as an ArrayBuffer.
JSValue copy_of_bytes(JSContext *ctx, const uint8_t *bytes, size_t size);
// A number as bytes of a size (0: as few as it has).
JSValue bytes_of_number(JSContext *ctx, const BIGNUM *number, int size);
// Sets a property to bytes, or to a number as bytes of a size (0: as few as it has).
int set_bytes(JSContext *ctx, JSValueConst object, const char *name, const uint8_t *bytes, size_t size);
int set_number(JSContext *ctx, JSValueConst object, const char *name, const BIGNUM *number, int size);

// The digest of this name; NULL where there is none, with an exception where the name is no text.
const EVP_MD *digest_named(JSContext *ctx, JSValueConst name);

// A key of two, which the object owns; NULL with an exception where it is none.
EVP_PKEY *key_of(JSContext *ctx, JSValueConst value);
JSValue object_of_key(JSContext *ctx, EVP_PKEY *key);
// An X.509 certificate; the same.
X509 *certificate_of(JSContext *ctx, JSValueConst value);

void add_cipher_functions(JSContext *ctx, JSValueConst native);
void add_key_functions(JSContext *ctx, JSValueConst native);
void add_key_making_functions(JSContext *ctx, JSValueConst native);
void add_signing_functions(JSContext *ctx, JSValueConst native);
void add_agreement_functions(JSContext *ctx, JSValueConst native);
void add_certificate_functions(JSContext *ctx, JSValueConst native);
