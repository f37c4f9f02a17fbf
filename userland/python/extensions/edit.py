"""Edits of CPython 3.13's sources: what is otherwise in the interpreter, which is 3.15. Runs in the unpacked archive."""
import pathlib
import re
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

MODSUPPORT = "Include/internal/pycore_modsupport.h"
replace(MODSUPPORT, "    int minkw,\n    PyObject **buf);\n", "    int minkw,\n    int varpos,\n    PyObject **buf);\n", "calls 3.15's function, which has one parameter more")
replace(MODSUPPORT, "                           (minpos), (maxpos), (minkw), (buf)))", "                           (minpos), (maxpos), (minkw), 0, (buf)))",
        "calls 3.15's function, which has one parameter more")

CURSES = "Modules/_cursesmodule.c"
before(CURSES, "#if defined(HAVE_TERM_H) || defined(__sgi)", r"""/* Waits call Python, so the thread's state stays. */
#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }
#define _Py_set_inheritable(fd, inheritable, atomic) 0
#define _PyLong_GetZero() PyLong_FromLong(0)
#define _PySys_GetOptionalAttrString PySys_GetOptionalAttrString
extern int PySys_GetOptionalAttrString(const char *, PyObject **);
#define PARSE_STACK(args, nargs, ...) ({                                     \
    PyObject *tuple = PyTuple_New(nargs);                                    \
    for (Py_ssize_t i = 0; tuple != NULL && i < (nargs); ++i)                \
        PyTuple_SetItem(tuple, i, Py_NewRef((args)[i]));                     \
    int parsed = tuple != NULL && PyArg_ParseTuple(tuple, __VA_ARGS__);      \
    Py_XDECREF(tuple);                                                       \
    parsed;                                                                  \
})

""", "leaves to our side what the interpreter does elsewhere or under another name")
replace("Modules/clinic/_cursesmodule.c.h", '_PyArg_ParseStack(args, nargs, "y|', 'PARSE_STACK(args, nargs, "y|', "parses arguments by a function that is there")
replace(CURSES, "PyTypeObject PyCursesWindow_Type;\n", "static PyTypeObject *window_type;\n#define PyCursesWindow_Type (*window_type)\n",
        "makes the class of windows while it runs: 3.15 lays out classes in another way")
replace(CURSES, """PyTypeObject PyCursesWindow_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
""", r"""static void
PyCursesWindow_DeallocWithType(PyCursesWindowObject *wo)
{
    PyTypeObject *type = Py_TYPE(wo);
    PyCursesWindow_Dealloc(wo);
    Py_DECREF(type);
}

static PyType_Slot window_slots[] = {
    {Py_tp_dealloc, PyCursesWindow_DeallocWithType},
    {Py_tp_methods, PyCursesWindow_Methods},
    {Py_tp_getset, PyCursesWindow_getsets},
    {0, NULL},
};

static PyType_Spec window_spec = {
    .name = "_curses.window",
    .basicsize = sizeof(PyCursesWindowObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = window_slots,
};

static const PyTypeObject was_window_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
""", "makes the class of windows while it runs: 3.15 lays out classes in another way")
replace(CURSES, "    if (PyType_Ready(&PyCursesWindow_Type) < 0)\n", "    window_type = (PyTypeObject *)PyType_FromSpec(&window_spec);\n    if (window_type == NULL)\n",
        "makes the class of windows while it runs: 3.15 lays out classes in another way")
for path, head in ((CURSES, "PyCursesCheckERR(int code, const char *fname)\n{\n"),
                   ("Modules/_curses_panel.c", "PyCursesCheckERR(_curses_panel_state *state, int code, const char *fname)\n{\n")):
    replace(path, head, head + "    if (PyErr_Occurred())\n        return NULL;\n", "keeps what a wait has raised")
replace(CURSES, "    return napms(ms);", "    int result = napms(ms);\n    return PyErr_Occurred() ? -1 : result;", "keeps what a wait has raised")
replace(CURSES, "        PyErr_CheckSignals();\n        if (!PyErr_Occurred())", "        if (!PyErr_Occurred() && PyErr_CheckSignals() == 0)", "keeps what a wait has raised")
replace(CURSES, "        if (PyErr_CheckSignals()) {\n            return NULL;", "        if (PyErr_Occurred() || PyErr_CheckSignals()) {\n            return NULL;",
        "keeps what a wait has raised")
replace(CURSES, "        if (PyErr_CheckSignals())\n            return NULL;", "        if (PyErr_Occurred() || PyErr_CheckSignals())\n            return NULL;",
        "keeps what a wait has raised")
replace(CURSES, "    if (rtn2 == ERR)\n        rtn[0] = 0;\n    return PyBytes_FromString(rtn);\n}\n\n/*[clinic input]\n_curses.window.hline",
        "    if (PyErr_Occurred())\n        return NULL;\n    if (rtn2 == ERR)\n        rtn[0] = 0;\n    return PyBytes_FromString(rtn);\n}\n\n/*[clinic input]\n_curses.window.hline",
        "keeps what a wait has raised")

PANEL = "Modules/_curses_panel.c"
replace(PANEL, "        (void)set_panel_userptr(po->pan, NULL);\n        Py_DECREF(obj);\n    }\n    (void)del_panel(po->pan);\n",
        "        (void)set_panel_userptr(po->pan, NULL);\n    }\n    (void)del_panel(po->pan);\n", "takes a panel off the stack before what it holds ends")
replace(PANEL, "        remove_lop(po);\n    }\n    PyObject_Free(po);\n", "        remove_lop(po);\n    }\n    Py_XDECREF(obj);\n    PyObject_Free(po);\n",
        "takes a panel off the stack before what it holds ends")


def with_both(path):
    """A method without arguments is called with two, its object and NULL. Where machines let it take one WebAssembly does not."""
    path = pathlib.Path(path)
    text = path.read_text()
    for name in re.findall(r"\(PyCFunction\)\s*(\w+),\s*METH_NOARGS", text):
        text = re.sub(rf"\b{name}\(\s*(\w+ \*self)\)(?=\s*\{{)", rf"{name}(\1, PyObject *unused)", text)
    path.write_text(text)


with_both("../xxhash/src/_xxhash.c")
ZSTANDARD = "../zstandard/c-ext"
for source in pathlib.Path(ZSTANDARD).glob("*.c"):
    with_both(source)
replace(f"{ZSTANDARD}/bufferutil.c", "PyObject *args) {\n    Py_ssize_t size;", "PyObject *args, PyObject *unused) {\n    Py_ssize_t size;", "takes what it is called with")
replace(f"{ZSTANDARD}/compressiondict.c", "PyLong_FromLong(dictID)", "PyLong_FromUnsignedLong(dictID)", "counts beyond what a long has here")
replace(f"{ZSTANDARD}/constants.c", 'PyModule_AddIntConstant(mod, "MAGIC_NUMBER", ZSTD_MAGICNUMBER)', 'PyModule_Add(mod, "MAGIC_NUMBER", PyLong_FromUnsignedLong(ZSTD_MAGICNUMBER))',
        "counts beyond what a long has here")
