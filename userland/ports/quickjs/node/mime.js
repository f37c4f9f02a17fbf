// util.MIMEType and util.MIMEParams: types of content, as the web reads and writes them (mimesniff).
const { coded, wrongType } = require('checks');

const token = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/, value = /^[\t -~\x80-\xff]*$/;
const syntax = (production, text, at) => coded(TypeError, 'ERR_INVALID_MIME_SYNTAX', `The MIME syntax for a ${production} in "${text}" is invalid${at === undefined || at < 0 ? '' : ` at ${at}`}`);
const wrongAt = (text, fits) => [...text].findIndex((char) => !fits.test(char));
const isToken = (text, production) => { if (!token.test(text)) throw syntax(production, text, wrongAt(text, token)); return text; };
const written = (text) => (token.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`);

class MIMEParams {
  #list = new Map();
  static fill(params, text) {
    // Of what is no parameter nothing is said; the first of a name counts.
    for (let at = 0; at < text.length;) {
      at += /^[\t\n\r ]*/.exec(text.slice(at))[0].length;
      const name = /^[^;=]*/.exec(text.slice(at))[0];
      at += name.length;
      if (text[at] !== '=') {
        at++;
        continue;
      }
      at++;
      let given;
      if (text[at] === '"') {
        const quoted = /^"((?:[^"\\]|\\[^]|\\$)*)"?/.exec(text.slice(at));
        given = quoted[1].replace(/\\([^])/g, '$1');
        at += quoted[0].length;
        at += /^[^;]*/.exec(text.slice(at))[0].length + 1;
      } else {
        given = /^[^;]*/.exec(text.slice(at))[0];
        at += given.length + 1;
        given = given.replace(/[\t\n\r ]+$/, '');
        if (given === '') continue;
      }
      const low = name.toLowerCase();
      if (token.test(low) && value.test(given) && !params.#list.has(low)) params.#list.set(low, given);
    }
    return params;
  }
  delete(name) { this.#list.delete(`${name}`); }
  get(name) { return this.#list.get(`${name}`) ?? null; }
  has(name) { return this.#list.has(`${name}`); }
  set(name, given) {
    const [key, text] = [`${name}`, `${given}`];
    isToken(key, 'parameter name');
    if (!value.test(text)) throw syntax('parameter value', text, wrongAt(text, value));
    this.#list.set(key, text);
  }
  *entries() { yield* this.#list.entries(); }
  *keys() { yield* this.#list.keys(); }
  *values() { yield* this.#list.values(); }
  toString() { return [...this.#list].map(([name, text]) => `${name}=${written(text)}`).join(';'); }
}
Object.defineProperties(MIMEParams.prototype, {
  [Symbol.iterator]: { value: MIMEParams.prototype.entries, writable: true, configurable: true },
  toJSON: { value: MIMEParams.prototype.toString, writable: true, configurable: true, enumerable: true },
});

class MIMEType {
  #type;
  #subtype;
  #params;
  constructor(given) {
    const text = `${given}`, trimmed = text.replace(/^[\t\n\r ]+/, ''), slash = trimmed.indexOf('/');
    const type = slash < 0 ? trimmed : trimmed.slice(0, slash);
    if (slash < 0 || !token.test(type)) throw syntax('type', text, slash < 0 ? -1 : wrongAt(type, token));
    const end = trimmed.indexOf(';', slash), subtype = trimmed.slice(slash + 1, end < 0 ? undefined : end).replace(/[\t\n\r ]+$/, '');
    if (!token.test(subtype)) throw syntax('subtype', text, wrongAt(subtype, token));
    [this.#type, this.#subtype] = [type.toLowerCase(), subtype.toLowerCase()];
    this.#params = MIMEParams.fill(new MIMEParams(), end < 0 ? '' : trimmed.slice(end + 1));
  }
  get type() { return this.#type; }
  set type(given) { this.#type = isToken(`${given}`, 'type').toLowerCase(); }
  get subtype() { return this.#subtype; }
  set subtype(given) { this.#subtype = isToken(`${given}`, 'subtype').toLowerCase(); }
  get essence() { return `${this.#type}/${this.#subtype}`; }
  get params() { return this.#params; }
  toString() {
    const params = this.#params.toString();
    return this.essence + (params === '' ? '' : `;${params}`);
  }
}
Object.defineProperty(MIMEType.prototype, 'toJSON', { value: MIMEType.prototype.toString, writable: true, configurable: true, enumerable: true });
for (const name of ['type', 'subtype', 'essence', 'params', 'toString']) Object.defineProperty(MIMEType.prototype, name, { enumerable: true });

module.exports = { MIMEType, MIMEParams };
