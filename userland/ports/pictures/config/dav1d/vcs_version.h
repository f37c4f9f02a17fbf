#define DAV1D_VERSION "1.5.1"
