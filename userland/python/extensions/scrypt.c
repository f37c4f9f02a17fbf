/* The module _scrypt: keys out of passwords, by libsodium's code. Its caller checks what they are made with
 * (userland/python/lib/_cloche/libraries/keys.py). */
#include <Python.h>

#include "crypto_pwhash/scryptsalsa208sha256/crypto_scrypt.h"
#include "crypto_pwhash/scryptsalsa208sha256/pbkdf2-sha256.h"

/* scrypt(password, salt, n, r, p, length) */
static PyObject *scrypt(PyObject *Py_UNUSED(module), PyObject *args) {
  Py_buffer password, salt;
  unsigned long n, r, p;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "y*y*kkkn", &password, &salt, &n, &r, &p, &length)) return NULL;
  PyObject *key = PyBytes_FromStringAndSize(NULL, length);
  if (key != NULL) {
    escrypt_local_t room;
    escrypt_init_local(&room);
    if (escrypt_kdf_nosse(&room, password.buf, password.len, salt.buf, salt.len, n, r, p, (uint8_t *)PyBytes_AS_STRING(key), length) != 0) {
      Py_CLEAR(key);
      PyErr_NoMemory();
    }
    escrypt_free_local(&room);
  }
  PyBuffer_Release(&password);
  PyBuffer_Release(&salt);
  return key;
}

/* pbkdf2_sha256(password, salt, iterations, length) */
static PyObject *pbkdf2_sha256(PyObject *Py_UNUSED(module), PyObject *args) {
  Py_buffer password, salt;
  unsigned long long iterations;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "y*y*Kn", &password, &salt, &iterations, &length)) return NULL;
  PyObject *key = PyBytes_FromStringAndSize(NULL, length);
  if (key != NULL)
    PBKDF2_SHA256(password.buf, password.len, salt.buf, salt.len, iterations, (uint8_t *)PyBytes_AS_STRING(key), length);
  PyBuffer_Release(&password);
  PyBuffer_Release(&salt);
  return key;
}

static PyMethodDef methods[] = {
    {"scrypt", scrypt, METH_VARARGS, NULL},
    {"pbkdf2_sha256", pbkdf2_sha256, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_scrypt", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__scrypt(void) { return PyModuleDef_Init(&definition); }

/* What libsodium's files ask of its others. */
void sodium_memzero(void *const at, const size_t length) {
  volatile unsigned char *bytes = at;
  for (size_t i = 0; i < length; ++i) bytes[i] = 0;
}

void sodium_misuse(void) { Py_FatalError("libsodium was called wrongly"); }
