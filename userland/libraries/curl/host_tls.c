/* TLS for curl by the host: its vtls backend of this port, in the place of the one for BearSSL.

   The kernel speaks TLS on a connection after setsockopt(fd, 0x1000, 1, {"host", "alpn", "minimum"}), as docs/network.md says:
   the answer is a word of length (little endian) and as much JSON, then what is read and written is plain. The host checks the
   server's certificate and name in any case, so -k, --cacert and --ciphers change nothing. */

#include "curl_setup.h"

#ifdef USE_BEARSSL

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "urldata.h"
#include "sendf.h"
#include "cfilters.h"
#include "vtls.h"
#include "vtls_int.h"
#include "bearssl.h"
#include "connect.h"
#include "select.h"

#include "curl_printf.h"
#include "curl_memory.h"
#include "memdebug.h"

#define LEVEL_CLOCHE 0x1000
#define START_TLS 1
#define ANSWER_MAX (256 * 1024)
#define TEXT_MAX 512

struct ssl_backend_data {
  unsigned char head[4];
  size_t have;    /* of head, then of the answer */
  char *answer;   /* NULL: the head is not whole */
  size_t length;  /* of the answer */
};

/* A JSON string for text of the command line. */
static int quote(char *to, size_t room, const char *text)
{
  size_t n = 0;
  for(; *text; ++text) {
    unsigned char c = (unsigned char)*text;
    if(n + 3 > room || c < 0x20)
      return 0;
    if(c == '"' || c == '\\')
      to[n++] = '\\';
    to[n++] = (char)c;
  }
  to[n] = 0;
  return 1;
}

/* The string that follows the first place where JSON has `key`; "" where it has none. */
static void text_after(const char *json, const char *key, char *to)
{
  size_t n = 0;
  const char *at = strstr(json, key);
  if(at) {
    for(at += strlen(key); *at && *at != '"' && n + 1 < TEXT_MAX; ++at) {
      if(*at == '\\' && at[1])
        ++at;
      to[n++] = *at;
    }
  }
  to[n] = 0;
}

static CURLcode start(struct Curl_cfilter *cf, struct Curl_easy *data)
{
  struct ssl_connect_data *connssl = cf->ctx;
  struct ssl_primary_config *config = Curl_ssl_cf_get_primary_config(cf);
  struct ssl_config_data *own = Curl_ssl_cf_get_config(cf, data);
  const char *least = config->version == CURL_SSLVERSION_TLSv1_3 ? "TLSv1.3" : "TLSv1.2";
  char host[TEXT_MAX], request[2 * TEXT_MAX], alpn[ALPN_ENTRIES_MAX * (ALPN_NAME_MAX + 3) + 1];
  size_t i, n = 0;

  if(own->primary.clientcert || own->primary.cert_blob) {
    failf(data, "certificates of clients are not supported in this sandbox");
    return CURLE_SSL_CERTPROBLEM;
  }
  alpn[0] = 0;
  for(i = 0; connssl->alpn && i < connssl->alpn->count; ++i)
    n += msnprintf(alpn + n, sizeof(alpn) - n, "%s\"%s\"", i ? "," : "", connssl->alpn->entries[i]);
  if(!quote(host, sizeof(host), connssl->hostname)) {
    failf(data, "this is no name of a host");
    return CURLE_SSL_CONNECT_ERROR;
  }
  msnprintf(request, sizeof(request), "{\"host\":\"%s\",\"alpn\":[%s],\"minimum\":\"%s\"}", host, alpn, least);
  if(setsockopt(Curl_conn_cf_get_socket(cf, data), LEVEL_CLOCHE, START_TLS, request, (socklen_t)strlen(request))) {
    failf(data, "the host does not speak TLS on this connection: %s", strerror(errno));
    return CURLE_SSL_CONNECT_ERROR;
  }
  connssl->connecting_state = ssl_connect_2_reading;
  return CURLE_OK;
}

/* Reads the answer as far as it is there. CURLE_AGAIN: more is to come. */
static CURLcode read_answer(struct Curl_cfilter *cf, struct Curl_easy *data)
{
  struct ssl_backend_data *backend = ((struct ssl_connect_data *)cf->ctx)->backend;
  for(;;) {
    CURLcode result = CURLE_OK;
    char *to = backend->answer ? backend->answer : (char *)backend->head;
    size_t whole = backend->answer ? backend->length : sizeof(backend->head);
    if(backend->have < whole) {
      ssize_t n = Curl_conn_cf_recv(cf->next, data, to + backend->have, whole - backend->have, &result);
      if(n < 0)
        return result;
      if(n == 0) {
        failf(data, "TLS: the connection was closed during the handshake");
        return CURLE_SSL_CONNECT_ERROR;
      }
      backend->have += (size_t)n;
      continue;
    }
    if(backend->answer)
      return CURLE_OK;
    backend->length = backend->head[0] | (size_t)backend->head[1] << 8 | (size_t)backend->head[2] << 16 |
                      (size_t)backend->head[3] << 24;
    if(backend->length > ANSWER_MAX)
      return CURLE_SSL_CONNECT_ERROR;
    backend->answer = calloc(1, backend->length + 1);
    if(!backend->answer)
      return CURLE_OUT_OF_MEMORY;
    backend->have = 0;
  }
}

