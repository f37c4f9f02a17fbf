// node:sea: programs that are one file with node itself. This is none.
const refuse = () => { throw Object.assign(new Error('Operation cannot be invoked when not in a single-executable application'), { code: 'ERR_NOT_IN_SINGLE_EXECUTABLE_APPLICATION' }); };

module.exports = { isSea: () => false, getAsset: (key, encoding) => refuse(key, encoding), getRawAsset: (key) => refuse(key), getAssetAsBlob: (key, options) => refuse(key, options) };
for (const name of ['getAsset', 'getRawAsset', 'getAssetAsBlob']) Object.defineProperty(module.exports[name], 'name', { value: name });
