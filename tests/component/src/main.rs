// SPDX-License-Identifier: Apache-2.0
//! Runs the component of the world `eryx:sandbox` under stock wasmtime, as an embedder would, and checks what it does.
//!
//!     component_host sandbox.cwasm         exit status 0 when all holds; the last line is "N passed, M failed"
//!     component_host sandbox.cwasm CODE... runs each in one session, prints what they print
#![deny(warnings)]

mod network;
mod session;

use session::Session;
use wasmtime::component::{Component, Val};
use wasmtime::{Collector, Config, Engine, Result, bail};

#[derive(Default)]
struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    fn check(&mut self, what: &str, found: impl std::fmt::Debug, holds: bool) {
        if holds {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        println!(
            "{} {what}{}",
            if holds { "ok  " } else { "FAIL" },
            if holds {
                String::new()
            } else {
                format!(": {found:?}")
            }
        );
    }

    fn same(&mut self, what: &str, found: String, wanted: &str) {
        let holds = found == wanted;
        self.check(what, found, holds);
    }
}

const GATHER: &str = "import asyncio
print(await asyncio.gather(*[slow(n=i) for i in range(10)]) == [{'n': i} for i in range(10)])";
const TIMERS: &str = "import asyncio
try:
    await asyncio.wait_for(slow(n=1), 0.01)
    print('answered')
except TimeoutError:
    print('timeout')
async def later():
    await asyncio.sleep(0.05)
    return 'slept'
print(*await asyncio.gather(later(), invoke('http.get', '{\"a\": 1}')))";
const STATE: &str = "import math
class Point:
    def __init__(self, x): self.x = x
    def far(self): return math.sqrt(self.x) + offset
offset, nothing, p, twice = 1, None, Point(9), lambda v: v * 2";

