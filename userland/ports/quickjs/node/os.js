// os: the machine and its numbers; the errors that system calls give.
const { native } = internal;

const errorNames = { 1: 'EPERM', 2: 'ENOENT', 3: 'ESRCH', 4: 'EINTR', 5: 'EIO', 6: 'ENXIO', 7: 'E2BIG', 8: 'ENOEXEC', 9: 'EBADF', 10: 'ECHILD', 11: 'EAGAIN', 12: 'ENOMEM',
  13: 'EACCES', 14: 'EFAULT', 16: 'EBUSY', 17: 'EEXIST', 18: 'EXDEV', 19: 'ENODEV', 20: 'ENOTDIR', 21: 'EISDIR', 22: 'EINVAL', 23: 'ENFILE', 24: 'EMFILE', 25: 'ENOTTY',
  26: 'ETXTBSY', 27: 'EFBIG', 28: 'ENOSPC', 29: 'ESPIPE', 30: 'EROFS', 31: 'EMLINK', 32: 'EPIPE', 33: 'EDOM', 34: 'ERANGE', 35: 'EDEADLK', 36: 'ENAMETOOLONG',
  37: 'ENOLCK', 38: 'ENOSYS', 39: 'ENOTEMPTY', 40: 'ELOOP', 42: 'ENOMSG', 43: 'EIDRM', 60: 'ENOSTR', 61: 'ENODATA', 62: 'ETIME', 63: 'ENOSR', 67: 'ENOLINK', 71: 'EPROTO',
  72: 'EMULTIHOP', 74: 'EBADMSG', 75: 'EOVERFLOW', 84: 'EILSEQ', 88: 'ENOTSOCK', 89: 'EDESTADDRREQ', 90: 'EMSGSIZE', 91: 'EPROTOTYPE', 92: 'ENOPROTOOPT',
  93: 'EPROTONOSUPPORT', 95: 'ENOTSUP', 96: 'EPFNOSUPPORT', 97: 'EAFNOSUPPORT', 98: 'EADDRINUSE', 99: 'EADDRNOTAVAIL', 100: 'ENETDOWN', 101: 'ENETUNREACH',
  102: 'ENETRESET', 103: 'ECONNABORTED', 104: 'ECONNRESET', 105: 'ENOBUFS', 106: 'EISCONN', 107: 'ENOTCONN', 108: 'ESHUTDOWN', 110: 'ETIMEDOUT', 111: 'ECONNREFUSED',
  112: 'EHOSTDOWN', 113: 'EHOSTUNREACH', 114: 'EALREADY', 115: 'EINPROGRESS', 116: 'ESTALE', 122: 'EDQUOT', 125: 'ECANCELED' };
const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11,
  SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGURG: 23,
  SIGXCPU: 24, SIGXFSZ: 25, SIGVTALRM: 26, SIGPROF: 27, SIGWINCH: 28, SIGIO: 29, SIGPWR: 30, SIGSYS: 31 };
const signalNames = Object.fromEntries(Object.entries(signals).map(([name, number]) => [number, name]));

const texts = { ENOTDIR: 'not a directory', ENOTEMPTY: 'directory not empty', EEXIST: 'file already exists', EISDIR: 'illegal operation on a directory',
  EBADF: 'bad file descriptor', EPERM: 'operation not permitted', ENOENT: 'no such file or directory', EACCES: 'permission denied', EINVAL: 'invalid argument',
  EADDRINUSE: 'address already in use', EADDRNOTAVAIL: 'address not available' };
function textOf(code, number) {
  const text = native.errorText(number);
  return texts[code] ?? text.charAt(0).toLowerCase() + text.slice(1);
}

// The exception for a negative errno: its message, code, errno, syscall, path as Node.js has them.
function errnoError(result, syscall, path, dest) {
  const code = errorNames[-result] ?? `E${-result}`;
  let message = `${code}: ${textOf(code, -result)}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message);
  error.errno = result;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = String(path);
  if (dest !== undefined) error.dest = String(dest);
  return error;
}

const os = module.exports = {
  EOL: '\n', devNull: '/dev/null',
  arch: () => 'wasm32', platform: () => 'linux', type: () => 'Linux', endianness: () => 'LE',
  release: () => native.release(), machine: () => native.machine(), version: () => '#1', hostname: () => native.hostname(),
  tmpdir: () => (process.env.TMPDIR || process.env.TMP || process.env.TEMP || '/tmp').replace(/(.)\/$/, '$1'),
  homedir: () => process.env.HOME || '/workspace',
  userInfo: () => ({ uid: native.getuid(), gid: native.getgid(), username: process.env.USER || 'sandbox', homedir: os.homedir(), shell: '/bin/sh' }),
  uptime: () => native.uptime(), loadavg: () => [0, 0, 0], totalmem: () => native.memoryTotal(), freemem: () => native.memoryFree(),
  availableParallelism: () => native.cpus(), networkInterfaces: () => ({}),
  cpus: () => Array.from({ length: native.cpus() }, () => ({ model: 'wasm', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })),
  getPriority: () => 0, setPriority: () => {},
  constants: { UV_UDP_REUSEADDR: 4, dlopen: { RTLD_LAZY: 1, RTLD_NOW: 2, RTLD_GLOBAL: 256, RTLD_LOCAL: 0 },
    priority: { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 }, signals, errno: Object.fromEntries(Object.entries(errorNames).map(([number, name]) => [name, Number(number)])) },
};
Object.defineProperty(os, '__errors', { value: { errnoError, textOf, signals, signalNames, errorNames }, enumerable: false });
