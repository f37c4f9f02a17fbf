"""Edits of CPython 3.13's sources: what is otherwise in the interpreter, which is 3.15. Runs in the unpacked archive."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "build"))

from edits import before, replace  # noqa: E402

replace("Include/object.h", "_Py_CAST(Py_ssize_t, UINT_MAX >> 2)", "_Py_CAST(Py_ssize_t, 5L << 28)",
        "gives what is never freed the count of references that 3.15 gives it")
replace("Include/object.h", "return (op->ob_refcnt == _Py_IMMORTAL_REFCNT);", "return (op->ob_refcnt >= _Py_CAST(Py_ssize_t, 1L << 30));",
        "leaves counts alone from where 3.15 does")
replace("Include/cpython/tupleobject.h", "    PyObject_VAR_HEAD\n", "    PyObject_VAR_HEAD\n    Py_hash_t ob_hash;\n", "makes room for a tuple's hash")

MODULE = "Include/internal/pycore_moduleobject.h"
replace(MODULE, "    PyModuleDef *md_def;\n    void *md_state;\n", "    void *md_state;\n", "finds a module's state where 3.15 has it")
replace(MODULE, "    return ((PyModuleObject *)mod)->md_def;", "    return PyModule_GetDef(mod);", "leaves to 3.15 where the definition is")

DECIMAL = "Modules/_decimal/_decimal.c"
replace(DECIMAL, "#ifdef EXTRA_FUNCTIONALITY\n/* Factory function for creating IEEE", "#if 1\n/* Factory function for creating IEEE", "has IEEEContext")
replace(DECIMAL, '#ifdef EXTRA_FUNCTIONALITY\n  { "IEEEContext"', '#if 1\n  { "__getattr__", decimal_getattr, METH_O, NULL},\n  { "IEEEContext"', "has IEEEContext")
replace("Modules/_decimal/docstrings.h", "#ifdef EXTRA_FUNCTIONALITY\nPyDoc_STRVAR(doc_ieee_context", "#if 1\nPyDoc_STRVAR(doc_ieee_context",
        "has IEEEContext")
replace(DECIMAL, "    /* int constants */\n", '    /* int constants */\n    {"IEEE_CONTEXT_MAX_BITS", MPD_IEEE_CONTEXT_MAX_BITS},\n', "has the widest of IEEE's formats")
replace(DECIMAL, '    {"DECIMAL128", MPD_DECIMAL128},\n    {"IEEE_CONTEXT_MAX_BITS", MPD_IEEE_CONTEXT_MAX_BITS},\n', '    {"DECIMAL128", MPD_DECIMAL128},\n',
        "has the widest of IEEE's formats once")
replace(DECIMAL, '"__version__", "1.70"', '"SPEC_VERSION", "1.70"', "names the specification as 3.15 does")
before(DECIMAL, "static PyMethodDef _decimal_methods [] =", r'''static PyObject *
decimal_getattr(PyObject *module UNUSED, PyObject *name)
{
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__version__") == 0) {
        if (PyErr_WarnEx(PyExc_DeprecationWarning, "'__version__' is deprecated and slated for removal in Python 3.20", 1) < 0) {
            return NULL;
        }
        return PyUnicode_FromString("1.70");
    }
    PyErr_Format(PyExc_AttributeError, "module 'decimal' has no attribute %R", name);
    return NULL;
}

''', "tells the version under its old name")
before(DECIMAL, '  { "from_float", dec_from_float', '  { "from_number", dec_from_number, METH_O|METH_CLASS, doc_from_number },\n', "has Decimal.from_number")
before(DECIMAL, "/* create_decimal_from_float */", r'''PyDoc_STRVAR(doc_from_number,
"from_number($type, number, /)\n--\n\n\
Class method that converts a number to a decimal number, exactly: an int, a float or a Decimal.\n\
\n");

static PyObject *
dec_from_number(PyObject *type, PyObject *number)
{
    decimal_state *state = get_module_state_by_def((PyTypeObject *)type);
    if (!PyDec_Check(state, number)) {
        if (PyLong_Check(number) || PyFloat_Check(number)) {
            return dec_from_float(type, number);
        }
        PyErr_Format(PyExc_TypeError, "Cannot convert %R to Decimal", number);
        return NULL;
    }
    if (type != (PyObject *)state->PyDec_Type) {
        return PyObject_CallOneArg(type, number);
    }
    PyObject *context;
    CURRENT_CONTEXT(state, context);
    return PyDecType_FromDecimalExact(state->PyDec_Type, number, context);
}

''', "has Decimal.from_number")

replace(DECIMAL, "    (void)context_clear(self);\n", r'''    if (self->traps != NULL) {
        SdFlagAddr(self->traps) = NULL;
    }
    if (self->flags != NULL) {
        SdFlagAddr(self->flags) = NULL;
    }
    (void)context_clear(self);
''', "makes what outlives its context say so, and not read what was freed")
FROZEN = r'''    if (PyObject_TypeCheck(w, &PyFrozenDict_Type)) {
        PyObject *copy = PyDict_New();
        if (copy == NULL || PyDict_Update(copy, w) < 0) {
            Py_XDECREF(copy);
            return NULL;
        }
        PyObject *result = signaldict_richcompare(v, copy, op);
        Py_DECREF(copy);
        return result;
    }
'''
replace(DECIMAL, "    PyObject *res = Py_NotImplemented;\n\n    decimal_state *state = find_state_left_or_right(v, w);\n    assert(PyDecSignalDict_Check(state, v));\n",
        "    PyObject *res = Py_NotImplemented;\n\n" + FROZEN + "    decimal_state *state = find_state_left_or_right(v, w);\n", "compares with frozendict")
before(DECIMAL, "static PyObject *\nsignaldict_richcompare(", "extern PyTypeObject PyFrozenDict_Type;\n\n", "compares with frozendict")

ZSTD = "../zstd/src/c/"
for path, name in (("_zstdmodule.c", "ZstdError"), ("compressor.c", "ZstdCompressor"), ("decompressor.c", "ZstdDecompressor"),
                   ("zstddict.c", "ZstdDict")):
    replace(f"{ZSTD}compression_zstd/{path}", f'"backports.zstd.{name}"', f'"compression.zstd.{name}"', "names the classes as the library does")
replace(ZSTD + "compat/backports_zstd_compat.h", "    return -1;\n", "    type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;\n    PyType_Modified(type);\n    return 0;\n",
        "makes a class immutable")
ARGUMENTS = ZSTD + "compat/backports_zstd_edits_orig.h"
replace(ARGUMENTS, "    int minkw,\n    PyObject **buf);", "    int minkw,\n    int varpos,\n    PyObject **buf);", "calls 3.15's function, which has one parameter more")
replace(ARGUMENTS, "(minpos), (maxpos), (minkw), (buf)))", "(minpos), (maxpos), (minkw), 0, (buf)))", "calls 3.15's function, which has one parameter more")
