"""QuickJS-ng: os.exec starts programs by vfork, errors are worded as in node, and a source may begin with a line 0. These lines are
under its licence (MIT)."""

import os
import pathlib
import sys

from edits import replace

replace("quickjs/quickjs-libc.c", "    pid = fork();\n", "    pid = vfork();\n", "starts programs by vfork")

# One that is ready may stand behind others that are not; and a signal ends no loop.
POLL = "    nfds = poll(pfds, nfds, min_delay);\n    if (nfds < 0) {\n        ret = -1;\n        goto done;\n    }\n    for (pfd = pfds; nfds-- > 0; pfd++) {\n"
replace("quickjs/quickjs-libc.c", POLL, """    const int asked = nfds;
    if (poll(pfds, asked, min_delay) < 0) {
        ret = errno == EINTR ? 0 : -1;
        goto done;
    }
    for (pfd = pfds; pfd < pfds + asked; pfd++) {
""", "looks at all descriptors that it asked for")
replace("quickjs/quickjs.c", "        if (options->line_num != 0)\n            line = options->line_num;\n", "        line = options->line_num;\n",
        "counts lines from the number that is given")

# The buffer of a memory of WebAssembly is not given away: the memory has it.
replace("quickjs/quickjs.c", "    if (abuf->detached)\n        return JS_ThrowTypeErrorDetachedArrayBuffer(ctx);\n    pmax_len = NULL;\n    if (magic == JS_ARRAY_BUFFER_TRANSFER) {",
        "    if (abuf->detached)\n        return JS_ThrowTypeErrorDetachedArrayBuffer(ctx);\n"
        "    if (js_undetachable_buffer && abuf->realloc_func == js_undetachable_buffer)\n"
        "        return JS_ThrowTypeError(ctx, \"Cannot perform ArrayBuffer.prototype.transfer on a non-detachable ArrayBuffer\");\n"
        "    pmax_len = NULL;\n    if (magic == JS_ARRAY_BUFFER_TRANSFER) {", "keeps a memory's buffer with the memory")
replace("quickjs/quickjs.c", "static JSValue js_array_buffer_transfer(JSContext *ctx, JSValueConst this_val,\n", "JSReallocArrayBufferDataFunc *js_undetachable_buffer;\n\nstatic JSValue js_array_buffer_transfer(JSContext *ctx, JSValueConst this_val,\n",
        "has a name for such buffers")

# What a weak reference has been made of, or has given, is there until the turn is over.
replace("quickjs/quickjs.c", "static JSWeakRefData js_weakref_sentinel;\n", """static JSWeakRefData js_weakref_sentinel;
static JSValue *js_turn_kept;
static size_t js_turn_count, js_turn_room;

static void js_keep_for_turn(JSContext *ctx, JSValueConst value)
{
    if (js_turn_count > 0 && JS_VALUE_GET_PTR(js_turn_kept[js_turn_count - 1]) == JS_VALUE_GET_PTR(value))
        return;
    if (js_turn_count == js_turn_room) {
        size_t room = js_turn_room ? 2 * js_turn_room : 64;
        JSValue *more = js_realloc_rt(ctx->rt, js_turn_kept, room * sizeof(*more));
        if (!more)
            return;
        js_turn_kept = more;
        js_turn_room = room;
    }
    js_turn_kept[js_turn_count++] = js_dup(value);
}

void JS_EndTurn(JSContext *ctx)
{
    while (js_turn_count > 0)
        JS_FreeValue(ctx, js_turn_kept[--js_turn_count]);
}
""", "keeps what weak references are of for a turn")
replace("quickjs/quickjs.c", "    insert_weakref_record(arg, wr);\n\n    JS_SetOpaqueInternal(obj, wrd);\n    return obj;\n",
        "    insert_weakref_record(arg, wr);\n\n    JS_SetOpaqueInternal(obj, wrd);\n    js_keep_for_turn(ctx, arg);\n    return obj;\n", "keeps what one is made of")
replace("quickjs/quickjs.c", "        return JS_UNDEFINED;\n    return js_dup(wrd->target);\n",
        "        return JS_UNDEFINED;\n    js_keep_for_turn(ctx, wrd->target);\n    return js_dup(wrd->target);\n", "keeps what one gives")

# What scripts and people know these errors by: node's words.
engine = pathlib.Path("quickjs/quickjs.c")
text = engine.read_text()
for ours, nodes in (("cannot read property '%s' of null", "Cannot read properties of null (reading '%s')"),
                    ("cannot read property '%s' of undefined", "Cannot read properties of undefined (reading '%s')"),
                    ("cannot set property '%s' of null", "Cannot set properties of null (setting '%s')"),
                    ("cannot set property '%s' of undefined", "Cannot set properties of undefined (setting '%s')"),
                    ("\"'%s' is read-only\"", "\"Cannot assign to read only property '%s' of object\""),
                    ("redeclaration of '%s'", "Identifier '%s' has already been declared"),
                    ("%s is not initialized", "Cannot access '%s' before initialization"),
                    ("\"cannot convert symbol to number\"", "\"Cannot convert a Symbol value to a number\""),
                    ("\"cannot convert BigInt to number\"", "\"Cannot convert a BigInt value to a number\""),
                    ("\"invalid array length\"", "\"Invalid array length\""),
                    ("\"cannot convert symbol to string\"", "\"Cannot convert a Symbol value to a string\"")):
    if ours not in text:
        sys.exit(f"quickjs.c does not say {ours}")
    text = text.replace(ours, nodes)
engine.write_text(text)
replace(engine, "                    JS_ThrowTypeErrorReadOnly(ctx, JS_PROP_THROW, atom);\n                else\n                if (type == JS_THROW_VAR_REDECL)",
        "                    JS_ThrowTypeError(ctx, \"Assignment to constant variable.\");\n                else\n"
        "                if (type == JS_THROW_VAR_REDECL)", "words the assignment to a constant as node does")

# Of sucrase what takes types out: no maps of sources, no check of options, no listing of words, and so none of the packages that those want.
sucrase = pathlib.Path(os.environ["EXTRA"], "sucrase/dist/index.js")
WHOLE = "leaves out what wants other packages"
replace(sucrase, "var _computeSourceMap = require('./computeSourceMap'); var _computeSourceMap2 = _interopRequireDefault(_computeSourceMap);\n", "", WHOLE)
replace(sucrase, "var _Options = require('./Options');\n", "", WHOLE)
replace(sucrase, "var _formatTokens = require('./util/formatTokens'); var _formatTokens2 = _interopRequireDefault(_formatTokens);\n", "", WHOLE)
replace(sucrase, "  _Options.validateOptions.call(void 0, options);\n", "", WHOLE)
