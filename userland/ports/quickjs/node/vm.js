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
// The names of the context are what `with` finds first, so nothing of this function may have a name where the source is. What is declared by `var` is put
// where its name is found, and functions by a line before the rest. A name that is nowhere is an error, unless the source asks what it is.
function inContext(source, context, name) {
  const asked = new Set([...source.matchAll(/\btypeof\s*\(?\s*([\w$]+)/g)].map(([, one]) => one));
  const missing = (key) => { if (!asked.has(key)) throw new ReferenceError(`${String(key)} is not defined`); };
  const functions = new Set([...source.matchAll(/(?:^|[;}])\s*(?:async\s+)?function\s*\*?\s*([\w$]+)/gm)].map(([, one]) => one));
  const scope = new Proxy(context, { has: (target, key) => !functions.has(key),
    get: (target, key) => (key === Symbol.unscopables ? undefined : key in target ? target[key] : key === 'globalThis' ? context : key in globalThis ? globalThis[key] : missing(key)) });
  const first = [...functions].map((one) => `try { globalThis.${one} = ${one}; } catch {}`).join('');
  return native.evaluate(`(function () { with (arguments[0]) { return eval(${JSON.stringify(first + source)}); } })`, name)(scope);
}
const compileFunction = (source, names = [], options = {}) => native.evaluate(`(function (${names.join(',')}) {${source}\n})`, nameOf(options));
module.exports = { Script, compileFunction, createContext: (context = {}) => context, isContext: () => true,
  runInThisContext: (source, options) => native.evaluate(String(source), nameOf(options)),
  runInNewContext: (source, context = {}, options) => inContext(String(source), context, nameOf(options)),
  runInContext: (source, context, options) => inContext(String(source), context, nameOf(options)) };
