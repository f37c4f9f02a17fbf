/* Comes before the package zstandard: Zstandard has no threads of its own here. What several workers would do one does, with the same
 * calls, and a list of inputs is done in its order. */
#ifndef CLOCHE_WORKERS_H
#define CLOCHE_WORKERS_H

#define ZSTD_STATIC_LINKING_ONLY
#include <pool.h>
#include <zstd.h>

#define HAVE_ZSTD_POOL_APIS

static inline int is_of_workers(ZSTD_cParameter parameter) {
  return parameter == ZSTD_c_nbWorkers || parameter == ZSTD_c_jobSize || parameter == ZSTD_c_overlapLog;
}

static inline size_t get_parameter_here(const ZSTD_CCtx_params *all, ZSTD_cParameter parameter, int *value) {
  if (!is_of_workers(parameter)) return ZSTD_CCtxParams_getParameter(all, parameter, value);
  *value = 0;
  return 0;
}

static inline size_t set_parameter_here(ZSTD_CCtx_params *all, ZSTD_cParameter parameter, int value) {
  return ZSTD_CCtxParams_setParameter(all, parameter, is_of_workers(parameter) ? 0 : value);
}

#define ZSTD_CCtxParams_getParameter get_parameter_here
#define ZSTD_CCtxParams_setParameter set_parameter_here

#endif
