# AVIF: libavif over dav1d, which decodes, and libaom, which encodes; both in plain C. What libaom generates for a processor is generated
# for none.
avif_at := $(EXTRA)/libavif/libavif
dav1d_at := $(EXTRA)/dav1d
aom_at := $(EXTRA)/aom
avif := $(patsubst %,$(avif_at)/src/%.o,alpha avif codec_aom codec_dav1d colr diag exif io mem obu rawdata read reformat reformat_libsharpyuv \
  reformat_libyuv scale stream utils write)
dav1d := $(patsubst %,$(dav1d_at)/src/%.o,cdf cpu ctx data decode dequant_tables getbits intra_edge itx_1d lf_mask lib log mem msac obu pal \
  picture qm ref refmvs scan tables thread_task warpmv wedge)
by_depth := cdef_apply cdef fg_apply filmgrain ipred_prepare ipred itx lf_apply loopfilter looprestoration lr_apply mc recon
dav1d_8 := $(by_depth:%=$(dav1d_at)/src/%_tmpl.8.o)
dav1d_16 := $(by_depth:%=$(dav1d_at)/src/%_tmpl.16.o)
aom_unused := $(patsubst %,$(aom_at)/%.c,aom_dsp/binary_codes_reader aom_dsp/bitreader aom_dsp/butteraugli aom_dsp/entdec aom_dsp/fastssim \
  aom_dsp/psnrhvs aom_dsp/vmaf av1/av1_dx_iface av1/encoder/av1_temporal_denoiser av1/encoder/blockiness av1/encoder/deltaq4_model \
  av1/encoder/optical_flow av1/encoder/saliency_map av1/encoder/sparse_linear_solver av1/encoder/thirdpass av1/encoder/tune_butteraugli \
  av1/encoder/tune_vmaf)
aom := $(patsubst %.c,%.o,$(filter-out $(aom_unused),$(foreach folder,aom/src aom_dsp aom_dsp/flow_estimation aom_mem aom_scale \
  aom_scale/generic av1 av1/common av1/encoder third_party/fastfeat third_party/vector,$(wildcard $(aom_at)/$(folder)/*.c)) \
  $(aom_at)/aom_util/aom_thread.c $(aom_at)/common/args_helper.c))
generated := $(patsubst %,generated/config/%_rtcd.h,aom_dsp aom_scale av1)

$(avif): flags := $(quick) -DAVIF_CODEC_DAV1D=1 -DAVIF_CODEC_AOM=1 -DAVIF_CODEC_AOM_ENCODE=1 -I$(avif_at)/include -I$(dav1d_at)/include \
  -I$(aom_at)
$(dav1d) $(dav1d_8) $(dav1d_16): flags := $(quick) -std=c11 -D_GNU_SOURCE -I$(PORT)/config/dav1d -I$(dav1d_at) -I$(dav1d_at)/include \
  -I$(dav1d_at)/include/dav1d -I$(dav1d_at)/src
$(dav1d_8): flags += -DBITDEPTH=8
$(dav1d_16): flags += -DBITDEPTH=16
$(aom): flags := $(quick) -I$(PORT)/config/aom -Igenerated -I$(aom_at) -I$(aom_at)/apps -I$(aom_at)/common
$(aom): $(generated)
generated/config/aom_dsp_rtcd.h: rules := aom_dsp/aom_dsp_rtcd_defs.pl
generated/config/aom_scale_rtcd.h: rules := aom_scale/aom_scale_rtcd.pl
generated/config/av1_rtcd.h: rules := av1/common/av1_rtcd_defs.pl
generated/config/%_rtcd.h:
	mkdir -p $(@D)
	perl $(aom_at)/build/cmake/rtcd.pl --arch=generic --sym=$*_rtcd --config=$(PORT)/config/aom/config/aom_config.h \
	  $(aom_at)/$(rules) > $@
%_tmpl.8.o: %_tmpl.c
	$(CC) $(flags) -c -o $@ $<
%_tmpl.16.o: %_tmpl.c
	$(CC) $(flags) -c -o $@ $<
