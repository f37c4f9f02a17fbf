// What a program called, or went through, that was no function, constructor or list: the engine tells the place, and the words of the program there are those of
// the message, as in Node.js: `a.b is not a function`.
const { std } = internal;

const messages = { 'not a function': 'is not a function', 'not a constructor': 'is not a constructor', 'value is not iterable': 'is not iterable' };
const letter = /[\p{ID_Continue}$#\u200c\u200d]/u;
// Where the engine's place is that of a statement.
const keyword = /^(?:await|case|const|do|else|for|if|in|let|of|return|switch|throw|typeof|var|void|while|yield)$/;
const found = new Map();

const closing = { ')': '(', ']': '[' };
// Where the bracket opens that closes at `at`.
function openingOf(line, at) {
  let depth = 0;
  for (let i = at; i >= 0; i--) {
    if (line[i] === line[at]) depth++;
    else if (line[i] === closing[line[at]] && --depth === 0) return i;
  }
  return -1;
}
// What stands before a dot at `end`: names, what they are called with, and their elements.
function before(line, end) {
  let text = '';
  for (let at = end - 1; at >= 0;) {
    if (line[at] in closing) {
      const open = openingOf(line, at);
      if (open < 0) return null;
      const inner = line.slice(open, at + 1);
      at = open - 1;
      const called = at >= 0 && (letter.test(line[at]) || line[at] in closing);
      if (!called) return `(intermediate value)${text}`;
      text = (inner[0] === '(' ? '(...)' : /^\[['"][\w$]+['"]\]$/.test(inner) ? `.${inner.slice(2, -2)}` : /^\[[\w$.]+\]$/.test(inner) ? inner : '[...]') + text;
      continue;
    }
    let start = at;
    while (start >= 0 && letter.test(line[start])) start--;
    if (start === at) return text ? `(intermediate value)${text}` : null;
    text = line.slice(start + 1, at + 1) + text;
    if (line[start] !== '.') return text;
    const optional = line[start - 1] === '?';
    text = `${optional ? '?.' : '.'}${text}`;
    at = start - (optional ? 2 : 1);
  }
  return text;
}
function textAt(line, column, constructs) {
  let end = column;
  while (end < line.length && letter.test(line[end])) end++;
  if (end === column) return null;
  // Of a constructor the place is where its name begins.
  for (let more; constructs && (more = /^\.[\w$]+/.exec(line.slice(end))); end += more[0].length);
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

function lineOf(file, number) {
  const whole = internal.sources?.get(file) ?? (file.startsWith('/') ? std.loadFile(file) : null);
  return whole?.split('\n', number)[number - 1];
}

module.exports = (message, site) => {
  const words = messages[message], file = site.getFileName(), row = site.getLineNumber(), column = site.getColumnNumber();
  if (words === undefined || !file || file.startsWith(internal.root) || site.isNative()) return message;
  const place = `${message} ${file}:${row}:${column}`;
  if (!found.has(place)) {
    // Who fails again and again at new places is told no more than the engine knows.
    if (found.size > 1000) return message;
    const line = lineOf(file, row), constructs = line !== undefined && (message === 'not a constructor' || /\bnew\s+$/.test(line.slice(0, column - 1)));
    const text = line === undefined ? null : textAt(line, column - 1, constructs), made = constructs ? messages['not a constructor'] : words;
    found.set(place, text === null || text.length > 80 || keyword.test(text) ? message : `${text} ${made}`);
  }
  return found.get(place);
};
