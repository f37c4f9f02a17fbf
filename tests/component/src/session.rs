// SPDX-License-Identifier: Apache-2.0
//! A session of the component: what the world imports, and calls of what it exports.
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wasmtime::component::{Component, Func, Instance, Linker, ResourceTable, Val};
use wasmtime::{Engine, Result, Store, bail, format_err};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::network::{self, Open};

pub struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
    seen: Arc<Mutex<Seen>>,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// What the guest has told.
#[derive(Default)]
pub struct Seen {
    pub output: Vec<(u32, String)>,
    pub traces: Vec<(u32, String)>,
    pub running: usize,
    pub most_running: usize,
}

const CALLBACKS: [(&str, &str, &str); 3] = [
    (
        "slow",
        "Answers after 200 ms.",
        r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
    ),
    (
        "http.get",
        "Fetches nothing.",
        r#"{"type":"object","properties":{"url":{"type":"string"}}}"#,
    ),
    ("fails", "Always fails.", "{}"),
];
const SLOW: Duration = Duration::from_millis(200);

pub fn text(value: &str) -> Val {
    Val::String(value.into())
}

async fn answer(
    seen: &Mutex<Seen>,
    name: &str,
    arguments: &str,
) -> std::result::Result<String, String> {
    match name {
        "slow" => {
            {
                let mut seen = seen.lock().unwrap();
                seen.running += 1;
                seen.most_running = seen.most_running.max(seen.running);
            }
            tokio::time::sleep(SLOW).await;
            seen.lock().unwrap().running -= 1;
            Ok(arguments.into())
        }
        "http.get" => Ok(arguments.into()),
        "fails" => Err("the host says no".into()),
        _ => Err(format!("there is no callback {name}")),
    }
}

fn add_world(linker: &mut Linker<Host>) -> Result<()> {
    let mut root = linker.root();
    root.func_new_concurrent("invoke", |accessor, _, arguments, results| {
        Box::pin(async move {
            let seen = accessor.with(|mut store| store.get().seen.clone());
            let [Val::String(name), Val::String(json)] = arguments else {
                bail!("invoke takes two strings")
            };
            results[0] = Val::Result(match answer(&seen, name, json).await {
                Ok(value) => Ok(Some(Box::new(Val::String(value)))),
                Err(message) => Err(Some(Box::new(Val::String(message)))),
            });
            Ok(())
        })
    })?;
    root.func_new("list-callbacks", |_, _, _, results| {
        results[0] = Val::List(
            CALLBACKS
                .iter()
                .map(|(name, description, schema)| {
                    Val::Record(vec![
                        ("name".into(), text(name)),
                        ("description".into(), text(description)),
                        ("parameters-schema-json".into(), text(schema)),
                    ])
                })
                .collect(),
        );
        Ok(())
    })?;
    root.func_new("report-trace", |store, _, arguments, _| {
        let [Val::U32(line), Val::String(event), _] = arguments else {
            bail!("not a trace event")
        };
        store
            .data()
            .seen
            .lock()
            .unwrap()
            .traces
            .push((*line, event.clone()));
        Ok(())
    })?;
    root.func_new("report-output", |store, _, arguments, _| {
        let [Val::U32(stream), Val::String(data)] = arguments else {
            bail!("not output")
        };
        store
            .data()
            .seen
            .lock()
            .unwrap()
            .output
            .push((*stream, data.clone()));
        Ok(())
    })?;
    Ok(())
}

pub struct Session {
    store: Store<Host>,
    instance: Instance,
    pub seen: Arc<Mutex<Seen>>,
    pub connections: Open,
}

impl Session {
    pub async fn new(engine: &Engine, component: &Component) -> Result<Session> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        add_world(&mut linker)?;
        let connections = network::add(&mut linker)?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let host = Host {
            wasi: WasiCtx::builder().inherit_stderr().build(),
            table: ResourceTable::new(),
            seen: seen.clone(),
        };
        let mut store = Store::new(engine, host);
        let instance = linker.instantiate_async(&mut store, component).await?;
        Ok(Session {
            store,
            instance,
            seen,
            connections,
        })
    }

    pub async fn call(&mut self, name: &str, arguments: &[Val]) -> Result<Val> {
        let function: Func = self
            .instance
            .get_func(&mut self.store, name)
            .ok_or_else(|| format_err!("no export {name}"))?;
        let mut results = vec![Val::Bool(false); function.ty(&self.store).results().len()];
        function
            .call_async(&mut self.store, arguments, &mut results)
            .await?;
        Ok(results.pop().unwrap_or(Val::Bool(true)))
    }

    /// What was printed, or the traceback.
    pub async fn execute(
        &mut self,
        code: &str,
    ) -> Result<std::result::Result<(String, String), String>> {
        Ok(match self.call("execute", &[text(code)]).await? {
            Val::Result(Ok(Some(record))) => match *record {
                Val::Record(fields) => match &fields[..] {
                    [(_, Val::String(stdout)), (_, Val::String(stderr))] => {
                        Ok((stdout.clone(), stderr.clone()))
                    }
                    _ => bail!("not an execute-output"),
                },
                _ => bail!("not a record"),
            },
            Val::Result(Err(Some(error))) => match *error {
                Val::String(traceback) => Err(traceback),
                _ => bail!("the error is no string"),
            },
            other => bail!("not a result: {other:?}"),
        })
    }

    /// stdout of code that must not fail.
    pub async fn stdout(&mut self, code: &str) -> Result<String> {
        self.execute(code)
            .await?
            .map(|output| output.0)
            .map_err(|traceback| format_err!("{traceback}"))
    }
}
