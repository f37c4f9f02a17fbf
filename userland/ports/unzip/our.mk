# unzip and funzip; what Debian switches on is on.
flags := -O2 -Wno-everything -std=gnu89 -include unistd.h -I. -I$(BZIP2)/include -DUNIX -DACORN_FTYPE_NFS -DWILD_STOP_AT_DIR -DLARGE_FILE_SUPPORT -DUNICODE_SUPPORT \
  -DUNICODE_WCHAR -DUTF8_MAYBE_NATIVE -DNO_LCHMOD -DDATE_FORMAT=DF_YMD -DUSE_BZIP2 -DNOMEMCPY -DNO_WORKING_ISPRINT -DHAVE_TERMIOS_H \
  -DHAVE_UNISTD_H -DHAVE_DIRENT_H
objects := $(patsubst %,%.o,unzip crc32 crypt envargs explode extract fileio globals inflate list match process ttyio ubz2err unreduce \
  unshrink zipinfo unix/unix)
small := $(patsubst %,%.small.o,funzip crc32 crypt globals inflate ttyio)

all: unzip funzip
unzip: $(objects) $(BZIP2)/lib/libbz2.a
	$(CC) -o $@ $^
funzip: $(small)
	$(CC) -o $@ $^
%.small.o: %.c
	$(CC) $(flags) -DFUNZIP -c -o $@ $<
%.o: %.c
	$(CC) $(flags) -c -o $@ $<
