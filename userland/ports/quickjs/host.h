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
void add_datagram_functions(JSContext *ctx, JSValueConst native);
void add_loop_functions(JSContext *ctx, JSValueConst native);
void add_byte_functions(JSContext *ctx, JSValueConst native);
void add_text_functions(JSContext *ctx, JSValueConst native);
void add_sqlite_functions(JSContext *ctx, JSValueConst native);
void add_vm_functions(JSContext *ctx, JSValueConst native);

void add_wasm_functions(JSContext *ctx, JSValueConst native);

// Whether the time that a script may take has passed, which ends it.
int time_is_over(void);

// An ArrayBuffer of bytes of malloc, which it frees.
JSValue bytes_of(JSContext *ctx, uint8_t *bytes, size_t size);

// The text of UTF-8; each part of it that is none, as long as it could have become one, is U+FFFD.
JSValue text_of_bytes(JSContext *ctx, const uint8_t *bytes, size_t size);
