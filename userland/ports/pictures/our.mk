# The libraries' own sources, without the parts that no decoder or encoder here reaches, and the program over them. It is made in
# libwebp's folder.
jpeg_at := $(EXTRA)/libjpeg-turbo
tiff_at := $(EXTRA)/tiff/libtiff
zlib_at := $(LIBRARIES)/zlib
openjpeg_at := $(EXTRA)/openjpeg/src/lib/openjp2
freetype_at := $(EXTRA)/freetype
quick := -O2 -msimd128 -Wno-everything -DNDEBUG

ours := main frames font jpeg_decode jpeg_encode webp_decode webp_encode memory_tiff tiff_decode tiff_encode jpeg2000_stream jpeg2000_decode \
  jpeg2000_encode avif_orientation avif_decode avif_encode
jpeg := $(patsubst %,$(jpeg_at)/%.o,jaricom jcapimin jcapistd jcarith jccoefct jccolor jcdctmgr jchuff jcicc jcinit jcmainct jcmarker jcmaster \
  jcomapi jcparam jcphuff jcprepct jcsample jdapimin jdapistd jdarith jdatadst jdatasrc jdcoefct jdcolor jddctmgr jdhuff jdicc jdinput \
  jdmainct jdmarker jdmaster jdmerge jdphuff jdpostct jdsample jerror jfdctflt jfdctfst jfdctint jidctflt jidctfst jidctint jidctred \
  jquant1 jquant2 jmemmgr jmemnobs jsimd_none jutils)
other_cpus := %_sse2.c %_sse41.c %_avx2.c %_neon.c %_mips32.c %_mips_dsp_r2.c %_msa.c
webp := $(patsubst %.c,%.o,$(filter-out $(other_cpus),$(wildcard src/dec/*.c src/demux/*.c src/dsp/*.c src/enc/*.c src/mux/*.c src/utils/*.c \
  sharpyuv/*.c)))
tiff := $(patsubst %,$(tiff_at)/tif_%.o,aux close codec color compress dir dirinfo dirread dirwrite dumpmode error extension fax3 fax3sm flush \
  getimage hash_set jpeg luv lzw next ojpeg open packbits pixarlog predict print read strip swab thunder tile unix version warning webp write zip)
openjpeg := $(patsubst %,$(openjpeg_at)/%.o,bio cio dwt event function_list ht_dec image invert j2k jp2 mct mqc openjpeg opj_clock opj_malloc pi \
  sparse_array t1 t2 tcd tgt thread)
freetype := $(patsubst %,$(freetype_at)/src/%.o,autofit/autofit base/ftbase base/ftbitmap base/ftdebug base/ftglyph base/ftinit base/ftmm \
  base/ftstroke base/ftsystem cff/cff gzip/ftgzip psaux/psaux pshinter/pshinter psnames/psnames raster/raster sfnt/sfnt smooth/smooth \
  truetype/truetype type1/type1)

.DEFAULT_GOAL := pictures
include $(PORT)/avif.mk

pictures: $(ours:%=%.o) $(jpeg) $(webp) $(tiff) $(openjpeg) $(freetype) $(avif) $(dav1d) $(dav1d_8) $(dav1d_16) $(aom) $(zlib_at)/lib/libz.a
	$(CC) -o $@ $^
$(ours:%=%.o): flags := -O2 -Wall -Wextra -Werror -I$(PORT)/config -I. -I$(jpeg_at) -I$(tiff_at) -I$(openjpeg_at) -I$(freetype_at)/include \
  -I$(avif_at)/include
$(jpeg): flags := $(quick) -I$(PORT)/config -I$(jpeg_at)
$(webp): flags := $(quick) -I.
$(tiff): flags := $(quick) -DALLOW_TIFF_NON_EXT_ALLOC_FUNCTIONS -I$(PORT)/config -I$(tiff_at) -I$(jpeg_at) -I$(zlib_at)/include -Isrc
$(openjpeg): flags := $(quick) -DOPJ_STATIC -I$(PORT)/config -I$(openjpeg_at)
$(freetype): flags := -O2 -Wno-everything -DFT2_BUILD_LIBRARY -DFT_CONFIG_MODULES_H='<ftmodule.h>' -I$(PORT)/config \
  -I$(freetype_at)/include
%.o: %.c
	$(CC) $(flags) -c -o $@ $<
