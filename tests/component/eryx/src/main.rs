// SPDX-License-Identifier: Apache-2.0
//! Loads the component of the world `eryx:sandbox` in the crate `eryx`, as it is, and checks what it does there.
//!
//!     eryx_host sandbox.wasm      exit status 0 when all holds; the last line is "N passed, M failed"
#![deny(warnings)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eryx::{
    CallbackError, DynamicCallback, ExecuteResult, InProcessSession, NetConfig, Sandbox, Session,
    TraceEventKind,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SLOW: Duration = Duration::from_millis(200);
const GATHER: &str = "import asyncio
print(await asyncio.gather(*[slow(n=i) for i in range(10)]) == [{'n': i} for i in range(10)])";
const TIMERS: &str = "import asyncio
async def later():
    await asyncio.sleep(0.05)
    return 'slept'
print(*await asyncio.gather(later(), echo(a=1)))
try:
    await asyncio.wait_for(slow(n=1), 0.01)
    print('answered')
except TimeoutError:
    print('timeout')
print(await asyncio.wait_for(echo(b=2), 30), asyncio.get_running_loop().time() > 0)";
const REFUSED: &str = "try:
    await fails()
except Exception as e:
    print(type(e).__name__, e)";
const TRACED: &str = "def f(x):
    return x
for i in range(2):
    f(i)
await echo(a=1)
f(3)";
const SOCKETS: &str = "import socket
with socket.create_connection(('127.0.0.1', PORT), timeout=5) as s:
    s.sendall(b'hello')
    print(s.recv(5))
def tell(address):
    try:
        socket.create_connection(address)
    except OSError as e:
        print(type(e).__name__)
tell(('127.0.0.1', 1))
tell(('10.0.0.1', 80))";
const STATE: &str = "import math
class Point:
    def __init__(self, x): self.x = x
    def far(self): return math.sqrt(self.x) + offset
offset, p = 1, Point(9)";

type Failure = Box<dyn Error>;

#[derive(Default)]
struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    fn check(&mut self, what: &str, found: impl std::fmt::Debug, holds: bool) {
        if holds {
            self.passed += 1;
            println!("ok   {what}");
        } else {
            self.failed += 1;
            println!("FAIL {what}: {found:?}");
        }
    }

    fn same(&mut self, what: &str, found: Result<ExecuteResult, eryx::Error>, wanted: &str) {
        let found = found.map(|result| result.stdout);
        let holds = found.as_ref().is_ok_and(|stdout| stdout == wanted);
        self.check(what, found, holds);
    }

    fn fails(&mut self, what: &str, found: Result<ExecuteResult, eryx::Error>, wanted: &str) {
        let found = found
            .map(|result| result.stdout)
            .map_err(|error| error.to_string());
        let holds = found.as_ref().is_err_and(|error| error.contains(wanted));
        self.check(what, found, holds);
    }
}

fn sandbox(path: &str, most: Arc<AtomicUsize>) -> Result<Sandbox, Failure> {
    let running = Arc::new(AtomicUsize::new(0));
    let slow = DynamicCallback::builder("slow", "Answers after a while.", move |arguments| {
        let (running, most) = (running.clone(), most.clone());
        Box::pin(async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(SLOW).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(arguments)
        })
    })
    .build();
    let echo = DynamicCallback::builder("echo", "Answers at once.", |arguments| {
        Box::pin(async move { Ok(arguments) })
    })
    .param("a", "integer", "Anything.", false)
    .build();
    let fails = DynamicCallback::builder("fails", "Always fails.", |_| {
        Box::pin(async { Err(CallbackError::ExecutionFailed("the host says no".into())) })
    })
    .build();
    // The host shows a folder of the library to each component; this one has its library in itself.
    let library = std::env::temp_dir();
    Ok(Sandbox::builder()
        .with_wasm_file(path)
        .with_python_stdlib(library)
        .with_callback(slow)
        .with_callback(echo)
        .with_callback(fails)
        .with_network(
            NetConfig::default()
                .allow_localhost()
                .allow_host("127.0.0.1"),
        )
        .build()?)
}

fn described(result: &ExecuteResult) -> Vec<String> {
    result
        .trace
        .iter()
        .map(|event| {
            let what = match &event.event {
                TraceEventKind::Line => "line".to_string(),
                TraceEventKind::Call { function } => format!("call {function}"),
                TraceEventKind::Return { function } => format!("return {function}"),
                TraceEventKind::Exception { message } => format!("exception {message}"),
                TraceEventKind::CallbackStart { name } => format!("start {name}"),
                TraceEventKind::CallbackEnd { name, .. } => format!("end {name}"),
            };
            format!("{} {what}", event.lineno)
        })
        .collect()
}

