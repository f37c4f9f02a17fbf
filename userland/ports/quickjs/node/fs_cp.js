// fs.cp: copies of files, folders and links. The same steps are taken at once, and by the promises' form, whose filter may be asynchronous.
const fs = require('fs');
const path = require('path');
const { coded, isBoolean, isFunction, isInteger, isObject, received } = require('checks');

// Node.js words what is refused in one way where it copies at once, and in another where it does not.
const plain = (code, text) => coded(Error, code, text);
function system(code, message, name, text, at) {
  const number = { EISDIR: 21, EINVAL: 22, ENOTDIR: 20, EEXIST: 17 }[name];
  const error = Object.assign(coded(Error, code, `${message}: cp returned ${name} (${text}) ${at}`), { info: { message: text, path: at, syscall: 'cp', errno: number, code: name }, errno: number, syscall: 'cp', path: at });
  Object.defineProperty(error, 'name', { value: 'SystemError', writable: true, configurable: true, enumerable: false });
  return error;
}
const slashed = (folder) => (folder.endsWith('/') ? folder : `${folder}/`);
const problems = {
  folder: (from, sync) => (sync ? plain('ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: ${slashed(from)}`) : system('ERR_FS_EISDIR', 'Path is a directory', 'EISDIR', `${from} is a directory (not copied)`, from)),
  within: (from, to, sync) => (sync ? plain('ERR_FS_CP_EINVAL', `Cannot copy ${slashed(from)} to a subdirectory of self ${to}`) :
    system('ERR_FS_CP_EINVAL', 'Invalid src or dest', 'EINVAL', `cannot copy ${from} to a subdirectory of self ${to}`, to)),
  same: (to, sync) => (sync ? plain('ERR_FS_CP_EINVAL', `src and dest cannot be the same ${to}`) : system('ERR_FS_CP_EINVAL', 'Invalid src or dest', 'EINVAL', 'src and dest cannot be the same', to)),
  overFolder: (from, to, sync) => (sync ? plain('ERR_FS_CP_NON_DIR_TO_DIR', `Cannot overwrite directory ${to} with non-directory ${from}`) :
    system('ERR_FS_CP_NON_DIR_TO_DIR', 'Cannot overwrite directory with non-directory', 'ENOTDIR', `cannot overwrite directory ${to} with non-directory ${from}`, to)),
  overFile: (from, to, sync) => (sync ? plain('ERR_FS_CP_DIR_TO_NON_DIR', `Cannot overwrite non-directory ${from} with directory ${to}`) :
    system('ERR_FS_CP_DIR_TO_NON_DIR', 'Cannot overwrite non-directory with directory', 'EISDIR', `cannot overwrite non-directory ${to} with directory ${from}`, to)),
  there: (to) => system('ERR_FS_CP_EEXIST', 'Target already exists', 'EEXIST', `${to} already exists`, to),
  kind: (at) => system('ERR_FS_CP_UNKNOWN', 'Cannot copy an unknown file type', 'EINVAL', `cannot copy an unknown file type: ${at}`, at),
};

const flags = { dereference: false, errorOnExist: false, force: true, preserveTimestamps: false, recursive: false, verbatimSymlinks: false };
function checked(options = {}) {
  isObject(options, 'options');
  const words = { ...flags, mode: 0, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) };
  for (const name in flags) isBoolean(words[name], `options.${name}`);
  isInteger(words.mode, 'mode', 0, 7);
  if (words.dereference && words.verbatimSymlinks) throw coded(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', 'Option "dereference" cannot be used in combination with option "verbatimSymlinks"');
  if (words.filter !== undefined) isFunction(words.filter, 'options.filter');
  return words;
}

// Whether a path lies in a folder, by the names on the way.
const liesIn = (folder, file) => path.resolve(file).startsWith(slashed(path.resolve(folder)));
const same = (a, b) => a.ino !== 0 && a.ino === b.ino && a.dev === b.dev;

// Checks what is asked for as a whole; what there is at both ends.
function ends(from, to, words, sync) {
  const look = words.dereference ? fs.statSync : fs.lstatSync;
  const source = look(from), target = look(to, { throwIfNoEntry: false });
  if (target) {
    if (same(source, target)) throw problems.same(to, sync);
    if (source.isDirectory() && !target.isDirectory()) throw problems.overFile(from, to, sync);
    if (!source.isDirectory() && target.isDirectory()) throw problems.overFolder(from, to, sync);
  }
  if (source.isDirectory() && !words.recursive) throw problems.folder(from, sync);
  if (source.isDirectory() && liesIn(from, to)) throw problems.within(from, to, sync);
  // The folders above the target are not the source either, under another name.
  for (let above = path.dirname(path.resolve(to)); source.isDirectory(); above = path.dirname(above)) {
    const found = fs.statSync(above, { throwIfNoEntry: false });
    if (found && same(source, found)) throw problems.within(from, to, sync);
    if (above === '/') break;
  }
  return { source, target };
}

function copyFile(from, to, source, target, words) {
  if (target) {
    if (!words.force) {
      if (words.errorOnExist) throw problems.there(to);
      return;
    }
    fs.unlinkSync(to);
  }
  fs.copyFileSync(from, to, words.mode);
  if (words.preserveTimestamps) fs.utimesSync(to, fs.statSync(from).atime, source.mtime);
}
function copyLink(from, to, target, words, sync) {
  let leads = fs.readlinkSync(from);
  if (!words.verbatimSymlinks && !path.isAbsolute(leads)) leads = path.resolve(path.dirname(from), leads);
  if (!target) return fs.symlinkSync(leads, to);
  if (!target.isSymbolicLink()) {
    if (!words.force) return;
    fs.unlinkSync(to);
    return fs.symlinkSync(leads, to);
  }
  const before = path.resolve(path.dirname(to), fs.readlinkSync(to));
  if (fs.statSync(leads, { throwIfNoEntry: false })?.isDirectory() && liesIn(leads, before)) throw problems.within(leads, before, sync);
  fs.unlinkSync(to);
  fs.symlinkSync(leads, to);
}
// The steps of a copy: those that are yielded ask the filter.
function* steps(from, to, words, sync) {
  if (words.filter && !(yield [from, to])) return;
  const { source, target } = ends(from, to, words, sync);
  fs.mkdirSync(path.dirname(path.resolve(to)), { recursive: true });
  yield* copy(from, to, source, target, words, sync);
}
function* copy(from, to, source, target, words, sync) {
  if (source.isDirectory()) {
    if (!target) fs.mkdirSync(to);
    for (const name of fs.readdirSync(from)) {
      const [inner, outer] = [path.join(from, name), path.join(to, name)];
      if (words.filter && !(yield [inner, outer])) continue;
      const found = ends(inner, outer, words, sync);
      yield* copy(inner, outer, found.source, found.target, words, sync);
    }
    if (!target) fs.chmodSync(to, source.mode & 0o7777);
  } else if (source.isSymbolicLink()) {
    copyLink(from, to, target, words, sync);
  } else if (source.isFile() || source.isCharacterDevice() || source.isBlockDevice()) {
    copyFile(from, to, source, target, words);
  } else {
    throw problems.kind(to);
  }
}

module.exports = {
  cpSync(from, to, options) {
    const words = checked(options), work = steps(from, to, words, true);
    for (let step = work.next(); !step.done;) {
      const answer = words.filter(...step.value);
      if (typeof answer?.then === 'function') throw coded(TypeError, 'ERR_INVALID_RETURN_VALUE', `Expected boolean to be returned from the "filter" function but got${received(answer).replace(' Received', '')}.`);
      step = work.next(answer);
    }
  },
  async cp(from, to, options) {
    const words = checked(options), work = steps(from, to, words, false);
    for (let step = work.next(); !step.done;) step = work.next(await words.filter(...step.value));
  },
  checked,
};
