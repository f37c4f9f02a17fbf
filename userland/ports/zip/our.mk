# zip and its helpers; what Debian switches on is on.
flags := -O2 -Wno-everything -std=gnu89 -I. -I$(BZIP2)/include -DUNIX -DBZIP2_SUPPORT -DLARGE_FILE_SUPPORT -DUNICODE_SUPPORT -DUIDGID_NOT_16BIT \
  -DHAVE_DIRENT_H -DHAVE_TERMIOS_H -DNO_RMDIR_PROTO
objects := $(patsubst %,%.o,zip zipfile zipup fileio util globals crypt ttyio unix/unix crc32 zbz2err deflate trees)
shared := $(patsubst %,%.util.o,zipfile fileio util globals crc32 unix/unix)

all: zip zipnote zipsplit zipcloak
zip: $(objects) $(BZIP2)/lib/libbz2.a
	$(CC) -o $@ $^
zipnote zipsplit: %: %.util.o $(shared)
	$(CC) -o $@ $^
zipcloak: zipcloak.util.o crypt.util.o ttyio.o $(shared)
	$(CC) -o $@ $^
%.util.o: %.c
	$(CC) $(flags) -DUTIL -c -o $@ $<
%.o: %.c
	$(CC) $(flags) -c -o $@ $<