/// A server on the loopback that gives back what it is sent, in capitals. Its port.
async fn serve() -> Result<u16, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut piece = [0; 100];
                while let Ok(count) = stream.read(&mut piece).await {
                    let answer = piece[..count].to_ascii_uppercase();
                    if count == 0 || stream.write_all(&answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    Ok(port)
}

async fn check_sandbox(
    checks: &mut Checks,
    sandbox: &Sandbox,
    most: &AtomicUsize,
) -> Result<(), Failure> {
    checks.same("prints", sandbox.execute("print(20 + 1)").await, "21");
    let both = sandbox
        .execute("import sys\nprint('a\\n')\nprint('b', file=sys.stderr)")
        .await?;
    checks.check(
        "stdout and stderr",
        (&both.stdout, &both.stderr),
        both.stdout == "a" && both.stderr == "b\n",
    );
    checks.fails(
        "a traceback",
        sandbox.execute("def f():\n    1 / 0\nf()").await,
        "line 2, in f",
    );
    checks.fails(
        "its last line",
        sandbox.execute("1 / 0").await,
        "ZeroDivisionError: division by zero",
    );
    checks.fails(
        "a syntax error",
        sandbox.execute("def f()\n    pass").await,
        "SyntaxError",
    );
    checks.same("nothing", sandbox.execute("# only this").await, "");

    checks.same(
        "ten callbacks at once, in order",
        sandbox.execute(GATHER).await,
        "True",
    );
    let most = most.load(Ordering::SeqCst);
    checks.check("all ten were in progress together", most, most == 10);
    checks.same(
        "the host's error",
        sandbox.execute(REFUSED).await,
        "CallbackError execution failed: the host says no",
    );
    checks.fails(
        "and uncaught",
        sandbox.execute("await fails()").await,
        "CallbackError: execution failed: the host says no",
    );
    checks.same(
        "timers beside callbacks",
        sandbox.execute(TIMERS).await,
        "slept {'a': 1}\ntimeout\n{'b': 2} True",
    );
    checks.same(
        "sleeps alone",
        sandbox
            .execute("import asyncio\nawait asyncio.sleep(0.01)\nprint(1)")
            .await,
        "1",
    );
    let listed = "print(sorted(c['name'] for c in list_callbacks()))";
    checks.same(
        "list_callbacks",
        sandbox.execute(listed).await,
        "['echo', 'fails', 'slow']",
    );

    let traced = described(&sandbox.execute(TRACED).await?);
    let wanted = [
        "0 call <module>",
        "1 line",
        "3 line",
        "4 line",
        "1 call f",
        "2 line",
        "2 return f",
        "3 line",
        "4 line",
        "1 call f",
        "2 line",
        "2 return f",
        "3 line",
        "5 line",
        "0 start echo",
        "5 return <module>",
        "0 end echo",
    ];
    checks.check("a trace, without asking", &traced, traced == wanted);

    let code = SOCKETS.replace("PORT", &serve().await?.to_string());
    checks.same(
        "sockets",
        sandbox.execute(&code).await,
        "b'HELLO'\nConnectionRefusedError\nPermissionError",
    );
    let refused = "import socket\nsocket.create_connection(('10.0.0.1', 80))";
    checks.fails(
        "a refusal, uncaught",
        sandbox.execute(refused).await,
        "PermissionError",
    );
    Ok(())
}

async fn check_sessions(checks: &mut Checks, sandbox: &Sandbox) -> Result<(), Failure> {
    let mut session = InProcessSession::new(sandbox).await?;
    checks.same("a session", session.execute(STATE).await, "");
    checks.same(
        "its names stay",
        session.execute("print(p.far())").await,
        "4.0",
    );
    checks.fails(
        "its errors end nothing",
        session.execute("nothing").await,
        "NameError",
    );
    checks.same(
        "it goes on",
        session.execute("print(await echo(a=p.x))").await,
        "{'a': 9}",
    );
    let state = session.snapshot_state().await?;
    let mut other = InProcessSession::new(sandbox).await?;
    other.restore_state(&state).await?;
    checks.same(
        "its state in another",
        other.execute("print(p.far())").await,
        "4.0",
    );
    other.clear_state().await?;
    checks.fails("cleared", other.execute("p").await, "NameError");
    let left = "import asyncio\nasync def g():\n    await asyncio.sleep(0.05)\n    print('went on')\nt = asyncio.ensure_future(g())\nawait asyncio.sleep(0)";
    checks.same("a task is left", session.execute(left).await, "");
    checks.same("and goes on", session.execute("await t").await, "went on");
    Ok(())
}

async fn run(path: &str) -> Result<Checks, Failure> {
    let mut checks = Checks::default();
    let most = Arc::new(AtomicUsize::new(0));
    let sandbox = sandbox(path, most.clone())?;
    checks.check("it is loaded", json!(null), true);
    check_sandbox(&mut checks, &sandbox, &most).await?;
    check_sessions(&mut checks, &sandbox).await?;
    Ok(checks)
}

#[tokio::main]
async fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: eryx_host sandbox.wasm");
        std::process::exit(2);
    };
    match run(&path).await {
        Ok(checks) => {
            println!("{} passed, {} failed", checks.passed, checks.failed);
            std::process::exit(i32::from(checks.failed != 0));
        }
        Err(error) => {
            eprintln!("eryx_host: {error}");
            std::process::exit(1);
        }
    }
}
