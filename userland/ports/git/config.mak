# What git's Makefile would find or ask of the system.
NO_OPENSSL = 1
# Where it is, build.sh says.
CURL_CONFIG = false
NO_EXPAT = 1
NO_GETTEXT = 1
NO_TCLTK = 1
NO_PERL = 1
NO_PYTHON = 1
NO_PTHREADS = 1
NO_INSTALL_HARDLINKS = 1
NO_IPV6 = 1
NO_UNIX_SOCKETS = 1
NEEDS_LIBRT =
# musl's regular expressions have no REG_STARTEND.
NO_REGEX = NeedsStartEnd
HAVE_SYNC_FILE_RANGE =
CSPRNG_METHOD = getrandom
prefix = /usr
gitexecdir = /usr/lib/git-core
template_dir = /usr/share/git-core/templates
sysconfdir = /etc
SHELL_PATH = /bin/sh
DEFAULT_EDITOR = vi
DEFAULT_PAGER = less
CFLAGS = -O2 -Wno-everything
LDFLAGS =
