// The functions of the system that node's library calls, by the object they are put on.
#pragma once

#include "quickjs-libc.h"
#include "quickjs.h"

void add_file_functions(JSContext *ctx, JSValueConst native);
void add_process_functions(JSContext *ctx, JSValueConst native);
void add_zlib_functions(JSContext *ctx, JSValueConst native);
void add_brotli_functions(JSContext *ctx, JSValueConst native);
void add_crypto_functions(JSContext *ctx, JSValueConst native);
void add_socket_functions(JSContext *ctx, JSValueConst native);
void add_loop_functions(JSContext *ctx, JSValueConst native);
void add_byte_functions(JSContext *ctx, JSValueConst native);
void add_vm_functions(JSContext *ctx, JSValueConst native);

void add_wasm_functions(JSContext *ctx, JSValueConst native);

// Whether the time that a script may take has passed, which ends it.
int time_is_over(void);

// An ArrayBuffer of bytes of malloc, which it frees.
JSValue bytes_of(JSContext *ctx, uint8_t *bytes, size_t size);
