// What a program called, or went through, that was no function, constructor or list: the engine tells the place, and the words of the program there are those of
// the message, as in Node.js: `a.b is not a function`.
const { std } = internal;

const messages = { 'not a function': 'is not a function', 'not a constructor': 'is not a constructor', 'value is not iterable': 'is not iterable' };
for (const nothing of ['undefined', 'null']) messages[`Cannot read properties of ${nothing} (reading 'Symbol.iterator')`] = 'is not iterable';
const letter = /[\p{ID_Continue}$#\u200c\u200d]/u;
// Where the engine's place is that of a statement.
const keyword = /^(?:await|case|const|do|else|for|if|in|let|of|return|switch|throw|typeof|var|void|while|yield)$/;
const found = new Map();

const closing = { ')': '(', ']': '[', '}': '{' };
// Where the bracket opens that closes at `at`.
function openingOf(line, at) {
  let depth = 0;
  for (let i = at; i >= 0; i--) {
    if (line[i] === line[at]) depth++;
    else if (line[i] === closing[line[at]] && --depth === 0) return i;
  }
  return -1;
}
// A list, an object or a group as Node.js writes it: of lists what is simple in them, of objects that there is something.
function literal(inner) {
  const within = inner.slice(1, -1).trim();
  if (inner[0] === '{') return within === '' ? '{}' : '{(intermediate value)}';
  if (inner[0] === '(') {
    if (/^(?:\d+|'[^'"\\]*'|"[^'"\\]*")$/.test(within)) return within.replaceAll("'", '"');
    if (/^[[{]/.test(within) && openingOf(within, within.length - 1) === 0) return literal(within);
    const binary = /^([\w$.]+)\s*(\|\||&&|\?\?)\s*([\w$.]+)$/.exec(within);
    return binary ? `(${binary[1]} ${binary[2]} ${binary[3]})` : /^[\w$.]+$/.test(within) ? within : null;
  }
  return /^[\w$.,\s[\]]*$/.test(within) ? inner.replaceAll(/\s/g, '') : null;
}
// A text or an expression of a pattern that ends here.
function quoted(line, at) {
  const from = line[at] === '/' ? /(?:^|[(,=:[!&|?{};\s])(\/(?:[^/\\[]|\\.|\[[^\]]*\])+\/)$/.exec(line.slice(0, at + 1))?.[1] : /(['"`])(?:(?!\1)[^\\$])*\1$/.exec(line.slice(0, at + 1))?.[0];
  return from === undefined ? null : line[at] === '/' ? from : `"${from.slice(1, -1)}"`;
}
// What stands before a dot at `end`: names, what they are called with, and their elements.
function before(line, end) {
  let text = '';
  for (let at = end - 1; at >= 0;) {
    if (/['"`/]/.test(line[at])) return `${quoted(line, at) ?? '(intermediate value)'}${text}`;
    if (line[at] in closing) {
      const open = openingOf(line, at);
      if (open < 0) return null;
      const inner = line.slice(open, at + 1);
      at = open - 1;
      const called = at >= 0 && inner[0] !== '{' && (letter.test(line[at]) || line[at] in closing) && !/(?:^|[^\w$.])(?:return|typeof|void|await|yield|in|of|case|throw|else|new)$/.test(line.slice(0, at + 1));
      if (!called) return `${literal(inner) ?? '(intermediate value)'}${text}`;
      text = (inner[0] === '(' ? '(...)' : /^\[(['"`])[^'"`\\$]+\1\]$/.test(inner) ? `.${inner.slice(2, -2)}` : /^\[[\w$.]+\]$/.test(inner) ? inner : /^\[[\w$.]+\(.*\)\]$/.test(inner) ? inner.replace(/\(.*\)/, '(...)') : '[...]') + text;
      continue;
    }
    let start = at;
    while (start >= 0 && letter.test(line[start])) start--;
    if (start === at) return text ? `(intermediate value)${text}` : null;
    text = line.slice(start + 1, at + 1) + text;
    if (/\bnew\s+$/.test(line.slice(0, start + 1)) && text.includes('(...)')) return `(intermediate value)${text.slice(text.indexOf('(...)') + 5)}`;
    if (line[start] !== '.') return text;
    const optional = line[start - 1] === '?';
    text = `${optional ? '?.' : '.'}${text}`;
    at = start - (optional ? 2 : 1);
  }
  return text;
}
function textAt(line, column, constructs, whole) {
  if (line[column] === '(') return calledBefore(line, column);
  if (constructs) column += /^new\s+/.exec(line.slice(column))?.[0].length ?? 0;
  let end = column;
  while (end < line.length && letter.test(line[end])) end++;
  if (end === column) return null;
  // Of a constructor, and of what is gone through, the place is where its name begins.
  for (let more; whole && (more = /^\.[\w$]+/.exec(line.slice(end))); end += more[0].length);
  let name = line.slice(column, end);
  for (let open = end; line[open] === '[';) {
    const close = /^\[(?:['"]([\w$]+)['"]|([\w$.]+))\]/.exec(line.slice(open));
    if (!close) break;
    name += close[1] === undefined ? close[0] : `.${close[1]}`;
    open += close[0].length;
  }
  if (line[column - 1] !== '.' || line.slice(column - 3, column) === '...') return name;
  const optional = line[column - 2] === '?', head = before(line, column - (optional ? 2 : 1));
  return head === null ? `(intermediate value).${name}` : `${head}${optional ? '?.' : '.'}${name}`;
}

// What is called by a parenthesis at `column` and has no name.
function calledBefore(line, column) {
  const text = before(line, column);
  return text === null || text === '(intermediate value)' ? null : text;
}

function lineOf(file, number) {
  const whole = internal.sources?.get(file) ?? (file.startsWith('/') ? std.loadFile(file) : null);
  return whole?.split('\n', number)[number - 1];
}

// The engine counts bytes.
const unitAt = (line, bytes) => (/^[\x00-\x7f]*$/.test(line) ? bytes : Buffer.from(line).toString('utf8', 0, bytes).length);

module.exports = (message, site) => {
  const words = messages[message], file = site.getFileName(), row = site.getLineNumber(), column = site.getColumnNumber();
  if (words === undefined || !file || file.startsWith(internal.root) || site.isNative()) return message;
  const place = `${message} ${file}:${row}:${column}`;
  if (!found.has(place)) {
    // Who fails again and again at new places is told no more than the engine knows.
    if (found.size > 1000) return message;
    const line = lineOf(file, row), at = line === undefined ? 0 : unitAt(line, column - 1), constructs = line !== undefined && message !== 'value is not iterable' && /^new\s/.test(line.slice(at));
    const text = line === undefined ? null : textAt(line, at, constructs, constructs || words === 'is not iterable'), made = constructs ? messages['not a constructor'] : words;
    const nothing = /of (undefined|null) \(reading 'Symbol/.exec(message)?.[1];
    if (words === 'is not iterable' && /\([^()[\]]*\.\.\.$/.test(line?.slice(0, at) ?? '')) found.set(place, 'Spread syntax requires ...iterable[Symbol.iterator] to be a function');
    else if (text !== null && text.length <= 80 && !keyword.test(text) && text !== nothing) found.set(place, `${text} ${made}`);
    else found.set(place, nothing === undefined ? message : `${nothing} is not iterable (cannot read property Symbol(Symbol.iterator))`);
  }
  return found.get(place);
};
