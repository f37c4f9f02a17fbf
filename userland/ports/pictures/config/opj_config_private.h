// What configuring OpenJPEG would say of this machine.
#define OPJ_PACKAGE_VERSION "2.5.3"
#define OPJ_HAVE_FSEEKO 1
#define OPJ_HAVE_MALLOC_H 1
#define OPJ_HAVE_POSIX_MEMALIGN 1
#define _POSIX_C_SOURCE 200112L
