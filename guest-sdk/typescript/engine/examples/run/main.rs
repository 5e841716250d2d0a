//! Runs a bundled module in the engine, natively, and prints its default export as JSON:
//!
//! ```sh
//! cargo run -p kitbag-engine --example run -- FILE.js
//! ```
//!
//! The module has a clock, timers, random bytes and a log (standard error), but no network.

mod host;

use std::process::ExitCode;

use kitbag_engine::{Engine, EngineError};
use rquickjs::Function;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: run FILE.js");
        return ExitCode::from(2);
    };
    let source = match std::fs::read_to_string(&file) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("error: {file}: {error}");
            return ExitCode::from(2);
        }
    };
    let run = || {
        let engine = Engine::new(host::Host)?;
        engine
            .with(|ctx| {
                let print = Function::new(ctx.clone(), host::print);
                print.and_then(|print| ctx.globals().set("print", print))
            })
            .map_err(|error| EngineError(error.to_string()))?;
        let result = engine.evaluate(&file, &source, host::wait);
        host::forget_timers();
        result
    };
    match run() {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", error.0);
            ExitCode::FAILURE
        }
    }
}
