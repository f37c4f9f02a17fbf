"""QuickJS-ng: os.exec starts programs by vfork, and errors are worded as in node. These lines are under its licence (MIT)."""

import os
import pathlib

from edits import replace, replace_all

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
engine = "quickjs/quickjs.c"
replace_all(engine, (
    ("cannot read property '%s' of null", "Cannot read properties of null (reading '%s')"),
    ("cannot read property '%s' of undefined", "Cannot read properties of undefined (reading '%s')"),
    ("cannot set property '%s' of null", "Cannot set properties of null (setting '%s')"),
    ("cannot set property '%s' of undefined", "Cannot set properties of undefined (setting '%s')"),
    ("\"'%s' is read-only\"", "\"Cannot assign to read only property '%s' of object\""),
    ("redeclaration of '%s'", "Identifier '%s' has already been declared"),
    ("%s is not initialized", "Cannot access '%s' before initialization"),
    ("\"cannot convert symbol to number\"", "\"Cannot convert a Symbol value to a number\""),
    ("\"cannot convert BigInt to number\"", "\"Cannot convert a BigInt value to a number\""),
    ("\"BigInt are forbidden in JSON.stringify\"", "\"Do not know how to serialize a BigInt\""),
    ("JS_ThrowTypeError(ctx, \"toPrimitive\")", "JS_ThrowTypeError(ctx, \"Cannot convert object to primitive value\")"),
    ("\"invalid array length\"", "\"Invalid array length\""),
    ("\"cannot convert symbol to string\"", "\"Cannot convert a Symbol value to a string\""),
), "words errors as in node")
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
