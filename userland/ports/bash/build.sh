# GNU bash with job control and readline. The answers are those that its configure finds by running programs on Linux with musl.
cp "$PORT/kept.c" .
export CC_FOR_BUILD=cc
export CFLAGS="-O2 -std=gnu17 -Wno-everything -Werror=incompatible-function-pointer-types"
export CPPFLAGS='-DSYS_BASHRC=\"/etc/bash.bashrc\" -DTERMCAP_FILE=\"/usr/share/termcap\"'
export bash_cv_job_control_missing=present bash_cv_sys_named_pipes=present bash_cv_func_sigsetjmp=present \
  bash_cv_dev_fd=standard bash_cv_dev_stdin=present bash_cv_getcwd_malloc=yes bash_cv_printf_a_format=yes \
  bash_cv_unusable_rtsigs=no bash_cv_wcontinued_broken=no bash_cv_pgrp_pipe=no bash_cv_must_reinstall_sighandlers=no \
  bash_cv_func_strcoll_broken=no bash_cv_getenv_redef=yes bash_cv_wexitstatus_offset=8 bash_cv_opendir_not_robust=no \
  bash_cv_ulimit_maxfds=yes bash_cv_under_sys_siglist=no bash_cv_sys_siglist=no bash_cv_decl_under_sys_siglist=no \
  bash_cv_func_ctype_nonascii=no bash_cv_dup2_broken=no bash_cv_wcwidth_broken=no bash_cv_strtold_broken=no \
  bash_cv_fnmatch_equiv_fallback=no bash_cv_termcap_lib=gnutermcap bash_cv_type_rlimit=rlim_t \
  ac_cv_func_mmap_fixed_mapped=yes ac_cv_func_dlopen=no ac_cv_func_fork_works=yes ac_cv_func_vfork_works=yes \
  ac_cv_func_strcoll_works=yes ac_cv_func_chown_works=yes bash_cv_func_strtoimax=no ac_cv_rl_version=8.2 gt_cv_func_printf_posix=yes
# The regular expressions of =~ are glibc's, by gnulib: musl's have no equivalence classes and choose other subexpressions.
regex=$PWD/gnuregex
mkdir "$regex"
cp "$EXTRA/gnulib/gl/lib/regex.h" "$regex"
mkdir "$regex/config"
cat >"$regex/config/config.h" <<'EOT'
#define _GNU_SOURCE 1
#define _REGEX_INCLUDE_LIMITS_H 1
#define _GL_CONFIG_H_INCLUDED 1
#define _GL_ATTRIBUTE_FALLTHROUGH __attribute__ ((__fallthrough__))
EOT
for source in regex malloc/dynarray_resize; do
  object=$regex/$(basename "$source").o
  $CC -std=gnu23 -O2 -I"$regex" -I"$regex/config" -I"$EXTRA/gnulib/gl/lib" -c "$EXTRA/gnulib/gl/lib/$source.c" -o "$object"
  export LIBS="${LIBS:-} $object"
done
export CPPFLAGS="-I$regex $CPPFLAGS"
./configure --host="$HOST" --prefix=/usr --without-bash-malloc --disable-nls
# Scripts ask $OSTYPE for linux-gnu*: the tools and their ways are GNU's.
make OS=linux-gnu MACHTYPE="${HOST%-musl}-gnu" bash
install -m 755 bash "$OUT/usr/bin/bash"
$STRIP "$OUT/usr/bin/bash"
install -D -m 644 "$PORT/termcap" "$OUT/usr/share/termcap"
ln -s bash "$OUT/usr/bin/sh"
