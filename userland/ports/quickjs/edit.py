"""QuickJS-ng: os.exec starts programs by vfork, errors are worded as in node, a source may begin with a line 0, and jobs keep the frame
that they were made in. These lines are under its licence (MIT)."""

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

# A frame, which any value may be, goes with what is to run later: with each job from where it was made, with a reaction to a promise from where
# that was asked for.
FRAME = "keeps a frame with what runs later"
replace("quickjs/quickjs.c", "    JSValue current_exception;\n    /* true if inside an out of memory error", "    JSValue async_frame;\n    JSValue current_exception;\n    /* true if inside an out of memory error", FRAME)
replace("quickjs/quickjs.c", "    JSJobFunc *job_func;\n    int argc;\n    JSValue argv[];\n", "    JSJobFunc *job_func;\n    JSValue frame;\n    int argc;\n    JSValue argv[];\n", FRAME)
replace("quickjs/quickjs.c", "    if (JS_InitAtoms(rt))\n", "    rt->async_frame = JS_UNDEFINED;\n    if (JS_InitAtoms(rt))\n", FRAME)
replace("quickjs/quickjs.c", "    e->job_func = job_func;\n    e->argc = argc;\n", "    e->job_func = job_func;\n    e->frame = js_dup(rt->async_frame);\n    e->argc = argc;\n", FRAME)
replace("quickjs/quickjs.c", "    ctx = e->ctx;\n    res = e->job_func(e->ctx, e->argc, vc(e->argv));\n", """    ctx = e->ctx;
    JSValue outer = rt->async_frame;
    rt->async_frame = e->frame;
    res = e->job_func(e->ctx, e->argc, vc(e->argv));
    JS_FreeValue(ctx, rt->async_frame);
    rt->async_frame = outer;
""", FRAME)
replace("quickjs/quickjs.c", "    JSValue resolving_funcs[2];\n    JSValue handler;\n} JSPromiseReactionData;\n", "    JSValue resolving_funcs[2];\n    JSValue handler;\n    JSValue frame;\n} JSPromiseReactionData;\n", FRAME)
replace("quickjs/quickjs.c", "    JS_FreeValueRT(rt, rd->handler);\n    js_free_rt(rt, rd);\n", "    JS_FreeValueRT(rt, rd->handler);\n    JS_FreeValueRT(rt, rd->frame);\n    js_free_rt(rt, rd);\n", FRAME)
replace("quickjs/quickjs.c", "            JS_MarkValue(rt, rd->handler, mark_func);\n", "            JS_MarkValue(rt, rd->handler, mark_func);\n            JS_MarkValue(rt, rd->frame, mark_func);\n", FRAME)
replace("quickjs/quickjs.c", "        rd->handler = js_dup(handler);\n", "        rd->handler = js_dup(handler);\n        rd->frame = js_dup(ctx->rt->async_frame);\n", FRAME)
replace("quickjs/quickjs.c", "        JS_EnqueueJob(ctx, promise_reaction_job, 5, args);\n        list_del(&rd->link);\n", """        JSValue own = ctx->rt->async_frame;
        ctx->rt->async_frame = rd->frame;
        JS_EnqueueJob(ctx, promise_reaction_job, 5, args);
        ctx->rt->async_frame = own;
        list_del(&rd->link);
""", FRAME)
replace("quickjs/quickjs.c", "void JS_SetPromiseHook(", """JSValue JS_GetAsyncFrame(JSContext *ctx)
{
    return js_dup(ctx->rt->async_frame);
}

void JS_SetAsyncFrame(JSContext *ctx, JSValueConst frame)
{
    set_value(ctx, &ctx->rt->async_frame, js_dup(frame));
}

void JS_SetPromiseHook(""", FRAME)
replace("quickjs/quickjs.h", "JS_EXTERN void JS_SetPromiseHook(", "JS_EXTERN JSValue JS_GetAsyncFrame(JSContext *ctx);\nJS_EXTERN void JS_SetAsyncFrame(JSContext *ctx, JSValueConst frame);\nJS_EXTERN void JS_SetPromiseHook(", FRAME)

replace("quickjs/quickjs.c", "    basename = JS_GetScriptOrModuleName(ctx, 0);\n    if (basename == JS_ATOM_NULL)\n        basename_val = JS_NULL;\n", """    basename = JS_ATOM_NULL;
    for (JSStackFrame *sf = ctx->rt->current_stack_frame; sf && basename == JS_ATOM_NULL; sf = sf->prev_frame) {
        JSObject *p = JS_VALUE_GET_TAG(sf->cur_func) == JS_TAG_OBJECT ? JS_VALUE_GET_OBJ(sf->cur_func) : NULL;
        if (!p || !js_class_has_bytecode(p->class_id))
            continue;
        const char *name = JS_AtomToCString(ctx, p->u.func.function_bytecode->filename);
        if (name && name[0] == '/')
            basename = JS_DupAtom(ctx, p->u.func.function_bytecode->filename);
        JS_FreeCString(ctx, name);
    }
    if (basename == JS_ATOM_NULL)
        basename = JS_GetScriptOrModuleName(ctx, 0);
    if (basename == JS_ATOM_NULL)
        basename_val = JS_NULL;
""", "lets text that was made into a function import as the file that calls it")

# What scripts and people know these errors by: node's words.
engine = pathlib.Path("quickjs/quickjs.c")
text = engine.read_text()
for ours, nodes in (("cannot read property '%s' of null", "Cannot read properties of null (reading '%s')"),
                    ("cannot read property '%s' of undefined", "Cannot read properties of undefined (reading '%s')"),
                    ("cannot set property '%s' of null", "Cannot set properties of null (setting '%s')"),
                    ("cannot set property '%s' of undefined", "Cannot set properties of undefined (setting '%s')"),
                    ("\"'%s' is read-only\"", "\"Cannot assign to read only property '%s' of object\""),
                    ("%s is not initialized", "Cannot access '%s' before initialization"),
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
