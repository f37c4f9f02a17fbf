// The loop: what runs when, in Node.js's order. A round is what has come by descriptors, then what is immediate, then the timers that are due; behind each of
// them all ticks and promises go on.
const { native, os } = internal;
const { now } = performance;

// --- What is to run before promises go on ---

const ticks = internal.ticks = [];
function runTicks() {
  let at = 0;
  try {
    while (at < ticks.length) {
      if (at === 1024) {
        ticks.splice(0, at);
        at = 0;
      }
      const { callback, args, frame } = ticks[at++];
      native.setAsyncFrame(frame);
      callback(...args);
    }
  } finally {
    ticks.splice(0, at);
  }
}
function settle() {
  let failed;
  do {
    try {
      if (ticks.length) runTicks();
      native.runJobs();
      failed = false;
    } catch (error) {
      failed = true;
      internal.fatal(error);
    }
  } while (failed || ticks.length || internal.checkRejections());
}
// One callback with the stores of who asked for it, and all that follows from it at once.
internal.step = (callback, frame, self, args) => {
  if (frame !== undefined) native.setAsyncFrame(frame);
  try {
    if (args === undefined) callback();
    else callback.apply(self, args);
  } catch (error) {
    internal.fatal(error);
  }
  settle();
};

// --- What waits for descriptors and signals ---

// It keeps the program, but for what was let go (unref).
const readable = 1, writable = 4, troubles = 8 | 16 | 32;
const waits = new Map(), loosened = new Set(), signals = new Map();
let kept = 0;
const weight = (wait) => (wait.loose ? 0 : Boolean(wait.read) + Boolean(wait.write));
function watch(side, fd, handler, frame = native.asyncFrame()) {
  let wait = waits.get(fd);
  if (!wait) {
    if (handler === null) return;
    waits.set(fd, wait = { fd, read: null, write: null, loose: loosened.has(fd) });
  }
  kept -= weight(wait);
  wait[side] = handler && { handler, frame };
  kept += weight(wait);
  native.watch(fd, (wait.read ? readable : 0) | (wait.write ? writable : 0));
  if (!wait.read && !wait.write) waits.delete(fd);
}
// The stores of a handler are those of the frame that is given, or else of who sets it.
os.setReadHandler = (fd, handler, ...frame) => watch('read', fd, handler, ...frame);
os.setWriteHandler = (fd, handler, ...frame) => watch('write', fd, handler, ...frame);
internal.setLoose = (fd, loose) => {
  if (loose) loosened.add(fd);
  else loosened.delete(fd);
  const wait = waits.get(fd);
  if (!wait) return;
  kept -= weight(wait);
  wait.loose = loose;
  kept += weight(wait);
};
internal.onSignal = (number, handler) => {
  if (handler) signals.set(number, handler);
  else signals.delete(number);
  native.signal(number, handler ? 1 : 0);
};

function poll(timeout) {
  if (timeout === 0 && waits.size === 0 && signals.size === 0) return;
  const ready = native.waitFor(timeout), calls = [];
  for (let i = 0; i < ready.length; i += 2) {
    const fd = ready[i], events = ready[i + 1], wait = waits.get(fd);
    if (fd < 0) calls.push({ signal: -fd });
    else for (const [side, event] of [['read', readable], ['write', writable]]) if (wait?.[side] && events & (event | troubles)) calls.push({ fd, side, call: wait[side] });
  }
  // One of them may have taken another away.
  for (const { fd, side, call, signal } of calls) {
    if (signal !== undefined) internal.step(() => signals.get(signal)?.());
    else if (waits.get(fd)?.[side] === call) internal.step(call.handler, call.frame);
  }
}

native.loop = () => {
  const timers = require('timers').__queues;
  internal.loopBegan = now();
  const alive = () => kept > 0 || internal.children > 0 || timers.held();
  // What a module does is done within a promise.
  if (internal.main) internal.step(() => native.runJobs());
  settle();
  for (;;) {
    timers.runDue();
    while (alive()) {
      poll(timers.wait());
      timers.runImmediates();
      timers.runDue();
    }
    internal.step(internal.beforeExit);
    if (alive()) continue;
    internal.step(internal.end);
    native.exit(1);
  }
};
