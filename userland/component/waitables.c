// SPDX-License-Identifier: Apache-2.0
// What componentize-py has no word for: a look at a set of waitables that does not wait, so that timers run beside
// callbacks without an import of WASI 0.3. A module of CPython 3.14 for wasm32, whose structures are written down here: its
// headers come with no package.
typedef struct Object Object;
typedef struct {
  const char *name;
  Object *(*function)(Object *module, Object *argument);
  int flags;
  const char *documentation;
} Method;
typedef struct {
  int references;  // PyModuleDef_HEAD_INIT
  void *type;
  Object *(*init)(void);
  int index;
  Object *copy;
  const char *name;
  const char *documentation;
  int size;
  Method *methods;
  void *slots, *traverse, *clear, *release;
} Module;
enum { one_argument = 8, no_state = -1, api_version = 1013 };

Object *PyModule_Create2(Module *module, int version);
Object *PyErr_Occurred(void);
long PyLong_AsLong(Object *number);
Object *Py_BuildValue(const char *format, ...);

__attribute__((import_module("$root"), import_name("[waitable-set-poll]"))) int waitable_set_poll(int set, int payload[2]);

static Object *poll(Object *module, Object *set) {
  (void)module;
  int payload[2] = {0, 0};
  const long number = PyLong_AsLong(set);
  if (number == -1 && PyErr_Occurred()) return 0;
  const int event = waitable_set_poll((int)number, payload);
  return Py_BuildValue("(iii)", event, payload[0], payload[1]);
}

static Method methods[] = {
    {"poll", poll, one_argument, "poll(set): the next event as (kind, waitable, status); its kind is 0 where there is none."},
    {0, 0, 0, 0},
};
static Module module = {.references = 1, .name = "_waitables", .size = no_state, .methods = methods};

__attribute__((visibility("default"))) Object *PyInit__waitables(void) { return PyModule_Create2(&module, api_version); }
