// SPDX-License-Identifier: Apache-2.0
//! `eryx:net` of the test's host: a network of three servers, which are in this process.
//!
//!     echo.test      gives back what it got, in capitals; behind TLS too
//!     web.test       a page to each request, and then the end
//!     expired.test   as echo.test, with a certificate that is no good
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use wasmtime::component::{Linker, Val};
use wasmtime::{Result, bail};

use crate::session::{Host, text};

struct Connection {
    host: String,
    waiting: Vec<u8>,
}

#[derive(Default)]
struct Network {
    open: HashMap<u32, Connection>,
    made: u32,
}

/// Written at once; more is taken by the next call.
const TAKEN: usize = 100_000;
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\na page";

fn error(name: &str, value: Option<Val>) -> Val {
    let variant = Val::Variant(name.into(), value.map(Box::new));
    Val::Result(Err(Some(Box::new(variant))))
}

fn good(value: Val) -> Val {
    Val::Result(Ok(Some(Box::new(value))))
}

impl Network {
    fn connect(&mut self, host: &str, port: u16) -> Val {
        match (host, port) {
            ("web.test", 81) => error("connection-refused", None),
            ("web.test" | "echo.test" | "expired.test", _) => {
                self.made += 1;
                let waiting = Vec::new();
                let host = host.to_string();
                self.open.insert(self.made, Connection { host, waiting });
                good(Val::U32(self.made))
            }
            ("private.test", _) => {
                error("not-permitted", Some(text("private.test is not allowed")))
            }
            ("slow.test", _) => error("timed-out", None),
            ("broken.test", _) => error("io-error", Some(text("the cable is out"))),
            _ => error("host-not-found", None),
        }
    }

    fn upgrade(&mut self, handle: u32, name: &str) -> Val {
        match self.open.remove(&handle) {
            None => error("invalid-handle", None),
            Some(connection) if connection.host == "expired.test" => {
                error("certificate-error", Some(text("certificate has expired")))
            }
            Some(connection) if connection.host != name => {
                error("handshake-failed", Some(text("no such name here")))
            }
            Some(connection) => {
                self.made += 1;
                self.open.insert(self.made, connection);
                good(Val::U32(self.made))
            }
        }
    }

    fn read(&mut self, handle: u32, most: u32) -> Val {
        let Some(connection) = self.open.get_mut(&handle) else {
            return error("invalid-handle", None);
        };
        let count = connection.waiting.len().min(most as usize);
        let bytes = connection.waiting.drain(..count);
        good(Val::List(bytes.map(Val::U8).collect()))
    }

    fn write(&mut self, handle: u32, bytes: &[Val]) -> Val {
        let Some(connection) = self.open.get_mut(&handle) else {
            return error("invalid-handle", None);
        };
        let taken = bytes.len().min(TAKEN);
        let octets = bytes[..taken].iter().map(|byte| match byte {
            Val::U8(octet) => *octet,
            _ => 0,
        });
        if connection.host == "web.test" {
            if octets.collect::<Vec<u8>>().ends_with(b"\r\n\r\n") {
                connection.waiting.extend_from_slice(PAGE);
            }
        } else {
            connection
                .waiting
                .extend(octets.map(|octet| octet.to_ascii_uppercase()));
        }
        good(Val::U32(taken as u32))
    }

    fn call(&mut self, name: &str, arguments: &[Val]) -> Result<Option<Val>> {
        Ok(match (name, arguments) {
            ("connect", [Val::String(host), Val::U16(port)]) => Some(self.connect(host, *port)),
            ("upgrade", [Val::U32(handle), Val::String(host)]) => Some(self.upgrade(*handle, host)),
            ("read", [Val::U32(handle), Val::U32(most)]) => Some(self.read(*handle, *most)),
            ("write", [Val::U32(handle), Val::List(bytes)]) => Some(self.write(*handle, bytes)),
            ("close", [Val::U32(handle)]) => {
                self.open.remove(handle);
                None
            }
            _ => bail!("{name} with {arguments:?}"),
        })
    }
}

/// How many connections are open.
pub type Open = Arc<dyn Fn() -> usize + Send + Sync>;

pub fn add(linker: &mut Linker<Host>) -> Result<Open> {
    let network = Arc::new(Mutex::new(Network::default()));
    for (interface, functions) in [
        ("eryx:net/tcp@0.1.0", ["connect", "read", "write", "close"]),
        ("eryx:net/tls@0.1.0", ["upgrade", "read", "write", "close"]),
    ] {
        let mut instance = linker.instance(interface)?;
        for name in functions {
            let network = network.clone();
            instance.func_new(name, move |_, _, arguments, results| {
                if let Some(answer) = network.lock().unwrap().call(name, arguments)? {
                    results[0] = answer;
                }
                Ok(())
            })?;
        }
    }
    Ok(Arc::new(move || network.lock().unwrap().open.len()))
}