const NETWORK: [(&str, &str, &str); 8] = [
    (
        "sockets",
        "import socket
with socket.create_connection(('echo.test', 7), timeout=5) as s:
    s.sendall(b'hello')
    print(s.recv(3), s.recv(9), s.recv(9), s.getpeername(), s.type.name)",
        "b'HEL' b'LO' b'' ('echo.test', 7) SOCK_STREAM",
    ),
    (
        "a large write, read as a file",
        "with socket.create_connection(('echo.test', 7)) as s, s.makefile('rwb') as f:
    f.write(b'x' * 1_000_000 + b'\\n')
    f.flush()
    print(len(f.readline()))",
        "1000001",
    ),
    (
        "a page",
        "import urllib.request
with urllib.request.urlopen('http://web.test/', timeout=5) as page:
    print(page.status, page.read())
with urllib.request.urlopen('https://web.test/') as page:
    print(page.status, page.read())",
        "200 b'a page'\n200 b'a page'",
    ),
    (
        "TLS",
        "import ssl
with socket.create_connection(('echo.test', 443)) as raw:
    with ssl.create_default_context().wrap_socket(raw, server_hostname='echo.test') as s:
        s.sendall(b'inside')
        print(s.recv(9), s.getpeername())",
        "b'INSIDE' ('echo.test', 443)",
    ),
    (
        "a certificate that is no good",
        "def tls(host, name):
    try:
        with socket.create_connection((host, 443)) as raw:
            ssl.create_default_context().wrap_socket(raw, server_hostname=name)
    except ssl.SSLError as e:
        print(type(e).__name__, e, e.reason)
tls('expired.test', 'expired.test')
tls('echo.test', 'other.test')",
        "SSLCertVerificationError [SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired CERTIFICATE_VERIFY_FAILED\nSSLError [SSL] no such name here HANDSHAKE_FAILURE",
    ),
    (
        "what the network refuses",
        "for address in [('web.test', 81), ('none.test', 80), ('private.test', 80), ('slow.test', 80), ('broken.test', 80)]:
    try:
        socket.create_connection(address)
    except OSError as e:
        print(type(e).__name__, e.strerror)",
        "ConnectionRefusedError Connection refused\ngaierror Name or service not known\nPermissionError private.test is not allowed\nTimeoutError Connection timed out\nOSError the cable is out",
    ),
    (
        "what a component has not",
        "def tell(f):
    try:
        f()
    except OSError as e:
        print(e.strerror)
tell(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
tell(lambda: socket.create_server(('', 80)))
tell(lambda: socket.socket().setblocking(False))
tell(lambda: socket.socket().recv(1))
s = socket.socket(); s.close()
tell(lambda: s.connect(('echo.test', 7)))",
        "there are TCP connections only in a component\nthere are no servers in a component (while attempting to bind on address ('', 80))\nsockets of a component wait: there is no non-blocking mode\nTransport endpoint is not connected\nBad file descriptor",
    ),
    (
        "a dropped socket closes its connection",
        "s = socket.create_connection(('echo.test', 7))
del s
print(1)",
        "1",
    ),
];

fn load(path: &str) -> Result<(Engine, Component)> {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_component_model_async(true);
    config.collector(Collector::DeferredReferenceCounting); // the C library has no other
    let engine = Engine::new(&config)?;
    // The file is what this engine's own release has compiled from sandbox.wasm a moment ago.
    let component = unsafe { Component::deserialize_file(&engine, path)? };
    Ok((engine, component))
}

async fn run_all(path: &str, codes: Vec<String>) -> Result<()> {
    let (engine, component) = load(path)?;
    let mut session = Session::new(&engine, &component).await?;
    for code in codes {
        let output = session.execute(&code).await?;
        print!(
            "{}",
            output.map_or_else(|traceback| traceback, |(stdout, stderr)| stdout + &stderr)
        );
    }
    Ok(())
}

async fn run(path: &str) -> Result<Checks> {
    let (engine, component) = load(path)?;
    let mut checks = Checks::default();
    let mut session = Session::new(&engine, &component).await?;

    checks.same(
        "prints",
        session.stdout("x = 20\nprint(x + 1)").await?,
        "21",
    );
    checks.same("names stay", session.stdout("print(x)").await?, "20");
    let both = session
        .execute("import sys\nprint('a'); print('b', file=sys.stderr)")
        .await?;
    checks.check(
        "stdout and stderr apart",
        &both,
        both == Ok(("a".into(), "b\n".into())),
    );
    let output = session.seen.lock().unwrap().output.clone();
    checks.check(
        "output is streamed",
        &output,
        output.ends_with(&[(0, "a\n".into()), (1, "b\n".into())]),
    );

    let failed = session.execute("def f():\n    return 1 / 0\nf()").await?;
    let right = failed.as_ref().is_err_and(|t| {
        t.contains("line 2, in f") && t.ends_with("ZeroDivisionError: division by zero\n")
    });
    checks.check("an error is its traceback", &failed, right);
    let wrong = session.execute("1 +").await?;
    checks.check(
        "a syntax error too",
        &wrong,
        wrong.as_ref().is_err_and(|t| t.contains("SyntaxError")),
    );
    let exit = session.execute("raise SystemExit(3)").await?;
    checks.check("sys.exit is no crash", &exit, exit.is_err());
    checks.same(
        "the session lives on",
        session.stdout("print(x)").await?,
        "20",
    );

    checks.same(
        "ten callbacks at once, in order",
        session.stdout(GATHER).await?,
        "True",
    );
    let most = session.seen.lock().unwrap().most_running;
    checks.check("all ten were in progress together", most, most == 10);
    checks.same(
        "dotted names",
        session.stdout("print(await http.get(url='u'))").await?,
        "{'url': 'u'}",
    );
    let refused = "try:\n    await fails()\nexcept Exception as e:\n    print(type(e).__name__, e)";
    checks.same(
        "the host's error",
        session.stdout(refused).await?,
        "CallbackError the host says no",
    );
    let listed = "print([c['name'] for c in list_callbacks()], list_callbacks()[0]['parameters_schema']['type'])";
    checks.same(
        "list_callbacks",
        session.stdout(listed).await?,
        "['slow', 'http.get', 'fails'] object",
    );
    checks.same(
        "timers beside callbacks",
        session.stdout(TIMERS).await?,
        "timeout\nslept {\"a\": 1}",
    );
    let nested = "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 7\nprint(asyncio.run(f()))";
    checks.same("asyncio.run", session.stdout(nested).await?, "7");
    let left = "import asyncio\nasync def g():\n    await asyncio.sleep(0.05)\n    print('went on')\nt = asyncio.ensure_future(g())\nawait asyncio.sleep(0)";
    session.stdout(left).await?;
    checks.same(
        "tasks go on in the next execution",
        session.stdout("await t").await?,
        "went on",
    );

    for (what, code, wanted) in NETWORK {
        checks.same(what, session.stdout(code).await?, wanted);
    }
    let open = (session.connections)();
    checks.check("no connection is left open", open, open == 0);

    let library = "import json, email.mime.text, xml.etree.ElementTree, decimal\nprint(json.dumps(decimal.__name__))";
    checks.same(
        "the standard library",
        session.stdout(library).await?,
        "\"decimal\"",
    );
    session.seen.lock().unwrap().traces.clear();
    session.stdout("x = 1\nawait slow(n=1)\ny = 2").await?;
    let traces: Vec<String> = std::mem::take(&mut session.seen.lock().unwrap().traces)
        .iter()
        .map(|(line, event)| format!("{line} {event}"))
        .collect();
    let right = traces.len() == 6
        && traces[0] == r#"0 {"type": "call", "function": "<module>"}"#
        && traces[1] == r#"1 {"type": "line"}"#
        && traces[3].starts_with(r#"0 {"type": "callback_start""#)
        && traces[4] == r#"2 {"type": "return", "function": "<module>"}"#
        && traces[5].starts_with(r#"0 {"type": "callback_end""#);
    checks.check(
        "tracing as the world has it, without asking",
        &traces,
        right,
    );
    let uncaught = session.execute("await fails()").await?;
    checks.check(
        "an uncaught error of the host's",
        &uncaught,
        uncaught
            .as_ref()
            .is_err_and(|t| t.ends_with("CallbackError: the host says no\n")),
    );
    session
        .stdout("import cloche\ncloche.set_tracing(True)")
        .await?;
    session.seen.lock().unwrap().traces.clear();
    session
        .stdout("def f(a):\n    return a\nf(1)\nawait slow(n=1)\nf(2)\ncloche.set_tracing(False)")
        .await?;
    let traces = std::mem::take(&mut session.seen.lock().unwrap().traces);
    let has = |line: u32, kind: &str| traces.iter().any(|t| t.0 == line && t.1.contains(kind));
    let right = has(1, r#""call", "function": "f""#)
        && has(2, r#""return""#)
        && has(4, r#""callback_start""#)
        && has(5, r#""line""#);
    checks.check("tracing, with lines after an await", &traces, right);
    session.stdout("pass").await?;
    checks.check(
        "tracing is off",
        (),
        session.seen.lock().unwrap().traces.is_empty(),
    );

    session.call("clear-state", &[]).await?;
    session.stdout(STATE).await?;
    let state = match session.call("snapshot-state", &[]).await? {
        Val::Result(Ok(Some(bytes))) => *bytes,
        other => bail!("no snapshot: {other:?}"),
    };
    let mut other = Session::new(&engine, &component).await?;
    let restored = other
        .call("restore-state", std::slice::from_ref(&state))
        .await?;
    checks.check(
        "restore in another instance",
        &restored,
        matches!(restored, Val::Result(Ok(_))),
    );
    checks.same(
        "classes, lambdas, None",
        other.stdout("print(p.far(), twice(4), nothing)").await?,
        "4.0 8 None",
    );
    let mut damaged = match &state {
        Val::List(bytes) => bytes.clone(),
        _ => bail!("not a list"),
    };
    damaged.truncate(damaged.len() - 1);
    let refused = other.call("restore-state", &[Val::List(damaged)]).await?;
    checks.check(
        "a damaged snapshot is an error",
        &refused,
        matches!(refused, Val::Result(Err(_))),
    );
    checks.same(
        "and changes nothing",
        other.stdout("print(twice(1))").await?,
        "2",
    );
    session.stdout("bad = (i for i in [])").await?;
    let named = session.call("snapshot-state", &[]).await?;
    checks.check(
        "what cannot be pickled is named",
        &named,
        format!("{named:?}").contains("bad cannot be saved"),
    );
    other.call("clear-state", &[]).await?;
    let cleared = other.execute("p").await?;
    checks.check(
        "clear-state",
        &cleared,
        cleared.as_ref().is_err_and(|t| t.contains("NameError")),
    );
    other.call("finalize-preinit", &[]).await?;
    checks.same(
        "it goes on after finalize-preinit",
        other.stdout("print(1)").await?,
        "1",
    );
    Ok(checks)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: component_host sandbox.cwasm");
        std::process::exit(2);
    };
    let codes: Vec<String> = std::env::args().skip(2).collect();
    if !codes.is_empty() {
        return run_all(&path, codes)
            .await
            .unwrap_or_else(|error| eprintln!("component_host: {error:?}"));
    }
    match run(&path).await {
        Ok(checks) => {
            println!("{} passed, {} failed", checks.passed, checks.failed);
            std::process::exit(i32::from(checks.failed != 0));
        }
        Err(error) => {
            eprintln!("component_host: {error:?}");
            std::process::exit(1);
        }
    }
}
