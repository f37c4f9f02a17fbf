// vm: scripts in this context; others there are none.
const { native } = internal;
const nameOf = (options) => (typeof options === 'string' ? options : options?.filename) ?? 'evalmachine.<anonymous>';
class Script {
  constructor(source, options) {
    this.source = String(source);
    this.name = nameOf(options);
  }
  runInThisContext() { return native.evaluate(this.source, this.name); }
  runInNewContext(context = {}) { return inContext(this.source, context, this.name); }
  runInContext(context) { return inContext(this.source, context, this.name); }
}
// The names of the context are what `with` finds first.
function inContext(source, context, name) {
  const scope = new Proxy(context, { has: () => true, get: (target, key) => (key === Symbol.unscopables ? undefined : key in target ? target[key] : key === 'globalThis' ? context : globalThis[key]) });
  return native.evaluate('(function (scope, source) { with (scope) { return eval(source); } })', name)(scope, source);
}
const compileFunction = (source, names = [], options = {}) => native.evaluate(`(function (${names.join(',')}) {${source}\n})`, nameOf(options));
module.exports = { Script, compileFunction, createContext: (context = {}) => context, isContext: () => true,
  runInThisContext: (source, options) => native.evaluate(String(source), nameOf(options)),
  runInNewContext: (source, context = {}, options) => inContext(String(source), context, nameOf(options)),
  runInContext: (source, context, options) => inContext(String(source), context, nameOf(options)) };