static CURLcode judge(struct Curl_cfilter *cf, struct Curl_easy *data)
{
  struct ssl_connect_data *connssl = cf->ctx;
  const char *answer = connssl->backend->answer;
  char text[TEXT_MAX], more[TEXT_MAX];
  const char *colon;

  text_after(answer, "\"error\":\"", text);
  if(text[0]) {
    text_after(answer, "\"reason\":\"", more);
    if(strcmp(more, "CERTIFICATE_VERIFY_FAILED")) {
      failf(data, "TLS connect error: %s", text);
      return CURLE_SSL_CONNECT_ERROR;
    }
    colon = strstr(text, ": ");
    if(strstr(text, "hostname mismatch") || strstr(text, "IP address mismatch"))
      failf(data, "SSL: no alternative certificate subject name matches target host name '%s'", connssl->dispname);
    else
      failf(data, "SSL certificate problem: %s", colon ? colon + 2 : text);
    return CURLE_PEER_FAILED_VERIFICATION;
  }
  text_after(answer, "\"version\":\"", text);
  text_after(answer, "\"cipher\":[\"", more);
  infof(data, "SSL connection using %s / %s, by the host, which has checked the certificate", text, more);
  text_after(answer, "\"alpn\":\"", text);
  if(cf->conn->bits.tls_enable_alpn)
    Curl_alpn_set_negotiated(cf, data, (const unsigned char *)text, strlen(text));
  return CURLE_OK;
}

static CURLcode shake_hands(struct Curl_cfilter *cf, struct Curl_easy *data, bool nonblocking, bool *done)
{
  struct ssl_connect_data *connssl = cf->ctx;
  CURLcode result = CURLE_OK;

  *done = connssl->state == ssl_connection_complete;
  if(*done)
    return CURLE_OK;
  if(connssl->connecting_state == ssl_connect_1)
    result = start(cf, data);
  while(!result && (result = read_answer(cf, data)) == CURLE_AGAIN) {
    timediff_t left = Curl_timeleft(data, NULL, TRUE);
    int ready;
    if(left < 0) {
      failf(data, "SSL connection timeout");
      return CURLE_OPERATION_TIMEDOUT;
    }
    if(nonblocking)
      return CURLE_OK;
    ready = SOCKET_READABLE(Curl_conn_cf_get_socket(cf, data), left ? left : 1000);
    result = ready < 0 ? CURLE_SSL_CONNECT_ERROR : CURLE_OK;
  }
  if(!result)
    result = judge(cf, data);
  if(result)
    return result;
  connssl->state = ssl_connection_complete;
  connssl->connecting_state = ssl_connect_1;
  *done = TRUE;
  return CURLE_OK;
}

static CURLcode host_connect(struct Curl_cfilter *cf, struct Curl_easy *data)
{
  bool done;
  return shake_hands(cf, data, FALSE, &done);
}

static CURLcode host_connect_nonblocking(struct Curl_cfilter *cf, struct Curl_easy *data, bool *done)
{
  return shake_hands(cf, data, TRUE, done);
}

static ssize_t host_recv(struct Curl_cfilter *cf, struct Curl_easy *data, char *buf, size_t len, CURLcode *err)
{
  return Curl_conn_cf_recv(cf->next, data, buf, len, err);
}

static ssize_t host_send(struct Curl_cfilter *cf, struct Curl_easy *data, const void *buf, size_t len, CURLcode *err)
{
  return Curl_conn_cf_send(cf->next, data, buf, len, err);
}

static void host_close(struct Curl_cfilter *cf, struct Curl_easy *data)
{
  struct ssl_backend_data *backend = ((struct ssl_connect_data *)cf->ctx)->backend;
  (void)data;
  Curl_safefree(backend->answer);
  memset(backend, 0, sizeof(*backend));
}

static size_t host_version(char *buffer, size_t size)
{
  return msnprintf(buffer, size, "host-tls/1.0");
}

static bool nothing_pending(struct Curl_cfilter *cf, const struct Curl_easy *data)
{
  (void)cf;
  (void)data;
  return FALSE;
}

static CURLcode random_bytes(struct Curl_easy *data, unsigned char *entropy, size_t length)
{
  (void)data;
  while(length) {
    size_t n = length < 256 ? length : 256;
    if(getentropy(entropy, n))
      return CURLE_FAILED_INIT;
    entropy += n;
    length -= n;
  }
  return CURLE_OK;
}

static void *no_internals(struct ssl_connect_data *connssl, CURLINFO info)
{
  (void)connssl;
  (void)info;
  return NULL;
}

const struct Curl_ssl Curl_ssl_bearssl = {
  { CURLSSLBACKEND_BEARSSL, "host" },
  0,
  sizeof(struct ssl_backend_data),
  Curl_none_init,
  Curl_none_cleanup,
  host_version,
  Curl_none_check_cxn,
  Curl_none_shutdown,
  nothing_pending,
  random_bytes,
  Curl_none_cert_status_request,
  host_connect,
  host_connect_nonblocking,
  Curl_ssl_get_select_socks,
  no_internals,
  host_close,
  Curl_none_close_all,
  Curl_none_session_free,
  Curl_none_set_engine,
  Curl_none_set_engine_default,
  Curl_none_engines_list,
  Curl_none_false_start,
  NULL,
  NULL,
  NULL,
  NULL,
  host_recv,
  host_send,
};

#endif
