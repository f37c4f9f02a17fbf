//! What OpenSSL asks of a system, and what the package cryptography asks of libraries that are not here.

use std::ffi::{c_int, c_void};
use std::ptr::null;

/// A source of random numbers as OpenSSL calls it. It is the system, asked each time: what OpenSSL would keep of its own, a fork has too.
#[repr(C)]
struct RandomNumbers {
    seed: *const c_void,
    bytes: unsafe extern "C" fn(*mut u8, c_int) -> c_int,
    cleanup: *const c_void,
    add: *const c_void,
    pseudorandom_bytes: unsafe extern "C" fn(*mut u8, c_int) -> c_int,
    status: extern "C" fn() -> c_int,
}

unsafe impl Sync for RandomNumbers {}

static OF_THE_SYSTEM: RandomNumbers =
    RandomNumbers { seed: null(), bytes: random_bytes, cleanup: null(), add: null(), pseudorandom_bytes: random_bytes, status: has_random };

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn random_get(buffer: *mut u8, size: usize) -> c_int;
}

unsafe extern "C" {
    static mut errno: c_int;
    fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> c_int;
    fn RAND_set_rand_method(source: *const RandomNumbers) -> c_int;
}

unsafe extern "C" fn random_bytes(buffer: *mut u8, size: c_int) -> c_int {
    (size >= 0 && unsafe { random_get(buffer, size as usize) } == 0) as c_int
}

extern "C" fn has_random() -> c_int {
    1
}

/// The package cryptography calls it before all else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloche_random_of_the_system() -> c_int {
    unsafe { RAND_set_rand_method(&OF_THE_SYSTEM) }
}

/// There is no TLS in it: what is left of its start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OPENSSL_init_ssl(options: u64, settings: *const c_void) -> c_int {
    unsafe { OPENSSL_init_crypto(options, settings) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __errno_location() -> *mut c_int {
    &raw mut errno
}

/// Only what is a mistake of its own writes to it, and aborts then.
#[unsafe(no_mangle)]
pub static mut stderr: *const c_void = null();

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(place: *mut u8, byte: c_int, size: usize) -> *mut u8 {
    unsafe { place.write_bytes(byte as u8, size) }
    place
}

/// The generator that it makes for itself, from which nothing is drawn, is seeded by this call. What the compiler makes of arguments without
/// number is the place where they lie.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_int, arguments: *const usize) -> c_int {
    const GETRANDOM: c_int = 278;
    unsafe {
        let (buffer, size) = (*arguments as *mut u8, *arguments.add(1));
        if number == GETRANDOM && random_get(buffer, size) == 0 { size as c_int } else { -1 }
    }
}

/// Processes share no memory, by which it would tell others that the system has random numbers.
#[unsafe(no_mangle)]
pub extern "C" fn shmget(_: c_int, _: usize, _: c_int) -> c_int {
    -1
}

#[unsafe(no_mangle)]
pub extern "C" fn shmat(_: c_int, _: *const c_void, _: c_int) -> *mut c_void {
    usize::MAX as *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn shmdt(_: *const c_void) -> c_int {
    -1
}

macro_rules! ids {
    ($($name:ident)*) => {
        $(
            /// Whether the program runs with another user's rights is all that is asked.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> u32 {
                0
            }
        )*
    };
}

ids! { getuid geteuid getgid getegid }
