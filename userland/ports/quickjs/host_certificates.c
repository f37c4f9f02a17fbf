// X.509 certificates for node's crypto: what they say, and what they are good for.
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host_crypto.h"

static JSClassID certificate_class;

static void free_certificate(JSRuntime *runtime, JSValue value)
{
  X509_free(JS_GetOpaque(value, certificate_class));
}

X509 *certificate_of(JSContext *ctx, JSValueConst value)
{
  return JS_GetOpaque2(ctx, value, certificate_class);
}

static int refuse_passphrase(char *buffer, int room, int writes, void *given)
{
  return -1;
}

// certificateRead(bytes of PEM or DER) -> a certificate
static JSValue certificate_read(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct bytes data;
  if (bytes_from(ctx, argv[0], &data)) return JS_EXCEPTION;
  ERR_clear_error();
  BIO *in = BIO_new_mem_buf(data.data, (int)data.size);
  X509 *certificate = in ? PEM_read_bio_X509_AUX(in, NULL, refuse_passphrase, NULL) : NULL;
  BIO_free(in);
  if (!certificate) {
    const unsigned char *at = data.data;
    // What is said is what is wrong with it as PEM, as Node.js has it.
    ERR_set_mark();
    certificate = d2i_X509(NULL, &at, (long)data.size);
    if (!certificate) {
      ERR_pop_to_mark();
      return throw_openssl(ctx, "Failed to parse certificate");
    }
    ERR_clear_error();
  }
  JSValue object = JS_NewObjectClass(ctx, certificate_class);
  if (JS_IsException(object)) X509_free(certificate);
  else JS_SetOpaque(object, certificate);
  return object;
}

// --- Its names ---

static JSValue text_of(JSContext *ctx, BIO *out)
{
  char *text = NULL;
  const long size = BIO_get_mem_data(out, &text);
  JSValue value = JS_NewStringLen(ctx, text, size > 0 ? (size_t)size : 0);
  BIO_free(out);
  return value;
}

static JSValue name_text(JSContext *ctx, const X509_NAME *name)
{
  BIO *out = BIO_new(BIO_s_mem());
  if (!out) return JS_ThrowOutOfMemory(ctx);
  X509_NAME_print_ex(out, name, 0, ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | XN_FLAG_SEP_MULTILINE | XN_FLAG_FN_SN);
  return text_of(ctx, out);
}

// The entries of a name as [short name, value, ...].
static JSValue name_entries(JSContext *ctx, const X509_NAME *name)
{
  JSValue list = JS_NewArray(ctx);
  uint32_t count = 0;
  for (int i = 0; i < X509_NAME_entry_count(name); i++) {
    const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, i);
    const ASN1_OBJECT *object = X509_NAME_ENTRY_get_object(entry);
    const int nid = OBJ_obj2nid(object);
    char number[80];
    unsigned char *value = NULL;
    if (nid == NID_undef) OBJ_obj2txt(number, sizeof number, object, 1);
    const int size = ASN1_STRING_to_UTF8(&value, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    JS_SetPropertyUint32(ctx, list, count++, JS_NewString(ctx, nid == NID_undef ? number : OBJ_nid2sn(nid)));
    JS_SetPropertyUint32(ctx, list, count++, JS_NewStringLen(ctx, (char *)value, (size_t)size));
    OPENSSL_free(value);
  }
  return list;
}

static int is_plain(const unsigned char *text, int size)
{
  for (int i = 0; i < size; i++)
    if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\' || text[i] == ',' || text[i] == '\'') return 0;
  return 1;
}

// A name within a list of names: quoted as JSON where it could be taken for more than one.
static void print_name(BIO *out, const unsigned char *text, int size, const char *prefix)
{
  if (is_plain(text, size)) {
    BIO_printf(out, "%s", prefix ? prefix : "");
    BIO_write(out, text, size);
    return;
  }
  BIO_printf(out, "\"%s", prefix ? prefix : "");
  for (int i = 0; i < size; i++) {
    if (text[i] == '\\' || text[i] == '"') BIO_printf(out, "\\%c", text[i]);
    else if (text[i] >= ' ' && text[i] != ',' && text[i] <= '~') BIO_write(out, text + i, 1);
    else BIO_printf(out, "\\u00%02x", text[i]);
  }
  BIO_printf(out, "\"");
}

