// The words of jversion.h.in that code of the library shows.
#define JVERSION "6b  27-Mar-1998"
#define JCOPYRIGHT ""
#define JCOPYRIGHT_SHORT ""
