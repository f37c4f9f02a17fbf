// What __wasm_setjmp keeps: which call of the function, which setjmp in it, and the value under way.
typedef unsigned long long __jmp_buf[4];