static void print_address(BIO *out, const ASN1_OCTET_STRING *address)
{
  const unsigned char *at = ASN1_STRING_get0_data(address);
  const int size = ASN1_STRING_length(address);
  BIO_printf(out, "IP Address:");
  if (size == 4) BIO_printf(out, "%d.%d.%d.%d", at[0], at[1], at[2], at[3]);
  else if (size == 16)
    for (int i = 0; i < 16; i += 2) BIO_printf(out, "%s%X", i ? ":" : "", at[i] << 8 | at[i + 1]);
  else BIO_printf(out, "<invalid length=%d>", size);
}

static void print_general_name(BIO *out, const GENERAL_NAME *name)
{
  int kind;
  const void *value = GENERAL_NAME_get0_value(name, &kind);
  switch (kind) {
  case GEN_DNS:
  case GEN_EMAIL:
  case GEN_URI:
    BIO_printf(out, "%s", kind == GEN_DNS ? "DNS:" : kind == GEN_EMAIL ? "email:" : "URI:");
    print_name(out, ASN1_STRING_get0_data(value), ASN1_STRING_length(value), NULL);
    return;
  case GEN_IPADD: print_address(out, value); return;
  case GEN_RID: {
    char number[128];
    OBJ_obj2txt(number, sizeof number, value, 1);
    BIO_printf(out, "Registered ID:%s", number);
    return;
  }
  case GEN_DIRNAME: {
    BIO *inner = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (!inner) return;
    X509_NAME_print_ex(inner, value, 0, ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | XN_FLAG_SEP_COMMA_PLUS | XN_FLAG_FN_SN);
    const long size = BIO_get_mem_data(inner, &text);
    BIO_printf(out, "DirName:");
    print_name(out, (unsigned char *)text, (int)size, NULL);
    BIO_free(inner);
    return;
  }
  default: BIO_printf(out, "%s:<unsupported>", kind == GEN_X400 ? "X400Name" : kind == GEN_EDIPARTY ? "EdiPartyName" : "othername");
  }
}

static JSValue alternative_names(JSContext *ctx, const X509 *certificate)
{
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  if (!names) return JS_UNDEFINED;
  BIO *out = BIO_new(BIO_s_mem());
  for (int i = 0; out && i < sk_GENERAL_NAME_num(names); i++) {
    if (i) BIO_printf(out, ", ");
    print_general_name(out, sk_GENERAL_NAME_value(names, i));
  }
  GENERAL_NAMES_free(names);
  return out ? text_of(ctx, out) : JS_ThrowOutOfMemory(ctx);
}

static JSValue information_access(JSContext *ctx, const X509 *certificate)
{
  AUTHORITY_INFO_ACCESS *list = X509_get_ext_d2i(certificate, NID_info_access, NULL, NULL);
  if (!list) return JS_UNDEFINED;
  BIO *out = BIO_new(BIO_s_mem());
  for (int i = 0; out && i < sk_ACCESS_DESCRIPTION_num(list); i++) {
    const ACCESS_DESCRIPTION *entry = sk_ACCESS_DESCRIPTION_value(list, i);
    char method[80];
    i2t_ASN1_OBJECT(method, sizeof method, entry->method);
    BIO_printf(out, "%s%s - ", i ? "\n" : "", method);
    print_general_name(out, entry->location);
  }
  AUTHORITY_INFO_ACCESS_free(list);
  return out ? text_of(ctx, out) : JS_ThrowOutOfMemory(ctx);
}

// --- All that it says ---

static JSValue time_text(JSContext *ctx, const ASN1_TIME *time)
{
  BIO *out = BIO_new(BIO_s_mem());
  if (!out) return JS_ThrowOutOfMemory(ctx);
  ASN1_TIME_print(out, time);
  return text_of(ctx, out);
}

