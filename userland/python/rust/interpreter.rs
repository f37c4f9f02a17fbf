//! What PyO3 and Rust's library ask of the interpreter and it has not under that name. Data comes by names that
//! userland/python/interpreter_data.py knows.
#![allow(non_upper_case_globals, clashing_extern_declarations)]

extern crate _pydantic_core;
extern crate bcrypt_rust;
extern crate cryptography_rust;
extern crate jiter_python;
extern crate orjson;
extern crate ormsgpack;
extern crate rpds;
extern crate tiktoken;
extern crate uuid_utils;

mod openssl;

use pyo3::ffi;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// C code has a pointer for each exception, which leads to its class.
#[repr(transparent)]
pub struct Exception(*mut c_void);

unsafe impl Sync for Exception {}

macro_rules! exceptions {
    ($($pointer:ident $class:ident)*) => {
        unsafe extern "C" {
            $(static mut $class: u8;)*
        }
        $(
            #[unsafe(no_mangle)]
            pub static $pointer: Exception = Exception(&raw mut $class as *mut c_void);
        )*
    };
}

exceptions! {
    PyExc_AssertionError _PyExc_AssertionError
    PyExc_AttributeError _PyExc_AttributeError
    PyExc_BaseException _PyExc_BaseException
    PyExc_BaseExceptionGroup _PyExc_BaseExceptionGroup
    PyExc_BufferError _PyExc_BufferError
    PyExc_DeprecationWarning _PyExc_DeprecationWarning
    PyExc_Exception _PyExc_Exception
    PyExc_ImportError _PyExc_ImportError
    PyExc_IndexError _PyExc_IndexError
    PyExc_KeyError _PyExc_KeyError
    PyExc_LookupError _PyExc_LookupError
    PyExc_MemoryError _PyExc_MemoryError
    PyExc_NotImplementedError _PyExc_NotImplementedError
    PyExc_OverflowError _PyExc_OverflowError
    PyExc_RecursionError _PyExc_RecursionError
    PyExc_RuntimeError _PyExc_RuntimeError
    PyExc_SystemError _PyExc_SystemError
    PyExc_TypeError _PyExc_TypeError
    PyExc_UnicodeDecodeError _PyExc_UnicodeDecodeError
    PyExc_UserWarning _PyExc_UserWarning
    PyExc_ValueError _PyExc_ValueError
    PyExc_ZeroDivisionError _PyExc_ZeroDivisionError
}

unsafe extern "C" {
    fn _Py_ReachedRecursionLimit(thread: *mut ffi::PyThreadState) -> c_int;
    fn __clock_gettime(clock: *const Clock, time: *mut c_void) -> c_int;
    fn _PyType_GetDict(class: *mut ffi::PyTypeObject) -> *mut ffi::PyObject;
    fn internal_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn type_from_slots_or_spec(slots: *mut c_void, spec: *mut c_void, metaclass: *mut c_void, module: *mut c_void, bases: *mut c_void) -> *mut c_void;
}

/// What a `clockid_t` of WASI's C library points to.
#[repr(transparent)]
pub struct Clock(u32);

#[unsafe(no_mangle)]
pub static _CLOCK_REALTIME: Clock = Clock(0);
#[unsafe(no_mangle)]
pub static _CLOCK_MONOTONIC: Clock = Clock(1);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: *const Clock, time: *mut c_void) -> c_int {
    unsafe { __clock_gettime(clock, time) }
}

// What follows the interpreter's linker has left out, and not the functions behind it.

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyType_FromSlots(slots: *mut c_void) -> *mut c_void {
    unsafe { type_from_slots_or_spec(slots, null_mut(), null_mut(), null_mut(), null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyType_Freeze(class: *mut ffi::PyTypeObject) -> c_int {
    unsafe {
        let order = (*class).tp_mro;
        for at in 1..ffi::PyTuple_GET_SIZE(order) {
            let base = ffi::PyTuple_GET_ITEM(order, at).cast::<ffi::PyTypeObject>();
            if (*base).tp_flags & ffi::Py_TPFLAGS_IMMUTABLETYPE == 0 {
                let text = c"Creating an immutable type from mutable bases";
                ffi::PyErr_SetString(ffi::PyExc_TypeError, text.as_ptr());
                return -1;
            }
        }
        (*class).tp_flags |= ffi::Py_TPFLAGS_IMMUTABLETYPE;
        ffi::PyType_Modified(class);
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyType_GetDict(class: *mut ffi::PyTypeObject) -> *mut ffi::PyObject {
    unsafe {
        let names = _PyType_GetDict(class);
        ffi::Py_XINCREF(names);
        names
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyLong_FromInt32(number: i32) -> *mut ffi::PyObject {
    unsafe { ffi::PyLong_FromLong(number) }
}

/// How a string is laid out where addresses have 32 bits: its state, and where its characters or their address are.
const STATE: usize = 16;
const CHARACTERS: usize = 28;
const CHARACTERS_OF_ASCII: usize = 20;
const COMPACT: u32 = 1 << 5;
const ASCII: u32 = 1 << 6;

unsafe fn state_of(string: *mut ffi::PyObject) -> u32 {
    unsafe { string.byte_add(STATE).cast::<u32>().read() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyUnicode_KIND(string: *mut ffi::PyObject) -> u32 {
    unsafe { state_of(string) >> 2 & 7 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyUnicode_DATA(string: *mut ffi::PyObject) -> *mut c_void {
    unsafe {
        let state = state_of(string);
        if state & COMPACT == 0 {
            return string.byte_add(CHARACTERS).cast::<*mut c_void>().read();
        }
        string.byte_add(if state & ASCII != 0 { CHARACTERS_OF_ASCII } else { CHARACTERS }).cast()
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    const ENOMEM: c_int = 48; // of WASI
    let room = unsafe { internal_memalign(alignment, size) };
    if room.is_null() {
        return ENOMEM;
    }
    unsafe { *place = room };
    0
}

/// Code that recurs without the interpreter asks it whether to go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloche_stack_is_short() -> c_int {
    unsafe { _Py_ReachedRecursionLimit(ffi::PyThreadState_Get()) }
}
