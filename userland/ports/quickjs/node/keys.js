// Keys of a terminal: the sequences that it sends for them, as events of a stream.
const names = {};
for (const [name, codes] of Object.entries({ up: '[A OA', down: '[B OB', right: '[C OC', left: '[D OD', clear: '[E OE', end: '[F OF [4~ [8~', home: '[H OH [1~ [7~', insert: '[2~', delete: '[3~', pageup: '[5~ [[5~',
  pagedown: '[6~ [[6~', f1: 'OP [P [11~ [[A', f2: 'OQ [Q [12~ [[B', f3: 'OR [R [13~ [[C', f4: 'OS [S [14~ [[D', f5: '[15~ [[E', f6: '[17~', f7: '[18~', f8: '[19~', f9: '[20~', f10: '[21~', f11: '[23~', f12: '[24~',
  'paste-start': '[200~', 'paste-end': '[201~' })) for (const code of codes.split(' ')) names[code] = { name };
for (const [letter, name] of Object.entries({ a: 'up', b: 'down', c: 'right', d: 'left', e: 'clear' })) {
  names[`[${letter}`] = { name, shift: true };
  names[`O${letter}`] = { name, ctrl: true };
}
for (const [number, name] of Object.entries({ 2: 'insert', 3: 'delete', 5: 'pageup', 6: 'pagedown', 7: 'home', 8: 'end' })) {
  names[`[${number}$`] = { name, shift: true };
  names[`[${number}^`] = { name, ctrl: true };
}
names['[Z'] = { name: 'tab', shift: true };

// What one press of a key sent: \x1b for itself or with meta, `[` or `O` and their parameters, or a letter.
const sequence = /^(?:\x1b\x1b?(?:O[0-9]?[A-Za-z]|\[(?:\[[A-Ea-e0-9~]|\d{0,3}(?:;\d{1,2})?(?:[~^$]|[A-Za-z])))|\x1b[^\x1b]|[^\x1b])/u;
const begun = /^\x1b{0,2}(?:\x1b(?:O\d?|\[(?:\[|\d{0,3}(?:;\d{0,2})?)?)?)?$/;

function keyOf(text) {
  const key = { sequence: text, name: undefined, ctrl: false, meta: false, shift: false };
  const [, escapes, rest] = /^(\x1b{0,2})([^]*)$/.exec(text);
  if (escapes && /^[O[]./.test(rest)) {
    key.meta = escapes.length > 1;
    const [, mark, first, modifier, last] = /^(O|\[\[|\[)(\d*)(?:;(\d+))?([^]*)$/.exec(rest);
    const code = mark === 'O' ? `O${last}` : modifier !== undefined && /^[A-Z]$/i.test(last) ? `[${last}` : `${mark}${first}${last}`;
    const bits = Number(mark === 'O' && first ? first : modifier ?? 1) - 1;
    key.ctrl = Boolean(bits & 4);
    key.meta ||= Boolean(bits & 10);
    key.shift = Boolean(bits & 1);
    key.code = code;
    const known = names[code];
    if (known) Object.assign(key, known);
    else key.name = 'undefined';
    return key;
  }
  const char = escapes && rest ? rest : text;
  key.meta = Boolean(escapes && rest);
  if (char === '\r') key.name = 'return';
  else if (char === '\n') key.name = 'enter';
  else if (char === '\t') key.name = 'tab';
  else if (char === '\b' || char === '\x7f') key.name = 'backspace';
  else if (char === '\x1b') { key.name = 'escape'; key.meta = true; } else if (char === ' ') key.name = 'space';
  else if (char <= '\x1a') { key.name = String.fromCharCode(char.charCodeAt(0) + 96); key.ctrl = true; } else if (/^[0-9a-z]$/.test(char)) key.name = char;
  else if (/^[A-Z]$/.test(char)) { key.name = char.toLowerCase(); key.shift = true; }
  return key;
}

const attached = new WeakSet();
// `keypress` with the text of each key and what it is. What comes with others is pasted: only the last key of a piece asks `lines` to complete.
function emitKeypressEvents(stream, lines = {}) {
  const { escapeCodeTimeout = 500 } = lines;
  if (attached.has(stream)) return;
  attached.add(stream);
  const decoder = new (require('string_decoder').StringDecoder)('utf8');
  let held = '', timer;
  const tell = (text) => {
    const key = keyOf(text);
    stream.emit('keypress', key.name === 'escape' || key.code !== undefined || key.meta ? undefined : text, key);
  };
  const data = (chunk) => {
    if (stream.listenerCount('keypress') === 0) {
      stream.off('data', data);
      stream.on('newListener', begin);
      return;
    }
    clearTimeout(timer);
    held += typeof chunk === 'string' ? chunk : decoder.write(chunk);
    for (let found; held !== '' && !begun.test(held) && (found = sequence.exec(held));) {
      held = held.slice(found[0].length);
      lines.isCompletionEnabled = held === '';
      tell(found[0]);
    }
    if (held === '') return;
    // An escape that nothing follows is the key itself.
    timer = setTimeout(() => {
      const text = held;
      held = '';
      tell(text);
    }, escapeCodeTimeout);
  };
  const begin = (event) => {
    if (event !== 'keypress') return;
    stream.off('newListener', begin);
    stream.on('data', data);
  };
  if (stream.listenerCount('keypress') > 0) stream.on('data', data);
  else stream.on('newListener', begin);
}

module.exports = { emitKeypressEvents };