static JSValue serial_text(JSContext *ctx, const X509 *certificate)
{
  BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
  char *text = number ? BN_bn2hex(number) : NULL;
  JSValue value = text ? JS_NewString(ctx, text) : JS_UNDEFINED;
  OPENSSL_free(text);
  BN_free(number);
  return value;
}

static JSValue fingerprint(JSContext *ctx, const X509 *certificate, const EVP_MD *digest)
{
  unsigned char bytes[EVP_MAX_MD_SIZE];
  char text[3 * EVP_MAX_MD_SIZE + 1] = "";
  unsigned int size = 0;
  if (!X509_digest(certificate, digest, bytes, &size)) return JS_UNDEFINED;
  for (unsigned int i = 0; i < size; i++) snprintf(text + 3 * i, 4, "%02X:", bytes[i]);
  return JS_NewStringLen(ctx, text, size ? 3 * size - 1 : 0);
}

static JSValue purposes(JSContext *ctx, const X509 *certificate)
{
  EXTENDED_KEY_USAGE *list = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
  if (!list) return JS_UNDEFINED;
  JSValue names = JS_NewArray(ctx);
  for (int i = 0; i < sk_ASN1_OBJECT_num(list); i++) {
    char number[128];
    OBJ_obj2txt(number, sizeof number, sk_ASN1_OBJECT_value(list, i), 1);
    JS_SetPropertyUint32(ctx, names, (uint32_t)i, JS_NewString(ctx, number));
  }
  sk_ASN1_OBJECT_pop_free(list, ASN1_OBJECT_free);
  return names;
}

static JSValue written(JSContext *ctx, const X509 *certificate)
{
  unsigned char *der = NULL;
  const int size = i2d_X509(certificate, &der);
  JSValue bytes = size > 0 ? JS_NewArrayBufferCopy(ctx, der, (size_t)size) : throw_openssl(ctx, "Failed to write certificate");
  OPENSSL_free(der);
  return bytes;
}

static JSValue signature_name(JSContext *ctx, const X509 *certificate)
{
  const int nid = X509_get_signature_nid(certificate);
  return nid == NID_undef ? JS_UNDEFINED : JS_NewString(ctx, OBJ_nid2ln(nid));
}

// certificateParts(certificate) -> what it says, by Node's names
static JSValue certificate_parts(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  X509 *certificate = certificate_of(ctx, argv[0]);
  if (!certificate) return JS_EXCEPTION;
  const struct { const char *name; JSValue value; } parts[] = {
    { "subject", name_text(ctx, X509_get_subject_name(certificate)) },
    { "issuer", name_text(ctx, X509_get_issuer_name(certificate)) },
    { "subjectEntries", name_entries(ctx, X509_get_subject_name(certificate)) },
    { "issuerEntries", name_entries(ctx, X509_get_issuer_name(certificate)) },
    { "subjectAltName", alternative_names(ctx, certificate) },
    { "infoAccess", information_access(ctx, certificate) },
    { "validFrom", time_text(ctx, X509_get0_notBefore(certificate)) },
    { "validTo", time_text(ctx, X509_get0_notAfter(certificate)) },
    { "fingerprint", fingerprint(ctx, certificate, EVP_sha1()) },
    { "fingerprint256", fingerprint(ctx, certificate, EVP_sha256()) },
    { "fingerprint512", fingerprint(ctx, certificate, EVP_sha512()) },
    { "keyUsage", purposes(ctx, certificate) },
    { "serialNumber", serial_text(ctx, certificate) },
    { "signatureAlgorithm", signature_name(ctx, certificate) },
    { "raw", written(ctx, certificate) },
    { "ca", JS_NewBool(ctx, X509_check_ca(certificate) == 1) },
  };
  JSValue object = JS_NewObject(ctx);
  int failed = JS_IsException(object);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (JS_IsException(parts[i].value)) failed = 1;
    else if (failed) JS_FreeValue(ctx, parts[i].value);
    else JS_SetPropertyStr(ctx, object, parts[i].name, parts[i].value);
  }
  ERR_clear_error();
  if (!failed) return object;
  JS_FreeValue(ctx, object);
  return JS_EXCEPTION;
}

