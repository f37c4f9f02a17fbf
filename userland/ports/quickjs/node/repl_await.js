// Programs that wait at their top, as one asynchronous function: what they declare stays the session's, and the last expression is what it comes to.

// The statements of a program: where each ends, outside of brackets, texts, comments and regular expressions.
function statementsOf(source) {
  const out = [];
  let depth = 0, begin = 0, last = '';
  const cut = (at) => {
    if (source.slice(begin, at).trim()) out.push(source.slice(begin, at).trim());
    begin = at;
  };
  const pieces = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\])*'|"(?:\\[^]|[^"\\])*"|`(?:\\[^]|[^`\\])*`|[\p{ID_Continue}$#]+|\s+|[^]/gu;
  for (let piece; (piece = pieces.exec(source));) {
    const [text] = piece;
    if (/^\s+$/.test(text)) {
      // A line ends a statement where the next one cannot go on with it.
      if (depth === 0 && text.includes('\n') && !/[=+\-*/%&|^<>?:,.([{!~]$/.test(last) && !/^[=+\-*/%&|^<>?:,.([{`)\]}]/.test(source.slice(pieces.lastIndex)) && last !== '') cut(piece.index);
      continue;
    }
    if (/^\/[/*]/.test(text)) continue;
    if (text === '/' && (last === '' || /[=([{,;:!&|?+\-*%<>~^]$|^(?:return|typeof|case|in|of|void|delete|await)$/.test(last))) {
      const expression = /\/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+\/\w*/y;
      expression.lastIndex = piece.index;
      if (expression.test(source)) pieces.lastIndex = expression.lastIndex;
    }
    if (/^[([{]$/.test(text)) depth++;
    if (/^[)\]}]$/.test(text)) depth--;
    last = text;
    if (text === ';' && depth === 0) {
      cut(pieces.lastIndex);
      last = '';
    }
  }
  cut(source.length);
  return out;
}
// The names that a pattern binds.
const namesIn = (pattern) => (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(pattern) ? [pattern]
  : [...pattern.replace(/=(?:[^,{}[\]]|\{[^}]*\})+/g, '').replace(/(?:[\p{ID_Continue}$]+|'[^']*'|"[^"]*")\s*:/gu, '').matchAll(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu)].map(([name]) => name));
// Where the pattern of a declaration ends, at its `=`.
function patternOf(text) {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (/[{[(]/.test(text[i])) depth++;
    else if (/[}\])]/.test(text[i])) depth--;
    else if (depth === 0 && text[i] === '=') return [text.slice(0, i).trim(), text.slice(i + 1)];
  }
  return [text.trim(), undefined];
}
function declared(text) {
  const parts = [];
  let depth = 0, from = 0;
  for (let i = 0; i <= text.length; i++) {
    if (i === text.length || (depth === 0 && text[i] === ',')) {
      parts.push(text.slice(from, i));
      from = i + 1;
    } else if (/[{[(]/.test(text[i])) depth++;
    else if (/[}\])]/.test(text[i])) depth--;
  }
  return parts.map((part) => patternOf(part));
}

function awaiting(source) {
  const names = [], body = statementsOf(source).map((statement) => {
    const [, kind, rest] = /^(const|let|var)\s+([^]+?);?$/.exec(statement) ?? [];
    if (kind) {
      return `${declared(rest).map(([pattern, value]) => {
        names.push(...namesIn(pattern));
        return value === undefined ? `${pattern} = undefined` : `(${pattern} = ${value})`;
      }).join(', ')}; undefined;`.replace(/; undefined;$/, ';');
    }
    const [, made, name] = /^(class|(?:async\s+)?function\s*\*?)\s+([\p{ID_Continue}$]+)/u.exec(statement) ?? [];
    if (made) {
      names.push(name);
      return `${name} = ${statement};`;
    }
    return statement;
  });
  if (body.length === 0) return undefined;
  const last = body.pop(), isStatement = /^(?:if|for|while|do|switch|try|throw|return|break|continue|with|debugger|\{)\b|^\{/.test(last) || /^(?:const|let|var|class|(?:async\s+)?function)\b/.test(statementsOf(source).at(-1));
  const end = isStatement ? `${last}\n` : `return (\n${last.replace(/;$/, '')}\n);`;
  return `${names.length ? `var ${[...new Set(names)].join(', ')}; ` : ''}(async () => { ${body.join('\n')}\n${end} })()`;
}

module.exports = { awaiting };
