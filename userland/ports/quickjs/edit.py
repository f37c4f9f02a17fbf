"""QuickJS-ng: os.exec starts programs by vfork, and errors are worded as in node. These lines are under its licence (MIT)."""

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
                    ("\"cannot convert symbol to string\"", "\"Cannot convert a Symbol value to a string\""),
                    ("\"invalid 'instanceof' right operand\"", "\"Right-hand side of 'instanceof' is not callable\""),
                    ("\"object is not extensible\"", "\"Cannot add property, object is not extensible\""),
                    ("\"bad normalization form\"", "\"The normalization form should be one of NFC, NFD, NFKC, NFKD.\""),
                    ("\"Date value is NaN\"", "\"Invalid time value\""),
                    ("\"invalid value used as WeakMap key\"", "\"Invalid value used as weak map key\""),
                    ("js_throw_URIError(ctx, \"expecting %%\")", "js_throw_URIError(ctx, \"URI malformed\")"),
                    ("js_throw_URIError(ctx, \"expecting hex digit\")", "js_throw_URIError(ctx, \"URI malformed\")"),
                    ("js_throw_URIError(ctx, \"malformed UTF-8\")", "js_throw_URIError(ctx, \"URI malformed\")"),
                    ("js_throw_URIError(ctx, \"invalid character\")", "js_throw_URIError(ctx, \"URI malformed\")"),
                    ("js_throw_URIError(ctx, \"expecting surrogate pair\")", "js_throw_URIError(ctx, \"URI malformed\")"),
                    ("\"return not in a function\"", "\"Illegal return statement\""),
                    ("\"unexpected end of string\"", "\"Invalid or unexpected token\"")):
    if ours not in text:
        sys.exit(f"quickjs.c does not say {ours}")
    text = text.replace(ours, nodes)
engine.write_text(text)
replace(engine, "                    JS_ThrowTypeErrorReadOnly(ctx, JS_PROP_THROW, atom);\n                else\n                if (type == JS_THROW_VAR_REDECL)",
        "                    JS_ThrowTypeError(ctx, \"Assignment to constant variable.\");\n                else\n"
        "                if (type == JS_THROW_VAR_REDECL)", "words the assignment to a constant as node does")

CODE_POINT = """ range_error:
    JS_ThrowRangeError(ctx, "invalid code point");
 fail:
    if (b) string_buffer_free(b);
    return JS_EXCEPTION;
}

static JSValue js_string_raw("""
replace(engine, "        if (c < 0 || c > 0x10ffff)\n            goto range_error;\n        if (c <= 0xffff) {", "        if (c < 0 || c > 0x10ffff) {\n            i = 0;\n            goto range_error;\n        }\n        if (c <= 0xffff) {",
        "knows which code point is none")
replace(engine, CODE_POINT, CODE_POINT.replace('''    JS_ThrowRangeError(ctx, "invalid code point");''', '''    {
        const char *shown = JS_ToCString(ctx, argv[i]);
        JS_ThrowRangeError(ctx, "Invalid code point %s", shown ? shown : "");
        JS_FreeCString(ctx, shown);
    }'''), "says which code point is none")

# Where the words need more than others in the same place.
TOKEN = "(int)(s->buf_ptr - s->token.ptr), s->token.ptr"
replace(engine, """        return js_parse_error(s, "unexpected token in expression: '%.*s'",
                              (int)(s->buf_ptr - s->token.ptr), s->token.ptr);""",
        f"""        if (s->token.val == TOK_EOF)
            return js_parse_error(s, "Unexpected end of input");
        return js_parse_error(s, "Unexpected token '%.*s'", {TOKEN});""", "words a token that fits nowhere as node does")
replace(engine, """        return js_parse_error(s, "expecting '%c'", ';');""",
        f"""        return js_parse_error(s, s->token.val == TOK_IDENT ? "Unexpected identifier '%.*s'" : s->token.val == TOK_STRING ? "Unexpected string"
                                 : s->token.val == TOK_NUMBER ? "Unexpected number" : "Unexpected token '%.*s'", {TOKEN});""", "words what stands behind a statement as node does")
replace(engine, """                JS_ThrowTypeError(ctx, "class constructors must be invoked with 'new'");""",
        """                {
                    const char *name = get_func_name(ctx, sf->cur_func);
                    JS_ThrowTypeError(ctx, "Class constructor %s cannot be invoked without 'new'", name ? name : "");
                    JS_FreeCString(ctx, name);
                }""", "names a class that is called")
replace(engine, """            JS_ThrowTypeError(ctx, "circular reference");
            goto exception;
        }
        indent1""", """            JS_ThrowTypeError(ctx, "Converting circular structure to JSON");
            goto exception;
        }
        indent1""", "words a circle in JSON as node does")
replace(engine, """                JS_ThrowTypeError(ctx, "empty array");""", """                JS_ThrowTypeError(ctx, "Reduce of empty array with no initial value");""", "words an empty array as node does")

# Who made an error is told beside its places (patches/03-places.patch), of which neither is one: 1 for node's library, 2 for a function of the engine.
MAKER = "tells who made an error"
replace(engine, "    sf_start = rt->current_stack_frame;\n", "    sf_start = rt->current_stack_frame;\n    int maker = -1;\n", MAKER)
replace(engine, "            bool shown = file && strncmp(file, \"/usr/lib/node/\", 14);\n",
        "            bool shown = file && strncmp(file, \"/usr/lib/node/\", 14);\n            if (maker < 0) maker = !b ? 2 : !shown;\n", MAKER)
replace(engine, "        // Clear the csd's we didn't use in case of error.\n",
        "        if (maker > 0 && JS_IsObject(stack)) JS_SetPropertyStr(ctx, stack, \"maker\", JS_NewInt32(ctx, maker));\n        // Clear the csd's we didn't use in case of error.\n", MAKER)

replace(engine, "    JS_DefinePropertyValueConst(ctx, obj, JS_ATOM_errors, errors,\n                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n    return obj;\n}\n\n/* Array */",
        "    JS_DefinePropertyValue(ctx, obj, JS_ATOM_message, JS_NewString(ctx, \"All promises were rejected\"), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n"
        "    JS_DefinePropertyValueConst(ctx, obj, JS_ATOM_errors, errors,\n                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n    return obj;\n}\n\n/* Array */",
        "says what Promise.any failed of")

# Of sucrase what takes types out: no maps of sources, no check of options, no listing of words, and so none of the packages that those want.
sucrase = pathlib.Path(os.environ["EXTRA"], "sucrase/dist/index.js")
WHOLE = "leaves out what wants other packages"
replace(sucrase, "var _computeSourceMap = require('./computeSourceMap'); var _computeSourceMap2 = _interopRequireDefault(_computeSourceMap);\n", "", WHOLE)
replace(sucrase, "var _Options = require('./Options');\n", "", WHOLE)
replace(sucrase, "var _formatTokens = require('./util/formatTokens'); var _formatTokens2 = _interopRequireDefault(_formatTokens);\n", "", WHOLE)
replace(sucrase, "  _Options.validateOptions.call(void 0, options);\n", "", WHOLE)