// certificateKey(certificate) -> its public key
static JSValue certificate_key(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  X509 *certificate = certificate_of(ctx, argv[0]);
  if (!certificate) return JS_EXCEPTION;
  EVP_PKEY *key = X509_get_pubkey(certificate);
  return key ? object_of_key(ctx, key) : throw_openssl(ctx, "Failed to read public key");
}

// --- What it is good for ---

// certificateMatches(certificate, 'host', 'email' or 'ip', text, flags) -> the name that fits (for a host), true, false; undefined for text that is none
static JSValue certificate_matches(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  unsigned flags;
  X509 *certificate = certificate_of(ctx, argv[0]);
  if (!certificate || JS_ToUint32(ctx, &flags, argv[3])) return JS_EXCEPTION;
  const char *kind = JS_ToCString(ctx, argv[1]);
  size_t size = 0;
  const char *text = kind ? JS_ToCStringLen(ctx, &size, argv[2]) : NULL;
  char *peer = NULL;
  int status = -1;
  if (text && strlen(text) != size) status = -1;  // No name has such a byte.
  else if (text && !strcmp(kind, "host")) status = X509_check_host(certificate, text, size, flags, &peer);
  else if (text && !strcmp(kind, "email")) status = X509_check_email(certificate, text, size, flags);
  else if (text) status = X509_check_ip_asc(certificate, text, flags);
  JSValue result = !text ? JS_EXCEPTION : status == 1 ? (peer ? JS_NewString(ctx, peer) : JS_TRUE) : status == 0 ? JS_FALSE : JS_UNDEFINED;
  OPENSSL_free(peer);
  JS_FreeCString(ctx, text);
  JS_FreeCString(ctx, kind);
  ERR_clear_error();
  return result;
}

// certificateIssued(certificate, that of who may have issued it) -> whether it is so by its names
static JSValue certificate_issued(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  X509 *certificate = certificate_of(ctx, argv[0]), *issuer = certificate ? certificate_of(ctx, argv[1]) : NULL;
  if (!issuer) return JS_EXCEPTION;
  const int status = X509_check_issued(issuer, certificate);
  ERR_clear_error();
  return JS_NewBool(ctx, status == X509_V_OK);
}

// certificateVerified(certificate, key) -> whether the key has signed it
static JSValue certificate_verified(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  X509 *certificate = certificate_of(ctx, argv[0]);
  EVP_PKEY *key = certificate ? key_of(ctx, argv[1]) : NULL;
  if (!key) return JS_EXCEPTION;
  const int status = X509_verify(certificate, key);
  ERR_clear_error();
  return JS_NewBool(ctx, status > 0);
}

// certificateOwns(certificate, private key) -> whether they belong together
static JSValue certificate_owns(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  X509 *certificate = certificate_of(ctx, argv[0]);
  EVP_PKEY *key = certificate ? key_of(ctx, argv[1]) : NULL;
  if (!key) return JS_EXCEPTION;
  const int status = X509_check_private_key(certificate, key);
  ERR_clear_error();
  return JS_NewBool(ctx, status == 1);
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("certificateRead", 1, certificate_read),
  JS_CFUNC_DEF("certificateParts", 1, certificate_parts),
  JS_CFUNC_DEF("certificateKey", 1, certificate_key),
  JS_CFUNC_DEF("certificateMatches", 4, certificate_matches),
  JS_CFUNC_DEF("certificateIssued", 2, certificate_issued),
  JS_CFUNC_DEF("certificateVerified", 2, certificate_verified),
  JS_CFUNC_DEF("certificateOwns", 2, certificate_owns),
};

void add_certificate_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "X509Certificate", .finalizer = free_certificate };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &certificate_class);
  JS_NewClass(runtime, certificate_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
