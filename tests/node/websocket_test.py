# SPDX-License-Identifier: Apache-2.0
"""The WebSocket of the web in node, beside a server of the test's own in the sandbox."""
import os
import subprocess
import unittest

PROGRAM = r"""
const http = require('http'), crypto = require('crypto');
const frame = (kind, body) => Buffer.concat([Buffer.from([0x80 | kind, body.length]), body]);
const server = http.createServer((request, response) => { response.statusCode = 404; response.end(); });
server.on('upgrade', (request, socket) => {
  const accept = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ' + (request.url === '/wrong' ? 'x' : accept) + '\r\nSec-WebSocket-Protocol: b\r\n\r\n');
  if (request.url === '/wrong') return;
  if (request.url === '/no-text') return void socket.write(frame(1, Buffer.from([0xff])));
  // In two parts, with a ping between them.
  socket.write(Buffer.concat([Buffer.from([1, 2]), Buffer.from('in'), frame(9, Buffer.from('p')), Buffer.from([0x80, 6]), Buffer.from(' parts')]));
  let held = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 6 && held.length >= 6 + (held[1] & 127)) {
      const size = held[1] & 127, mask = held.subarray(2, 6), body = Buffer.from(held.subarray(6, 6 + size)).map((byte, i) => byte ^ mask[i & 3]), kind = held[0] & 15;
      held = held.subarray(6 + size);
      if (kind === 10) console.log('pong', String(body));
      else socket.write(frame(kind, body));
      if (kind === 8) socket.end();
    }
  });
}).listen(0, '127.0.0.1', () => {
  const address = 'ws://127.0.0.1:' + server.address().port, show = (call) => { try { return call(); } catch (error) { return error.name + ' ' + error.message; } };
  console.log(show(() => new WebSocket('foo')), '|', show(() => new WebSocket('ftp://x')), '|', show(() => new WebSocket(address, ['a', 'A'])), '|', WebSocket.CLOSED);
  const socket = new WebSocket(address + '/path', ['a', 'b']), got = [];
  socket.binaryType = 'arraybuffer';
  console.log(socket.readyState, show(() => socket.send('x')), '|', show(() => socket.close(5)));
  socket.onopen = () => {
    console.log('open', socket.readyState, socket.protocol);
    socket.send('text é'); socket.send(new Uint8Array([1, 2])); socket.send(new Blob(['blob'])); socket.send('behind it');
  };
  socket.addEventListener('message', ({ data, origin }) => {
    got.push(typeof data === 'string' ? data : [...new Uint8Array(data)].join());
    if (got.length === 5) { console.log(got.join(' | '), origin === address); socket.close(3001, 'bye'); }
  });
  socket.onclose = ({ code, reason, wasClean }) => {
    console.log('close', code, reason, wasClean, socket.readyState);
    const places = ['/wrong', '/no-text'], next = () => {
      const path = places.shift();
      if (path === undefined) return server.close();
      const failing = new WebSocket(address + path, 'b');
      failing.onerror = (event) => console.log(path, event.type, event.message);
      failing.onclose = (event) => { console.log(event.code, event.wasClean); next(); };
    };
    next();
  };
});
"""


class WebSockets(unittest.TestCase):
    maxDiff = None

    def test_it_speaks_with_a_server(self):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "60s", "--", "node", "-e", PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout,
                         "SyntaxError TypeError: Invalid URL | SyntaxError Expected a ws: or wss: protocol, got ftp: | SyntaxError Invalid Sec-WebSocket-Protocol value | 3\n"
                         "0 InvalidStateError Sent before connected. | InvalidAccessError invalid code\n"
                         "open 1 b\npong p\nin parts | text é | 1,2 | 98,108,111,98 | behind it true\nclose 3001 bye true 3\n"
                         "/wrong error Incorrect answer to the opening of a WebSocket.\n1006 false\n/no-text error A text of the server is none.\n1006 false\n", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
