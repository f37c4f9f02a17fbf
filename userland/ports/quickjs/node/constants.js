// constants: of fs and os, flat.
module.exports = { ...require('os').constants.errno, ...require('os').constants.signals, ...require('fs').constants };
