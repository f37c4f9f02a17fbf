// TypeScript: the types are taken out of a source, by sucrase, and its lines stay where they are. What Node.js refuses to take out because it is code
// (enum, parameter properties) is made into JavaScript; a namespace is not.
const Module = require('module');

let transform;
function strip(source, file) {
  if (file?.includes('/node_modules/'))
    throw Object.assign(new Error(`Stripping types is currently unsupported for files under node_modules, for "${require('url').pathToFileURL(file)}"`), { code: 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING' });
  const space = /^[ \t]*(?:export[ \t]+)?(?:namespace|module)[ \t]+[\w$.]+\s*\{/m.exec(source);
  if (space) throw Object.assign(new SyntaxError(`TypeScript namespace declaration is not supported${file ? ` in ${file}` : ''}`), { code: 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' });
  transform ??= Module.createRequire(`${internal.root}sucrase/index.js`)('./index.js').transform;
  try {
    return transform(source, { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: true }).code;
  } catch (error) {
    throw Object.assign(new SyntaxError(`${error.message}${file ? ` in ${file}` : ''}`), { code: 'ERR_INVALID_TYPESCRIPT_SYNTAX' });
  }
}
module.exports = { strip };
