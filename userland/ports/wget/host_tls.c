/* TLS for wget by the host, in the place of its OpenSSL and GnuTLS. Part of utils.c (build.sh puts it there).

   The kernel speaks TLS on a connection after setsockopt(fd, 0x1000, 1, {"host", "alpn", "minimum"}), as docs/network.md says:
   the answer is a word of length (little endian) and as much JSON, then what is read and written is plain. The host checks the
   server's certificate and name in any case, so --no-check-certificate and --ca-certificate change nothing.

   These lines are under wget's licence (GPL-3.0-or-later). */

#include <sys/socket.h>
#include "connect.h"
#include "ssl.h"
#include "url.h"

#define LEVEL_CLOCHE 0x1000
#define START_TLS 1

static char host_tls_problem[512];  /* of the last handshake; empty: there is none */
static int host_tls_unverified;     /* it is the certificate */

bool
ssl_init (void)
{
  if (opt.cert_file || opt.private_key)
    {
      logprintf (LOG_NOTQUIET, _("Certificates of clients are not supported in this sandbox.\n"));
      return false;
    }
  return true;
}

void
ssl_cleanup (void)
{
}

static bool
host_tls_read (int fd, char *to, size_t count)
{
  while (count > 0)
    {
      ssize_t n;
      if (opt.read_timeout && select_fd (fd, opt.read_timeout, WAIT_FOR_READ) <= 0)
        return false;
      n = read (fd, to, count);
      if (n <= 0)
        return false;
      to += n;
      count -= n;
    }
  return true;
}

/* The string that follows `key`; what comes before a colon in it is left out. */
static void
host_tls_text (const char *json, const char *key, char *to, size_t room)
{
  const char *at = strstr (json, key);
  size_t n = 0;
  for (at = at ? at + strlen (key) : ""; *at && *at != '"' && n + 1 < room; ++at)
    {
      if (*at == '\\' && at[1])
        ++at;
      to[n++] = *at;
    }
  to[n] = '\0';
}

bool
ssl_connect_wget (int fd, const char *hostname, int *continue_session _GL_UNUSED)
{
  char *request, *answer, reason[64];
  unsigned char head[4];
  size_t length;
  bool good;

  if (strpbrk (hostname, "\"\\"))
    return false;
  request = aprintf ("{\"host\":\"%s\",\"alpn\":[\"http/1.1\"],\"minimum\":\"%s\"}", hostname,
                     opt.secure_protocol == secure_protocol_tlsv1_3 ? "TLSv1.3" : "TLSv1.2");
  good = !setsockopt (fd, LEVEL_CLOCHE, START_TLS, request, strlen (request));
  xfree (request);
  if (!good || !host_tls_read (fd, (char *) head, sizeof head))
    return false;
  length = head[0] | head[1] << 8 | head[2] << 16;
  if (head[3])
    return false;
  answer = xcalloc (1, length + 1);
  good = host_tls_read (fd, answer, length);
  if (good)
    {
      host_tls_text (answer, "\"error\":\"", host_tls_problem, sizeof host_tls_problem);
      host_tls_text (answer, "\"reason\":\"", reason, sizeof reason);
      host_tls_unverified = !strcmp (reason, "CERTIFICATE_VERIFY_FAILED");
      if (host_tls_problem[0] && !host_tls_unverified)
        {
          logprintf (LOG_NOTQUIET, "TLS: %s\n", host_tls_problem);
          good = false;
        }
    }
  xfree (answer);
  return good;
}

bool
ssl_check_certificate (int fd _GL_UNUSED, const char *host)
{
  const char *colon = strstr (host_tls_problem, ": ");
  if (!host_tls_problem[0])
    return true;
  logprintf (LOG_NOTQUIET, _("%s: cannot verify %s's certificate:\n"), _("ERROR"), host);
  logprintf (LOG_NOTQUIET, "  %s\n", colon ? colon + 2 : host_tls_problem);
  if (opt.check_cert != CHECK_CERT_ON)
    logprintf (LOG_NOTQUIET, "Certificates are always checked in this sandbox.\n");
  return false;
}
